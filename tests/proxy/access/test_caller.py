"""Who is speaking, and what they may do."""

from typing import Any

import pytest

from memory.access.agent_tokens import new_token, token_hash
from memory.attribution.client_names import voice_of
from memory.cache.state import AgentRow, Cache, ProjectRow
from memory.memories.scope import Scope, Speaker
from memory.settings.registry import Tuning
from proxy.access.addresses import read_address
from proxy.access.caller import (
    NO_PROJECT_ACCESS,
    NO_TOKEN,
    NOTHING_KEPT,
    OFF_FOR_AGENT,
    OFF_IN_ADDRESS,
    OFF_IN_SETTINGS,
    Caller,
    find_caller,
    is_loopback,
)
from proxy.access.scopes import VIA, Permission, build_upstream_headers, may_make_project, require, require_for_models
from proxy.api.visibility import sees_words_of
from proxy.errors import DatabaseAway, NotAllowed
from proxy.upstream.headers import Headers

TOKEN = new_token().encode()
BEARER = (b"authorization", b"Bearer " + TOKEN)
OTHER = (b"authorization", b"Bearer sk-for-upstream")
HERE, ELSEWHERE = "127.0.0.1", "10.0.0.7"
DOBBY, CARLA = AgentRow("dobby", "agent"), AgentRow("carla", "operator")


def cache_of(token: AgentRow | None = None, **more: Any) -> Cache:
    """In which TOKEN is the agent's."""
    return Cache(agents={token_hash(TOKEN.decode()): token} if token else {}, loaded_at=1.0, **more)


def scope_from(
    peer: str, *headers: tuple[bytes, bytes], cache: Cache, address: bytes = b"", version: str = "1.1"
) -> dict[str, Any]:
    scope: dict[str, Any] = {"headers": list(headers), "client": (peer, 50_000), "http_version": version}
    if address:
        scope["agent_address"] = read_address(address)
    return scope | {"caller": find_caller(cache, scope)}


def caller_from(peer: str, *headers: tuple[bytes, bytes], cache: Cache | None = None, **more: Any) -> Caller:
    caller: Caller = scope_from(peer, *headers, cache=cache or cache_of(), **more)["caller"]
    return caller


# --- tokens ---


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        ([BEARER], []),
        ([(b"authorization", b"bearer  " + TOKEN + b" ")], []),
        ([(b"authorization", b"Bearer\t" + TOKEN)], []),
        ([BEARER, OTHER], [OTHER]),
        ([OTHER, BEARER], [OTHER]),
        ([(b"authorization", b"Bearer sk-other, Bearer " + TOKEN)], []),
        ([(b"x-api-key", b" " + TOKEN), OTHER], [OTHER]),  # where Anthropic's clients put their key
        ([(b"x-api-key", b"sk-other"), (b"x-api-key", TOKEN)], [(b"x-api-key", b"sk-other")]),
    ],
)
def test_a_token_counts_however_it_is_written_and_goes_no_further(sent: Headers, arrives: Headers) -> None:
    scope = scope_from(ELSEWHERE, *sent, cache=cache_of(DOBBY))

    assert (scope["caller"].name, scope["caller"].token) == ("dobby", DOBBY)
    assert build_upstream_headers(scope) == [*arrives, (b"accept-encoding", b"identity"), VIA]


@pytest.mark.parametrize(
    ("header", "passes"),
    [
        ((b"authorization", b"Bearer fst_unknown"), False),
        ((b"authorization", b"Basic fst_x"), False),
        ((b"authorization", b"fst_x"), False),
        ((b"authorization", b"Bearer \xff"), True),
        (OTHER, True),
        ((b"x-api-key", b"fst_revoked"), False),
        ((b"x-api-key", b"sk-other"), True),
        ((b"x-note", b"my key is " + TOKEN), False),
        ((b"cookie", b"key=" + TOKEN), False),
        ((b"x-note", b"fst_ is a prefix"), True),
        ((b"cookie", b"fst_theme=dark"), True),
    ],
)
def test_what_is_no_valid_token_is_nobodys_and_goes_no_further_if_it_looks_like_one(
    header: tuple[bytes, bytes], *, passes: bool
) -> None:
    scope = scope_from(ELSEWHERE, header, cache=cache_of(DOBBY))

    assert (scope["caller"].name, scope["caller"].token) == ("anonymous@10.0.0.7", None)
    assert (header in build_upstream_headers(scope)) is passes


