"""Identifies callers by a Festinger token, a name in the address or in a header, or a network address, and decides what
they may do."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final, Literal

from django.conf import settings

from memory.access.agent_tokens import TOKEN_PREFIX, token_hash
from memory.cache.audience import ProjectRow
from memory.cache.state import AgentRow, Cache
from memory.domain.statement import PERSON_MAX
from memory.domain.switches import Restrictions, Switch
from memory.domain.voices import LOOPBACK, name_unregistered
from memory.semantic.domain.scope import Scope, Speaker
from proxy.domain import speakers
from proxy.domain.agent_addresses import AgentAddress
from proxy.domain.headers import AUTHORIZATION, Headers, filter_for_upstream
from proxy.errors import DatabaseAway, ForwardingLoop, NotAllowed, ProxyError

HeaderMap = Mapping[bytes, bytes]
Permission = Literal["agent", "operator"]
INSTANCE = settings.INSTANCE.encode()
PREFIX = TOKEN_PREFIX.encode()
WHOLE_TOKEN = re.compile(PREFIX + rb"[A-Za-z0-9_-]{43}")
API_KEY = b"x-api-key"
VIA = (b"via", b"1.1 " + INSTANCE)
OFF_FOR_AGENT = "off in the settings of the agent"
OFF_IN_ADDRESS = "off in the address"
TEMPORARY: Final = "a temporary chat: nothing of it is kept"
TEMPORARY_CHAT: Final = "local"  # Open WebUI's id of a temporary chat, or how it begins
OFF_IN_SETTINGS: Final = "off in the settings (episodes)"
NO_TOKEN: Final = "the agent has no token, and does not call from this machine"
# The same message in both cases, so that strangers cannot probe for projects.
NO_SUCH_PROJECT: Final = "the project that the request names is unknown, or not open to its sender"
NO_PROJECT_YET: Final = (
    "there is no project {slug!r} yet: the first prompt or write that names it makes it, as"
    f" {settings.MANAGE} create_project"
    " and POST /projects do"
)
PROXY_HEADERS = frozenset({b"forwarded", b"via", b"x-real-ip"})


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request.

    - ``token``: the row of a valid Festinger token; ``has_bad_token``: it sends only invalid ones.
    - ``is_local``: a program on this machine, not behind a proxy and not a page of another site.
    - ``claimed``: the registered name in the address, without that agent's token.
    - ``person``: the person that its headers say it speaks for.
    - ``project``: the project's id; ``named_project``: the slug in its header; ``is_astray``: it may not name that
      project, or there is none.
    - ``speaker``: its name in the memory, if that is not ``name``; ``chat``: its client's id of the conversation.
    - ``is_temporary``: nothing of the request may be kept.
    - ``is_unread``: this process has not reached Postgres yet, so it cannot tell if the token is valid.
    """

    name: str
    token: AgentRow | None
    is_local: bool
    restrictions: Restrictions = field(default_factory=dict)
    claimed: str = ""
    person: str = ""
    project: int | None = None
    named_project: str = ""
    is_astray: bool = False
    speaker: str = ""
    chat: str = ""
    has_bad_token: bool = False
    is_temporary: bool = False
    is_unread: bool = False

    def scope_for(self, payload: Mapping[str, Any]) -> Scope | None:
        """Return the scope in which a request with this body is remembered and searched; None for no scope."""
        if self.is_astray:
            return None
        return Scope(Speaker(self.speaker or self.name, self.person_in(payload)), self.project)

    def person_in(self, payload: Mapping[str, Any]) -> str:
        """Return the person that a request with this body speaks for; empty for nobody."""
        return speakers.find_person(self.person, payload)

    @property
    def signature(self) -> str:
        """The name under which decisions are recorded: never one that anybody may choose."""
        return self.token.name if self.token is not None else LOOPBACK


