"""Identifies callers by a Festinger token, a name in the address or in a header, or a network address."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final, Literal

from django.conf import settings

from memory.access.agent_tokens import TOKEN_PREFIX, token_hash
from memory.access.switches import Restriction, Restrictions, Switch
from memory.attribution.client_names import LOOPBACK, name_unregistered
from memory.cache.state import AgentRow, Cache, ProjectRow
from memory.graph.statement import PERSON_MAX
from memory.memories.scope import Scope, Speaker
from proxy.access.persons import clean_person, find_person
from proxy.upstream.headers import AUTHORIZATION

HeaderMap = Mapping[bytes, bytes]
# Why none of the tokens that a request brings counts; unknown_yet: this process has not reached Postgres yet.
TokenFault = Literal["", "invalid", "unknown_yet"]
PREFIX = TOKEN_PREFIX.encode()
WHOLE_TOKEN = re.compile(PREFIX + rb"[A-Za-z0-9_-]{43}")
API_KEY = b"x-api-key"
AGENT = b"x-festinger-agent"
PROJECT = b"x-festinger-project"
REMEMBER = b"x-festinger-remember"
NO = frozenset({"no", "off", "false", "0"})
PERSON = b"x-openwebui-user-id"
CHAT = b"x-openwebui-chat-id"
PROXY_HEADERS = frozenset({b"forwarded", b"via", b"x-real-ip"})
OFF_FOR_AGENT = "off in the settings of the agent"
OFF_IN_ADDRESS = "off in the address"
TEMPORARY: Final = "a temporary chat: nothing of it is kept"
TEMPORARY_CHAT: Final = "local"  # Open WebUI's id of a temporary chat, or how it begins
OFF_IN_SETTINGS: Final = "off in the settings (episodes)"
NO_TOKEN: Final = "the agent has no token, and does not call from this machine"
# The same message in both cases, so that strangers cannot probe for projects.
NO_SUCH_PROJECT: Final = "the project that the request names is unknown, or not open to its sender"
NOTHING_KEPT: Final[Restrictions] = dict.fromkeys(("learn", "ask", "remember"), TEMPORARY)
# Nothing counts as seen, either: it is taken when it is said again.
NO_PROJECT_ACCESS: Final[Restrictions] = dict.fromkeys(("learn", "remember"), NO_SUCH_PROJECT)


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request.

    - ``token``: the row of a valid Festinger token.
    - ``is_local``: a program on this machine, not behind a proxy and not a page of another site.
    - ``claimed_agent``: the registered agent in the address, without that agent's token.
    - ``person``: the person that its headers say it speaks for; ``chat``: its client's id of the conversation.
    - ``project``: the project's id, None for the one that all share; ``named_project``: the slug in its header.
    - ``speaker``: its name in the memory, if that is not ``name``.
    """

    name: str
    token: AgentRow | None
    is_local: bool
    restrictions: Restrictions = field(default_factory=dict)
    token_fault: TokenFault = ""
    claimed_agent: str = ""
    person: str = ""
    chat: str = ""
    project: int | None = None
    named_project: str = ""
    speaker: str = ""

    @property
    def token_scope(self) -> str:
        """The scope of its token, or "none"."""
        return self.token.scope if self.token is not None else "none"

    @property
    def signature(self) -> str:
        """The name under which decisions are recorded: never one that anybody may choose."""
        return self.token.name if self.token is not None else LOOPBACK

    @property
    def has_no_project_access(self) -> bool:
        """True if it names a project that it may not name, or that does not exist."""
        return bool(self.named_project) and self.project is None

    @property
    def is_temporary(self) -> bool:
        """True if nothing of the request may be kept."""
        return self.restrictions.get("remember") == TEMPORARY

    def scope_for(self, payload: Mapping[str, Any]) -> Scope | None:
        """Return the scope in which a request with this body is remembered and searched; None for no scope."""
        if self.has_no_project_access:
            return None
        return Scope(Speaker(self.speaker or self.name, self.person_in(payload)), self.project)

    def person_in(self, payload: Mapping[str, Any]) -> str:
        """Return the person that a request with this body speaks for; empty for nobody."""
        return find_person(self.person, payload)


