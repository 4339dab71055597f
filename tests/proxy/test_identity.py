"""Who is speaking, and what they may do."""

from typing import Any

import pytest

from memory.access.agent_tokens import new_token, token_hash
from memory.cache.audience import ProjectRow
from memory.cache.state import AgentRow, Cache
from memory.domain.voices import voice_of
from memory.semantic.domain.scope import Scope, Speaker
from memory.settings.registry import Tuning
from proxy.api.visibility import sees_words_of
from proxy.auth import (
    NO_SUCH_PROJECT,
    NO_TOKEN,
    OFF_FOR_AGENT,
    OFF_IN_ADDRESS,
    OFF_IN_SETTINGS,
    TEMPORARY,
    VIA,
    Caller,
    Permission,
    build_upstream_headers,
    caller_of,
    identify,
    is_loopback,
    may_make_project,
    own_tokens,
    require,
    require_for_models,
)
from proxy.domain.agent_addresses import read_address
from proxy.domain.headers import Headers
from proxy.errors import DatabaseAway, NotAllowed


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
    assert own_tokens({b"x-api-key": b"sk-other"}) == []
    assert own_tokens({b"x-api-key": token.encode()}) == [token]


TOKEN = new_token().encode()
OTHER = (b"authorization", b"Bearer sk-for-upstream")


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        ([(b"authorization", b"Bearer " + TOKEN)], []),
        ([(b"authorization", b"bearer  " + TOKEN + b" ")], []),
        ([(b"authorization", b"Bearer\t" + TOKEN)], []),
        ([(b"authorization", b"Bearer " + TOKEN), OTHER], [OTHER]),
        ([OTHER, (b"authorization", b"Bearer " + TOKEN)], [OTHER]),
        ([(b"authorization", b"Bearer sk-other, Bearer " + TOKEN)], []),
        ([(b"x-api-key", b" " + TOKEN), OTHER], [OTHER]),
        ([(b"x-api-key", b"sk-other"), (b"x-api-key", TOKEN)], [(b"x-api-key", b"sk-other")]),
    ],
)
def test_a_token_counts_however_it_is_written_and_goes_no_further(sent: Headers, arrives: Headers) -> None:
    dobby = AgentRow("dobby", "agent")
    cache = Cache(agents={token_hash(TOKEN.decode()): dobby})
    scope = {"headers": sent, "client": None, "http_version": "1.1"}

    assert caller_of(cache, scope).token == dobby
    assert build_upstream_headers(cache, scope) == [*arrives, (b"accept-encoding", b"identity"), VIA]


@pytest.mark.parametrize(
    ("header", "passes"),
    [
        ((b"authorization", b"Basic fst_x"), False),
        ((b"authorization", b"fst_x"), False),
        ((b"x-api-key", b"fst_revoked"), False),
        ((b"x-note", b"my key is " + TOKEN), False),
        ((b"cookie", b"key=" + TOKEN), False),
        ((b"x-note", b"fst_ is a prefix"), True),
        ((b"cookie", b"fst_theme=dark"), True),
    ],
)
def test_what_looks_like_a_token_goes_no_further(header: tuple[bytes, bytes], *, passes: bool) -> None:
    scope = {"headers": [header], "client": None, "http_version": "1.1"}

    assert caller_of(Cache(), scope).token is None
    assert (header in build_upstream_headers(Cache(), scope)) is passes


@pytest.mark.parametrize(
    ("peer", "headers", "speaker"),
    [
        ("127.0.0.1", {}, "zero@127.0.0.1"),
        ("127.0.0.1", {b"x-forwarded-for": b"203.0.113.9"}, "zero@unknown"),
        ("10.0.0.7", {b"x-forwarded-for": b"203.0.113.9"}, "zero@10.0.0.7"),
    ],
)
def test_who_comes_through_a_proxy_is_not_remembered_as_who_calls_from_this_machine(
    peer: str, headers: dict[bytes, bytes], speaker: str
) -> None:
    caller = identify(Cache(), headers | {b"x-festinger-agent": b"zero"}, peer)

    assert caller.scope_for({}) == Scope(Speaker(speaker, ""), None)


