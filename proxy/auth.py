"""Who is calling: the owner of a Festinger token, a name given in a header, or an address. And what they may do."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Literal

from django.conf import settings

from memory.access.agent_tokens import NAME_MAX, TOKEN_PREFIX, token_hash
from memory.cache.state import AgentRow, Cache
from proxy.domain.headers import Headers, filter_for_upstream
from proxy.errors import ForwardingLoop, NotAllowed

HeaderMap = Mapping[bytes, bytes]
Permission = Literal["agent", "operator"]
INSTANCE = settings.INSTANCE.encode()
VIA = (b"via", b"1.1 " + INSTANCE)


@dataclass(frozen=True, slots=True)
class Caller:
    """``token`` is the row of a valid Festinger token. ``is_local``: from this machine, through no proxy."""

    name: str
    token: AgentRow | None
    is_local: bool


def identify(cache: Cache, headers: HeaderMap, peer: str | None) -> Caller:
    token = token_of(cache, headers)
    return Caller(
        # A name in a header is only a name: whoever needs a permission has to bring a token.
        name=token.name if token else _read_name(headers) or f"anonymous@{peer or 'unknown'}",
        token=token,
        # A reverse proxy on this machine connects from here as well, for anybody.
        is_local=is_loopback(peer) and b"forwarded" not in headers and b"x-forwarded-for" not in headers,
    )


def own_tokens(headers: HeaderMap) -> dict[bytes, str]:
    """Tokens of Festinger's, valid, revoked or made up, by the header they came in: the bearer's, and where Anthropic's
    clients put their key."""
    scheme, _, bearer = headers.get(b"authorization", b"").partition(b" ")
    given = {b"authorization": bearer if scheme.lower() == b"bearer" else b"", b"x-api-key": headers.get(b"x-api-key")}
    return {
        name: token.strip().decode("latin-1")
        for name, token in given.items()
        if token and token.startswith(TOKEN_PREFIX.encode())
    }


def token_of(cache: Cache, headers: HeaderMap) -> AgentRow | None:
    """The owner of the token that was given; None for any that is not valid."""
    owners = (cache.agents.get(token_hash(token)) for token in own_tokens(headers).values())
    return next((owner for owner in owners if owner is not None), None)


@lru_cache(maxsize=1024)
def is_loopback(peer: str | None) -> bool:
    try:
        address = ip_address((peer or "").partition("%")[0])
    except ValueError:
        return False
    # A socket that listens on IPv6 gives IPv4 addresses as ::ffff:127.0.0.1.
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _read_name(headers: HeaderMap) -> str:
    raw = headers.get(b"x-festinger-agent", b"").decode("utf-8", "replace")
    return "".join(character for character in raw if character.isprintable()).strip()[:NAME_MAX]


def caller_of(cache: Cache, scope: Mapping[str, Any]) -> Caller:
    client = scope["client"]
    return identify(cache, dict(scope["headers"]), client[0] if client else None)


def require(caller: Caller, needed: Permission) -> None:
    """For Festinger's own endpoints. An operator's token does all that an agent's does. Raises NotAllowed."""
    if caller.is_local and settings.FESTINGER_TRUST_LOOPBACK:
        return
    if caller.token is None:
        whose, option = ("an operator's", " --scope operator") if needed == "operator" else ("an agent's", "")
        raise NotAllowed(
            f"this needs {whose} token: Authorization: Bearer fst_... (manage.py create_agent NAME{option} makes one)"
        )
    if needed == "operator" and caller.token.scope != "operator":
        raise NotAllowed(
            f"the token of {caller.name} is not an operator's (manage.py create_agent NAME --scope operator makes one)",
            status=403,
        )


def strip_own_token(cache: Cache, scope: Mapping[str, Any]) -> Headers:
    """What the upstream gets; a Festinger token stays here. Raises NotAllowed where a token is required, and
    ForwardingLoop."""
    # The request has been here before (Via, RFC 9110 section 7.6.3): without this it would go round until no socket is
    # left.
    if any(name == b"via" and INSTANCE in value for name, value in scope["headers"]):
        raise ForwardingLoop
    given = dict(scope["headers"])
    if settings.FESTINGER_REQUIRE_TOKEN and token_of(cache, given) is None:
        raise NotAllowed("this Festinger asks for a token: Authorization: Bearer fst_...")
    # Also those that are revoked: they were never meant for the upstream.
    return [*filter_for_upstream(scope["headers"], without=frozenset(own_tokens(given))), VIA]