def find_caller(cache: Cache, scope: Mapping[str, Any]) -> Caller:
    """Identify the caller by its token, else by the address, else by the header: the header counts only without such an
    address."""
    client, address = scope["client"], scope.get("agent_address")  # proxy/access/addresses.py leaves it there
    peer = client[0] if client else None
    headers = join_repeated(scope["headers"])
    sent = own_tokens(headers)
    token = next((row for each in sent if (row := cache.agents.get(token_hash(each))) is not None), None)
    token_fault: TokenFault = ""
    if sent and token is None:
        token_fault = "invalid" if cache.loaded_at is not None else "unknown_yet"
    given = address.name if address is not None else _read(headers, AGENT)
    given = "".join(character for character in given if character.isprintable()).strip()
    # The name of an agent with a token is for that token only.
    owner = cache.agents_by_name.get(given.casefold())
    is_own = owner is not None and token is not None and owner.name.casefold() == token.name.casefold()
    given = "" if owner is not None else given
    is_local = is_loopback(peer) and not _is_for_others(headers, scope["http_version"])
    # Anybody may call through a proxy on this machine: do not confuse them with callers on the machine itself.
    is_forwarded = token is None and is_loopback(peer) and not is_local
    chat = _read(headers, CHAT)[:PERSON_MAX]
    off_in_address = address.off if address is not None else frozenset[Switch]()
    is_temporary = (
        chat.partition(":")[0] == TEMPORARY_CHAT
        or _read(headers, REMEMBER).lower() in NO
        or "remember" in off_in_address
    )
    slug = _read(headers, PROJECT).lower()
    project = choose_project(cache, token, slug)
    restrictions = dict.fromkeys(off_in_address, OFF_IN_ADDRESS) | restrict_agent(cache, token, is_local=is_local)
    if is_temporary:
        restrictions |= NOTHING_KEPT
    elif slug and project is None:
        restrictions |= NO_PROJECT_ACCESS
    return Caller(
        name=token.name if token is not None else name_unregistered(given, peer),
        token=token,
        is_local=is_local,
        restrictions=restrictions,
        token_fault=token_fault,
        claimed_agent=owner.name if address is not None and owner is not None and not is_own else "",
        person=clean_person(_read(headers, PERSON)),
        chat=chat,
        project=project,
        named_project=slug,
        speaker=name_unregistered(given, None) if is_forwarded else "",
    )


def impersonate(cache: Cache, agent: str, person: str = "", project: int | None = None) -> Caller:
    """Return the caller of a prompt that the agent would send from this machine, with its token if it has one, and in
    its own project unless another is given."""
    token = cache.agents_by_name.get(agent.casefold())
    if token is not None:
        agent, project = token.name, project if project is not None else token.project
    off = restrict_agent(cache, token, is_local=True)
    return Caller(agent, token, True, off, person=clean_person(person), project=project)


def restrict_agent(cache: Cache, token: AgentRow | None, *, is_local: bool) -> dict[Restriction, str]:
    """Return what the settings switch off for the owner of the token; None: for a caller without one."""
    off: dict[Restriction, str] = dict.fromkeys(token.off, OFF_FOR_AGENT) if token is not None else {}
    choice = token.episodes if token is not None else "default"
    is_trusted = token is not None or (is_local and settings.FESTINGER_TRUST_LOOPBACK != "none")
    if choice == "off":
        off["remember"] = OFF_FOR_AGENT
    elif choice == "default" and cache.tuning.episodes == "off":
        off["remember"] = OFF_IN_SETTINGS
    elif choice == "default" and cache.tuning.episodes == "on" and not is_trusted:
        off["remember"] = NO_TOKEN
    return off


def choose_project(cache: Cache, token: AgentRow | None, slug: str) -> int | None:
    """Return the id of the project that a request names, else of its token's. None for the one that all share, and if
    the request may not name this one."""
    if not slug:
        return token.project if token is not None else None
    project = cache.projects.get(slug)
    return project.id if project is not None and may_name(token, project) else None


def may_name(token: AgentRow | None, project: ProjectRow) -> bool:
    allowed = frozenset[int]() if token is None else token.projects
    return project.is_open or allowed is None or project.id in allowed


def join_repeated(headers: Iterable[tuple[bytes, bytes]]) -> HeaderMap:
    """Return the headers by name; repeated fields are joined (RFC 9110 section 5.3)."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def _read(headers: HeaderMap, name: bytes) -> str:
    return headers.get(name, b"").decode("utf-8", "replace").strip()


def own_tokens(headers: HeaderMap) -> list[str]:
    """Return all Festinger tokens in the headers, valid, revoked or made up: bearer tokens, and the header in which
    Anthropic's clients put their key."""
    given = [part.split() for part in headers.get(AUTHORIZATION, b"").split(b",")]
    tokens = [words[1] for words in given if len(words) == 2 and words[0].lower() == b"bearer"]
    tokens += headers.get(API_KEY, b"").replace(b",", b" ").split()
    return [token.decode("latin-1") for token in tokens if token.startswith(PREFIX)]


def has_own_token(name: bytes, value: bytes) -> bool:
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


def _is_for_others(headers: HeaderMap, http_version: str) -> bool:
    """True if a request from this machine's own address may have been made for somebody else."""
    # A reverse proxy that adds no header, as nginx's bare proxy_pass, speaks HTTP/1.0.
    if http_version == "1.0" or any(name in PROXY_HEADERS or name.startswith(b"x-forwarded-") for name in headers):
        return True
    # A browser on this machine, on behalf of whoever made the page. A page of our own has our Host as its Origin.
    _, _, site = headers.get(b"origin", b"").lower().partition(b"://")
    return b"origin" in headers and (not site or site != headers.get(b"host", b"").lower())