@pytest.mark.parametrize("value", [b"Bearer fst_unknown", b"Bearer sk-other", b"Basic fst_x", b"fst_x", b"Bearer \xff"])
def test_any_other_authorization_is_nobodys(value: bytes) -> None:
    caller = identify(Cache(), {b"authorization": value}, "10.0.0.7")

    assert (caller.name, caller.token, caller.is_local) == ("anonymous@10.0.0.7", None, False)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (b" dobby\n", "dobby@10.0.0.7"),
        (b"zero", "anonymous@10.0.0.7"),
        (b"Zero ", "anonymous@10.0.0.7"),
        (b"dobby@10.0.0.1", "dobby@10.0.0.1@10.0.0.7"),
        (b"x" * 500, "x" * 64 + "@10.0.0.7"),
    ],
)
def test_a_name_without_a_token_is_one_of_its_address(given: bytes, name: str) -> None:
    cache = Cache(agents={"hash": AgentRow("zero", "agent")})

    caller = identify(cache, {b"x-festinger-agent": given}, "10.0.0.7")

    assert (caller.name, caller.signature) == (name, "loopback")
    assert voice_of(caller.name) == "anonymous@10.0.0.7"


@pytest.mark.parametrize(
    ("headers", "version", "expected"),
    [
        ({}, "1.1", True),
        ({}, "1.0", False),
        ({b"host": b"localhost:11435", b"origin": b"http://LOCALHOST:11435"}, "1.1", True),
        ({b"host": b"localhost:11435", b"origin": b"http://localhost:3000"}, "1.1", False),
        ({b"host": b"localhost:11435", b"origin": b"app://desk"}, "1.1", False),
        ({b"origin": b"null"}, "1.1", False),
        *(
            ({name: b"127.0.0.1"}, "1.1", False)
            for name in (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip", b"via")
        ),
    ],
)
def test_what_may_be_for_somebody_else_is_not_local(
    headers: dict[bytes, bytes], version: str, *, expected: bool
) -> None:
    assert identify(Cache(), headers, "127.0.0.1", version).is_local is expected


AGENT, OPERATOR = AgentRow("dobby", "agent"), AgentRow("carla", "operator")


@pytest.mark.parametrize(
    ("trust", "is_local", "token", "needed", "status"),
    [
        ("agent", True, None, "agent", 200),
        ("agent", True, None, "operator", 401),
        ("agent", True, AGENT, "operator", 403),
        ("agent", True, OPERATOR, "operator", 200),
        ("operator", True, None, "operator", 200),
        ("operator", True, AGENT, "operator", 200),
        ("operator", False, None, "agent", 401),
        ("operator", False, AGENT, "agent", 200),
        ("none", True, None, "agent", 401),
        ("none", False, OPERATOR, "agent", 200),
    ],
)
def test_what_a_caller_may(
    settings: Any, trust: str, *, is_local: bool, token: AgentRow | None, needed: Permission, status: int
) -> None:
    settings.FESTINGER_TRUST_LOOPBACK = trust
    caller = Caller("somebody", token, is_local=is_local)

    if status == 200:
        require(caller, needed)
        return
    with pytest.raises(NotAllowed) as raised:
        require(caller, needed)

    assert raised.value.status == status
    assert f"needs a token of scope {needed}" in str(raised.value)
    assert ("FESTINGER_TRUST_LOOPBACK=operator" in str(raised.value)) is (is_local and needed == "operator")


def test_no_token_is_called_bad_before_postgres_was_reached(settings: Any) -> None:
    settings.FESTINGER_REQUIRE_TOKEN = True
    header = (b"authorization", b"Bearer " + TOKEN)
    empty, loaded = Cache(), Cache(loaded_at=1.0)

    def ask_for_each(cache: Cache, headers: list[tuple[bytes, bytes]]) -> list[type[Exception]]:
        scope = {"headers": headers, "client": None, "http_version": "1.1"}
        caller = caller_of(cache, scope)
        refusals: list[type[Exception]] = []
        for ask in (
            lambda: require(caller, "agent"),
            lambda: require_for_models(caller),
            lambda: build_upstream_headers(cache, scope),
        ):
            with pytest.raises((NotAllowed, DatabaseAway)) as raised:
                ask()
            refusals.append(raised.type)
        return refusals

    assert ask_for_each(empty, [header]) == [DatabaseAway] * 3
    assert ask_for_each(empty, []) == [NotAllowed] * 3
    assert ask_for_each(loaded, [header]) == [NotAllowed] * 3


@pytest.mark.parametrize(
    ("caller", "agents", "expected"),
    [
        (Caller("dobby", AGENT, is_local=False), ["dobby"], True),
        (Caller("dobby", AGENT, is_local=False), ["zero"], False),
        (Caller("dobby", AGENT, is_local=False), ["dobby", "zero"], False),
        (Caller("dobby", AGENT, is_local=False), ["dobby@10.0.0.7"], False),
        (Caller("carla", OPERATOR, is_local=False), ["zero", "dobby@10.0.0.7"], True),
        (Caller("dobby@10.0.0.7", None, is_local=False), ["anonymous@10.0.0.7"], True),
        (Caller("dobby@10.0.0.7", None, is_local=False), ["dobby@10.0.0.8"], False),
    ],
)
def test_whose_words_a_caller_sees(caller: Caller, agents: list[str], *, expected: bool) -> None:
    assert sees_words_of(caller, agents) is expected


@pytest.mark.parametrize(
    ("peer", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.1", False),
     ("fe80::1%eth0", False), (None, False), ("", False), ("localhost.evil", False)],
)  # fmt: skip
def test_loopback_is_told_by_the_address(peer: str | None, expected: bool) -> None:
    assert is_loopback(peer) is expected


@pytest.mark.parametrize(
    ("address", "with_token", "name", "claimed"),
    [
        (b"/agent/kreacher", False, "kreacher@10.0.0.7", ""),
        (b"/agent/Dobby", False, "anonymous@10.0.0.7", "dobby"),
        (b"/agent/dobby", True, "dobby", ""),
        (b"/agent/carla", True, "dobby", "carla"),
        (b"/agent/kreacher", True, "dobby", ""),
    ],
)
def test_a_token_counts_before_an_address_and_an_address_before_the_header(
    address: bytes, name: str, claimed: str, *, with_token: bool
) -> None:
    token = new_token()
    cache = Cache(agents={token_hash(token): AGENT, "other": OPERATOR})
    headers = {b"x-festinger-agent": b"winky"}
    if with_token:
        headers[b"authorization"] = b"Bearer " + token.encode()

    caller = identify(cache, headers, "10.0.0.7", address=read_address(address))

    assert (caller.name, caller.claimed) == (name, claimed)


def test_an_address_switches_off_and_nothing_on() -> None:
    token = new_token()
    cache = Cache(agents={token_hash(token): AgentRow("dobby", "agent", frozenset({"learn"}))})
    headers = {b"authorization": b"Bearer " + token.encode()}

    caller = identify(cache, headers, None, address=read_address(b"/agent/dobby,ask=off,learn=off"))

    assert caller.restrictions == {"ask": OFF_IN_ADDRESS, "learn": OFF_FOR_AGENT}


PROJECTS = {"p05": ProjectRow(5), "tools": ProjectRow(6), "open": ProjectRow(7, is_open=True)}


@pytest.mark.parametrize(
    ("agent", "named", "project"),
    [
        (None, b"", None),
        (None, b"open", 7),
        (None, b"p05", "astray"),
        (AgentRow("dobby", "agent"), b"p05", "astray"),
        (AgentRow("dobby", "agent"), b"open", 7),
        (AgentRow("dobby", "agent", project=5, projects=frozenset({5, 6})), b"", 5),
        (AgentRow("dobby", "agent", project=5, projects=frozenset({5, 6})), b"Tools", 6),
        (AgentRow("dobby", "agent", projects=None), b"p05", 5),
        (AgentRow("dobby", "agent", projects=None), b"no such", "astray"),
    ],
)
def test_a_project_is_named_by_whom_it_is_open_to(agent: AgentRow | None, named: bytes, project: int | str) -> None:
    token = new_token()
    cache = Cache(agents={token_hash(token): agent} if agent else {}, projects=PROJECTS)
    headers = {b"x-festinger-project": named, b"x-openwebui-user-id": b"alice"}

    caller = identify(cache, headers | {b"authorization": b"Bearer " + token.encode()}, "127.0.0.1")

    scope = caller.scope_for({"user": "bob"})
    if project == "astray":  # it is given nothing, and nothing is kept
        assert (scope, caller.restrictions) == (None, dict.fromkeys(("learn", "remember"), NO_SUCH_PROJECT))
    else:
        assert scope == Scope(Speaker(caller.name, "alice"), project)


@pytest.mark.parametrize(
    ("agent", "peer", "trust", "named", "makes"),
    [
        (None, "127.0.0.1", "agent", b"New", True),
        (None, "127.0.0.1", "none", b"New", False),
        (None, "10.0.0.7", "operator", b"New", False),
        (AgentRow("dobby", "agent", projects=None), "10.0.0.7", "none", b"New", True),
        (AgentRow("dobby", "agent", projects=frozenset({5})), "127.0.0.1", "operator", b"New", False),
        (AgentRow("dobby", "agent", projects=None), "127.0.0.1", "operator", b"P05", False),  # there is one
        (AgentRow("dobby", "agent", projects=None), "127.0.0.1", "operator", b"", False),
    ],
)
def test_a_project_is_made_by_whom_this_machine_or_a_token_lets_name_it(
    settings: Any, agent: AgentRow | None, peer: str, trust: str, named: bytes, *, makes: bool
) -> None:
    settings.FESTINGER_TRUST_LOOPBACK = trust
    token = new_token()
    cache = Cache(agents={token_hash(token): agent} if agent else {}, projects=PROJECTS, loaded_at=1.0)
    given = {b"authorization": b"Bearer " + token.encode()} if agent else {}

    caller = identify(cache, given | {b"x-festinger-project": named}, peer)

    assert may_make_project(cache, caller, caller.named_project) is makes


@pytest.mark.parametrize(
    ("setting", "agent", "peer", "header", "why"),
    [
        ("on", None, "127.0.0.1", b"", None),
        ("on", None, "10.0.0.7", b"", NO_TOKEN),
        ("all", None, "10.0.0.7", b"", None),
        ("on", "default", "10.0.0.7", b"", None),
        ("on", "off", "10.0.0.7", b"", OFF_FOR_AGENT),
        ("off", "on", "10.0.0.7", b"", None),
        ("off", None, "127.0.0.1", b"", OFF_IN_SETTINGS),
        ("all", "on", "127.0.0.1", b"No", TEMPORARY),
    ],
)
def test_what_is_said_is_kept_where_all_agree(
    setting: Any, agent: str | None, peer: str, header: bytes, why: str | None
) -> None:
    token = new_token()
    rows = {token_hash(token): AgentRow("dobby", "agent", episodes=agent)} if agent else {}
    headers = {b"authorization": b"Bearer " + token.encode(), b"x-festinger-remember": header}

    caller = identify(Cache(agents=rows, tuning=Tuning(episodes=setting)), headers, peer)

    assert caller.restrictions.get("remember") == why


@pytest.mark.parametrize(
    ("chat", "address", "is_temporary"),
    [
        (b"local", b"/agent/zero", True),
        (b"local:8f3c", b"/agent/zero", True),
        (b"localhost-chat", b"/agent/zero", False),
        (b"8f3c", b"/agent/zero", False),
        (b"", b"/agent/zero,remember=off", True),
        (b"", b"/agent/zero,learn=off", False),
    ],
)
def test_nothing_of_a_temporary_chat_is_kept(chat: bytes, address: bytes, is_temporary: bool) -> None:
    caller = identify(Cache(), {b"x-openwebui-chat-id": chat}, "127.0.0.1", address=read_address(address))

    assert caller.is_temporary is is_temporary
    assert (caller.restrictions.get("learn") == TEMPORARY) is is_temporary
