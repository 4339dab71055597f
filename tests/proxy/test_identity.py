"""Who is speaking."""

import pytest

from memory.access.agent_tokens import new_token, token_hash
from memory.cache.state import AgentRow, Cache
from proxy.auth import identify, is_loopback, own_tokens


def test_the_owner_of_a_token_is_known_by_it() -> None:
    token = new_token()
    dobby = AgentRow("dobby", "agent")

    caller = identify(Cache(agents={token_hash(token): dobby}), {b"authorization": b"Bearer " + token.encode()}, None)

    assert (caller.name, caller.token) == ("dobby", dobby)


def test_a_token_may_come_where_anthropics_clients_put_their_key() -> None:
    token = new_token()
    dobby = AgentRow("dobby", "agent")
    cache = Cache(agents={token_hash(token): dobby})

    assert identify(cache, {b"x-api-key": token.encode(), b"authorization": b"Bearer sk-other"}, None).token == dobby
    assert own_tokens({b"x-api-key": b"sk-other"}) == {}
    assert own_tokens({b"x-api-key": token.encode()}) == {b"x-api-key": token}


@pytest.mark.parametrize("value", [b"Bearer fst_unknown", b"Bearer sk-other", b"Basic fst_x", b"fst_x", b"Bearer \xff"])
def test_any_other_authorization_is_nobodys(value: bytes) -> None:
    caller = identify(Cache(), {b"authorization": value}, "10.0.0.7")

    assert (caller.name, caller.token, caller.is_local) == ("anonymous@10.0.0.7", None, False)


def test_a_name_may_be_given_in_a_header() -> None:
    assert identify(Cache(), {b"x-festinger-agent": b" dobby\n"}, "10.0.0.7").name == "dobby"


def test_a_forwarded_request_is_not_local() -> None:
    assert identify(Cache(), {}, "127.0.0.1").is_local
    assert not identify(Cache(), {b"x-forwarded-for": b"127.0.0.1"}, "127.0.0.1").is_local
    assert not identify(Cache(), {b"forwarded": b"for=127.0.0.1"}, "127.0.0.1").is_local


@pytest.mark.parametrize(
    ("peer", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.1", False),
     ("fe80::1%eth0", False), (None, False), ("", False), ("localhost.evil", False)],
)  # fmt: skip
def test_loopback_is_told_by_the_address(peer: str | None, expected: bool) -> None:
    assert is_loopback(peer) is expected