def test_no_token_is_called_bad_before_postgres_was_reached(settings: Any) -> None:
    settings.FESTINGER_REQUIRE_TOKEN = True

    def ask_for_each(cache: Cache, *headers: tuple[bytes, bytes]) -> list[type[Exception]]:
        scope = scope_from(ELSEWHERE, *headers, cache=cache)
        refusals: list[type[Exception]] = []
        for ask in (
            lambda: require(scope["caller"], "agent"),
            lambda: require_for_models(scope["caller"]),
            lambda: build_upstream_headers(scope),
        ):
            with pytest.raises((NotAllowed, DatabaseAway)) as raised:
                ask()
            refusals.append(raised.type)
        return refusals

    assert ask_for_each(Cache(), BEARER) == [DatabaseAway] * 3
    assert ask_for_each(Cache()) == [NotAllowed] * 3
    assert ask_for_each(cache_of(), BEARER) == [NotAllowed] * 3


# --- names ---


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

    caller = caller_from(ELSEWHERE, (b"x-festinger-agent", given), cache=cache)

    assert (caller.name, caller.signature) == (name, "loopback")
    assert voice_of(caller.name) == "anonymous@10.0.0.7"


@pytest.mark.parametrize(
    ("address", "headers", "name", "claimed"),
    [
        (b"/agent/kreacher", [], "kreacher@10.0.0.7", ""),
        (b"/agent/Dobby", [], "anonymous@10.0.0.7", "dobby"),
        (b"/agent/dobby", [BEARER], "dobby", ""),
        (b"/agent/carla", [BEARER], "dobby", "carla"),
        (b"/agent/kreacher", [BEARER], "dobby", ""),
    ],
)
def test_a_token_counts_before_an_address_and_an_address_before_the_header(
    address: bytes, headers: Headers, name: str, claimed: str
) -> None:
    cache = Cache(agents={token_hash(TOKEN.decode()): DOBBY, "other": CARLA})

    caller = caller_from(ELSEWHERE, (b"x-festinger-agent", b"winky"), *headers, cache=cache, address=address)

    assert (caller.name, caller.claimed_agent) == (name, claimed)


FORWARDED = (b"x-forwarded-for", b"203.0.113.9")


@pytest.mark.parametrize(
    ("peer", "headers", "speaker"),
    [
        (HERE, [], "zero@127.0.0.1"),
        (HERE, [FORWARDED], "zero@unknown"),
        (ELSEWHERE, [FORWARDED], "zero@10.0.0.7"),
    ],
)
def test_who_comes_through_a_proxy_is_not_remembered_as_who_calls_from_this_machine(
    peer: str, headers: Headers, speaker: str
) -> None:
    caller = caller_from(peer, (b"x-festinger-agent", b"zero"), *headers)

    assert caller.scope_for({}) == Scope(Speaker(speaker, ""), None)


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
    assert caller_from(HERE, *headers.items(), version=version).is_local is expected


@pytest.mark.parametrize(
    ("peer", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.1", False),
     ("fe80::1%eth0", False), (None, False), ("", False), ("localhost.evil", False)],
)  # fmt: skip
def test_loopback_is_told_by_the_address(peer: str | None, expected: bool) -> None:
    assert is_loopback(peer) is expected


# --- permissions ---


