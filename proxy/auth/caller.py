"""Who is speaking: the owner of a Festinger token, a name given in a header, or an address."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

from memory.access.agent_tokens import NAME_MAX, TOKEN_PREFIX, token_hash
from memory.cache.state import AgentRow, Cache

HeaderMap = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Caller:
    """``token`` is the row of a valid Festinger token. ``is_local``: from this machine, through no proxy."""

    name: str
    token: AgentRow | None
    is_local: bool


def identify(cache: Cache, headers: HeaderMap, peer: str | None) -> Caller:
    token = token_of(cache, headers)
    return Caller(
        name=token.name if token else _given_name(headers) or f"anonymous@{peer or 'unknown'}",
        token=token,
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
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _given_name(headers: HeaderMap) -> str:
    raw = headers.get(b"x-festinger-agent", b"").decode("utf-8", "replace")
    return "".join(character for character in raw if character.isprintable()).strip()[:NAME_MAX]