def identify(
    cache: Cache,
    headers: HeaderMap,
    peer: str | None,
    http_version: str = "1.1",
    address: AgentAddress | None = None,
) -> Caller:
    """Identify the caller by its token, else by the address, else by the header: the header counts only without such an
    address."""
    token = token_of(cache, headers)
    given = address.name if address is not None else headers.get(b"x-festinger-agent", b"").decode("utf-8", "replace")
    given = "".join(character for character in given if character.isprintable()).strip()
    # The name of an agent with a token is for that token only.
    owner = cache.agents_by_name.get(given.casefold())
    is_own = owner is None or (token is not None and token.name.casefold() == given.casefold())
    off: dict[Switch, str] = dict.fromkeys(address.off, OFF_IN_ADDRESS) if address is not None else {}
    off |= dict.fromkeys(token.off, OFF_FOR_AGENT) if token is not None else {}
    is_local = is_loopback(peer) and not _is_for_others(headers, http_version)
    named_project = _read(headers, speakers.PROJECT).lower()
    project, is_astray = _find_project(cache, token, named_project)
    chat = _read(headers, speakers.CHAT)[:PERSON_MAX]
    is_temporary = (
        chat.partition(":")[0] == TEMPORARY_CHAT
        or _read(headers, speakers.REMEMBER).lower() in speakers.NO
        or (address is not None and "remember" in address.off)
    )
    if is_temporary:
        off |= {"learn": TEMPORARY, "ask": TEMPORARY, "remember": TEMPORARY}
    elif is_astray:
        # Without the project's right nothing is learned, and nothing counts as seen: it is taken when it is said again.
        off |= {"learn": NO_SUCH_PROJECT, "remember": NO_SUCH_PROJECT}
    elif why := _find_why_not_kept(cache, token, is_local=is_local):
        off["remember"] = why
    given = "" if owner else given
    # Anybody may call through a proxy on this machine: do not confuse them with callers on the machine itself.
    is_forwarded = token is None and is_loopback(peer) and not is_local
    return Caller(
        name=token.name if token else name_unregistered(given, peer),
        token=token,
        is_local=is_local,
        restrictions=off,
        claimed="" if address is None or owner is None or is_own else owner.name,
        person=speakers.clean_person(_read(headers, speakers.PERSON)),
        chat=chat,
        project=project,
        named_project=named_project,
        is_astray=is_astray,
        speaker=name_unregistered(given, None) if is_forwarded else "",
        has_bad_token=token is None and bool(own_tokens(headers)),
        is_temporary=is_temporary,
        is_unread=cache.loaded_at is None and bool(own_tokens(headers)),
    )


def pose_as(cache: Cache, agent: str, person: str = "", project: int | None = None) -> Caller:
    """Return the caller of a prompt that the agent would send from this machine, with its token if it has one, and in
    its own project unless another is given."""
    token = cache.agents_by_name.get(agent.casefold())
    off: dict[Switch, str] = dict.fromkeys(token.off, OFF_FOR_AGENT) if token is not None else {}
    if why := _find_why_not_kept(cache, token, is_local=True):
        off["remember"] = why
    if token is not None:
        agent, project = token.name, project if project is not None else token.project
    return Caller(agent, token, True, off, person=speakers.clean_person(person), project=project)


def scope_of(cache: Cache, caller: Caller, payload: Mapping[str, Any], project: str = "") -> Scope:
    """Return the scope in which a call to Festinger's own endpoints remembers and searches: the project that it names,
    else that of its header or token. Raises NotAllowed."""
    slug = read_slug(caller, project)
    found, is_astray = _find_project(cache, caller.token, slug)
    scope = replace(caller, project=found, is_astray=is_astray).scope_for(payload)
    if scope is None:
        is_new = may_make_project(cache, caller, slug)
        raise NotAllowed(NO_PROJECT_YET.format(slug=slug) if is_new else NO_SUCH_PROJECT, status=403)
    return scope


def read_slug(caller: Caller, project: str = "") -> str:
    """Return the slug of the project in a call's body, else in its header; empty if it names none."""
    return project.strip().lower() or caller.named_project