@pytest.mark.parametrize(
    ("trust", "is_local", "token", "needed", "status"),
    [
        ("agent", True, None, "agent", 200),
        ("agent", True, None, "operator", 401),
        ("agent", True, DOBBY, "operator", 403),
        ("agent", True, CARLA, "operator", 200),
        ("operator", True, None, "operator", 200),
        ("operator", True, DOBBY, "operator", 200),
        ("operator", False, None, "agent", 401),
        ("operator", False, DOBBY, "agent", 200),
        ("none", True, None, "agent", 401),
        ("none", False, CARLA, "agent", 200),
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


@pytest.mark.parametrize(
    ("caller", "agents", "expected"),
    [
        (Caller("dobby", DOBBY, is_local=False), ["dobby"], True),
        (Caller("dobby", DOBBY, is_local=False), ["zero"], False),
        (Caller("dobby", DOBBY, is_local=False), ["dobby", "zero"], False),
        (Caller("dobby", DOBBY, is_local=False), ["dobby@10.0.0.7"], False),
        (Caller("carla", CARLA, is_local=False), ["zero", "dobby@10.0.0.7"], True),
        (Caller("dobby@10.0.0.7", None, is_local=False), ["anonymous@10.0.0.7"], True),
        (Caller("dobby@10.0.0.7", None, is_local=False), ["dobby@10.0.0.8"], False),
    ],
)
def test_whose_words_a_caller_sees(caller: Caller, agents: list[str], *, expected: bool) -> None:
    assert sees_words_of(caller, agents) is expected


# --- restrictions ---


def test_an_address_switches_off_and_nothing_on() -> None:
    cache = cache_of(AgentRow("dobby", "agent", frozenset({"learn"})))

    caller = caller_from(ELSEWHERE, BEARER, cache=cache, address=b"/agent/dobby,ask=off,learn=off")

    assert caller.restrictions == {"ask": OFF_IN_ADDRESS, "learn": OFF_FOR_AGENT}


@pytest.mark.parametrize(
    ("setting", "agent", "peer", "why"),
    [
        ("on", None, HERE, None),
        ("on", None, ELSEWHERE, NO_TOKEN),
        ("all", None, ELSEWHERE, None),
        ("on", "default", ELSEWHERE, None),
        ("on", "off", ELSEWHERE, OFF_FOR_AGENT),
        ("off", "on", ELSEWHERE, None),
        ("off", None, HERE, OFF_IN_SETTINGS),
    ],
)
def test_what_is_said_is_kept_where_all_agree(setting: Any, agent: str | None, peer: str, why: str | None) -> None:
    row = AgentRow("dobby", "agent", episodes=agent) if agent else None

    caller = caller_from(peer, BEARER, cache=cache_of(row, tuning=Tuning(episodes=setting)))

    assert caller.restrictions.get("remember") == why


@pytest.mark.parametrize(
    ("header", "address", "is_temporary"),
    [
        ((b"x-openwebui-chat-id", b"local"), b"/agent/zero", True),
        ((b"x-openwebui-chat-id", b"local:8f3c"), b"/agent/zero", True),
        ((b"x-openwebui-chat-id", b"localhost-chat"), b"/agent/zero", False),
        ((b"x-openwebui-chat-id", b"8f3c"), b"/agent/zero", False),
        ((b"x-festinger-remember", b"No"), b"/agent/zero", True),
        ((b"x-festinger-remember", b"yes"), b"/agent/zero,remember=off", True),
        ((b"x-festinger-remember", b"yes"), b"/agent/zero,learn=off", False),
    ],
)
def test_nothing_of_a_temporary_chat_is_kept(header: tuple[bytes, bytes], address: bytes, is_temporary: bool) -> None:
    caller = caller_from(HERE, header, address=address, cache=cache_of(tuning=Tuning(episodes="off")))

    assert caller.is_temporary is is_temporary
    assert (NOTHING_KEPT.items() <= caller.restrictions.items()) is is_temporary


# --- projects ---

PROJECTS = {"p05": ProjectRow(5), "tools": ProjectRow(6), "open": ProjectRow(7, is_open=True)}
ANY_PROJECT = AgentRow("dobby", "agent", projects=None)
TWO_PROJECTS = AgentRow("dobby", "agent", project=5, projects=frozenset({5, 6}))


@pytest.mark.parametrize(
    ("agent", "named", "project"),
    [
        (None, b"", None),
        (None, b"open", 7),
        (None, b"p05", "refused"),
        (DOBBY, b"p05", "refused"),
        (DOBBY, b"open", 7),
        (TWO_PROJECTS, b"", 5),
        (TWO_PROJECTS, b"Tools", 6),
        (ANY_PROJECT, b"p05", 5),
        (ANY_PROJECT, b"no such", "refused"),
    ],
)
def test_a_project_is_named_by_whom_it_is_open_to(agent: AgentRow | None, named: bytes, project: int | str) -> None:
    headers = [(b"x-festinger-project", named), (b"x-openwebui-user-id", b"alice"), *([BEARER] if agent else [])]

    caller = caller_from(HERE, *headers, cache=cache_of(agent, projects=PROJECTS))

    scope = caller.scope_for({"user": "bob"})
    if project == "refused":  # it is given nothing, and nothing is kept
        assert (scope, caller.restrictions) == (None, NO_PROJECT_ACCESS)
    else:
        assert scope == Scope(Speaker(caller.name, "alice"), project)


@pytest.mark.parametrize(
    ("agent", "peer", "trust", "named", "makes"),
    [
        (None, HERE, "agent", b"New", True),
        (None, HERE, "none", b"New", False),
        (None, ELSEWHERE, "operator", b"New", False),
        (ANY_PROJECT, ELSEWHERE, "none", b"New", True),
        (TWO_PROJECTS, HERE, "operator", b"New", False),
        (ANY_PROJECT, HERE, "operator", b"P05", False),  # there is one
        (ANY_PROJECT, HERE, "operator", b"", False),
    ],
)
def test_a_project_is_made_by_whom_this_machine_or_a_token_lets_name_it(
    settings: Any, agent: AgentRow | None, peer: str, trust: str, named: bytes, *, makes: bool
) -> None:
    settings.FESTINGER_TRUST_LOOPBACK = trust
    cache = cache_of(agent, projects=PROJECTS)

    caller = caller_from(peer, (b"x-festinger-project", named), *([BEARER] if agent else []), cache=cache)

    assert may_make_project(cache, caller, caller.named_project) is makes