def may_make_project(cache: Cache, caller: Caller, slug: str) -> bool:
    """True if there is no such project and the caller may make it by naming it: an operator, an agent that may name any
    project, or a program on this machine without a token, if those are trusted."""
    if not slug or slug in cache.projects or cache.loaded_at is None:
        return False
    return caller.token.projects is None if caller.token is not None else may(caller, "agent")


def list_nameable(cache: Cache, caller: Caller) -> list[int]:
    """Return the ids of the projects that the caller may name; operators may name all."""
    names_all = may(caller, "operator")
    return [project.id for project in cache.projects.values() if names_all or _may_name(caller.token, project)]


def _read(headers: HeaderMap, name: bytes) -> str:
    return headers.get(name, b"").decode("utf-8", "replace").strip()


def _find_project(cache: Cache, token: AgentRow | None, slug: str) -> tuple[int | None, bool]:
    """Return a request's project, None for the one that all share, and True if it names one that it may not."""
    if not slug:
        return (token.project if token is not None else None), False
    project = cache.projects.get(slug)
    if project is None or not _may_name(token, project):
        return None, True
    return project.id, False


def _may_name(token: AgentRow | None, project: ProjectRow) -> bool:
    allowed = frozenset[int]() if token is None else token.projects
    return project.is_open or allowed is None or project.id in allowed


def _find_why_not_kept(cache: Cache, token: AgentRow | None, *, is_local: bool) -> str:
    """Return why nothing in the request is kept as an episode; empty if it is kept."""
    wanted, own = cache.tuning.episodes, token.episodes if token is not None else "default"
    if own != "default":
        return OFF_FOR_AGENT if own == "off" else ""
    if wanted not in ("on", "all"):
        return OFF_IN_SETTINGS
    is_trusted = is_local and settings.FESTINGER_TRUST_LOOPBACK != "none"
    return "" if token is not None or is_trusted or wanted == "all" else NO_TOKEN


def _is_for_others(headers: HeaderMap, http_version: str) -> bool:
    """True if a request from this machine's own address may have been made for somebody else."""
    # A reverse proxy that adds no header, as nginx's bare proxy_pass, speaks HTTP/1.0.
    if http_version == "1.0" or any(name in PROXY_HEADERS or name.startswith(b"x-forwarded-") for name in headers):
        return True
    # A browser on this machine, on behalf of whoever made the page. A page of our own has our Host as its Origin.
    _, _, site = headers.get(b"origin", b"").lower().partition(b"://")
    return b"origin" in headers and (not site or site != headers.get(b"host", b"").lower())


def own_tokens(headers: HeaderMap) -> list[str]:
    """Return all Festinger tokens in the headers, valid, revoked or made up: bearer tokens, and the header in which
    Anthropic's clients put their key."""
    given = [part.split() for part in headers.get(AUTHORIZATION, b"").split(b",")]
    tokens = [words[1] for words in given if len(words) == 2 and words[0].lower() == b"bearer"]
    tokens += headers.get(API_KEY, b"").replace(b",", b" ").split()
    return [token.decode("latin-1") for token in tokens if token.startswith(PREFIX)]


def token_of(cache: Cache, headers: HeaderMap) -> AgentRow | None:
    """Return the owner of the token in the headers; None if no token is valid."""
    owners = (cache.agents.get(token_hash(token)) for token in own_tokens(headers))
    return next((owner for owner in owners if owner is not None), None)


def join_repeated(headers: Iterable[tuple[bytes, bytes]]) -> HeaderMap:
    """Return the headers by name; repeated fields are joined (RFC 9110 section 5.3)."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def _has_own_token(name: bytes, value: bytes) -> bool:
    """True if the header holds a Festinger token: any spelling in the headers for tokens, only a full-length one
    elsewhere."""
    return PREFIX in value if name in (AUTHORIZATION, API_KEY) else WHOLE_TOKEN.search(value) is not None


@lru_cache(maxsize=1024)
def is_loopback(peer: str | None) -> bool:
    try:
        address = ip_address((peer or "").partition("%")[0])
    except ValueError:
        return False
    # A socket that listens on IPv6 gives IPv4 addresses as ::ffff:127.0.0.1.
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def caller_of(cache: Cache, scope: Mapping[str, Any]) -> Caller:
    client, address = scope["client"], scope.get("agent_address")  # festinger_site/server/addressing.py leaves it there
    headers = join_repeated(scope["headers"])
    return identify(cache, headers, client[0] if client else None, scope["http_version"], address)


def may(caller: Caller, needed: Permission) -> bool:
    """True if the caller has the permission. An operator's token does all that an agent's does. A caller that sends an
    invalid token gets no trust as a local one."""
    trust = settings.FESTINGER_TRUST_LOOPBACK if caller.is_local and not caller.has_bad_token else "none"
    return "operator" in (trust, _scope_of(caller)) or needed in (trust, _scope_of(caller))


def require(caller: Caller, needed: Permission) -> None:
    """Check a permission for Festinger's own endpoints. Raises NotAllowed and DatabaseAway."""
    if may(caller, needed):
        return
    setting = "FESTINGER_TRUST_LOOPBACK=operator" if needed == "operator" and caller.is_local else ""
    raise _refuse(caller, needed, setting)


def require_own_name(caller: Caller) -> None:
    """Check that a registered agent's name in the address comes with its token, for Festinger's own endpoints. Raises
    NotAllowed."""
    if caller.claimed:
        raise NotAllowed(f"{caller.claimed} has a token: send it as Authorization: Bearer fst_..., or use another name")


def require_for_models(caller: Caller) -> None:
    """Check the permission to change which models the upstream has. Raises NotAllowed and DatabaseAway."""
    # Any trust will do on this machine: programs there can ask the model server directly.
    if _scope_of(caller) == "operator" or (caller.is_local and settings.FESTINGER_TRUST_LOOPBACK != "none"):
        return
    raise _refuse(caller, "operator")


def _scope_of(caller: Caller) -> str:
    return caller.token.scope if caller.token is not None else "none"


def _refuse(caller: Caller, needed: Permission, setting: str = "") -> ProxyError:
    if caller.is_unread:
        return DatabaseAway()
    if caller.has_bad_token:
        return NotAllowed("this token is not valid: it was revoked, or is not written as it was shown")
    option = " --scope operator" if needed == "operator" else ""
    ways = f"needs a token of scope {needed} ({settings.MANAGE} create_agent NAME{option} makes one)"
    ways += f", or {setting}" if setting else ""
    if caller.token is None:
        return NotAllowed(f"this {ways}; it is sent as Authorization: Bearer fst_...")
    return NotAllowed(f"this {ways}; that of {caller.name} has scope {caller.token.scope}", status=403)


def build_upstream_headers(cache: Cache, scope: Mapping[str, Any]) -> Headers:
    """Return the headers for the upstream, without Festinger tokens. Raises NotAllowed if a required token is missing,
    DatabaseAway if it cannot be checked yet, and ForwardingLoop."""
    # The request has been here before (Via, RFC 9110 section 7.6.3): without this check it would loop until no socket
    # is left.
    if any(name == b"via" and INSTANCE in value for name, value in scope["headers"]):
        raise ForwardingLoop
    if settings.FESTINGER_REQUIRE_TOKEN and token_of(cache, headers := join_repeated(scope["headers"])) is None:
        if cache.loaded_at is None and own_tokens(headers):
            raise DatabaseAway
        raise NotAllowed("this Festinger asks for a token: Authorization: Bearer fst_...")
    # Also drop revoked tokens: they were never meant for the upstream.
    return [*filter_for_upstream(header for header in scope["headers"] if not _has_own_token(*header)), VIA]
