"""Whose voice a name is. Whoever has no token may call itself anything: it is known by a name and its address, such as
``dobby@10.0.0.7``, and all such names of one address are one voice."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

ANONYMOUS: Final = "anonymous"
LOOPBACK: Final = "loopback"  # who decides from this machine without a token
UNKNOWN: Final = "unknown"  # where the address should be
# Characters. With "@" and the longest address there is as much as the tables have room for.
GIVEN_NAME_MAX: Final = 64
ADDRESS_MAX: Final = 55
IPV6_PREFIX: Final = 64  # a machine chooses the other half of its address by itself, and anew each day
CORROBORATION: Final = 0.05  # of what is missing to certainty, which each further voice adds
REMEMBERED_MAX: Final = 100
UNREGISTERED_MAX: Final = 20  # of those that are remembered


def name_unregistered(given: str, address: str | None) -> str:
    """Who has no token: by the name it gives itself, if any, and where it comes from."""
    return f"{given.strip()[:GIVEN_NAME_MAX] or ANONYMOUS}@{(address or UNKNOWN)[:ADDRESS_MAX]}"


def is_registered(agent: str) -> bool:
    """Whether it is the name of a token's owner."""
    return bool(agent) and _address_of(agent) is None


def is_reserved(name: str) -> bool:
    """Whether nobody may be registered under this name."""
    return name.casefold() in (ANONYMOUS, LOOPBACK) or not is_registered(name)


@lru_cache(maxsize=4096)
def voice_of(agent: str) -> str:
    """The same for all names that are one voice: itself one of these names."""
    address = _address_of(agent)
    return agent if address is None else name_unregistered("", network_of(address))


def network_of(address: str) -> str:
    """The same for all addresses that one machine may call from; UNKNOWN for what is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return UNKNOWN
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return "127.0.0.1"  # a program chooses which address of this machine it calls from
    if isinstance(found, IPv6Address):
        return str(IPv6Network((int(found), IPV6_PREFIX), strict=False).network_address)
    return str(found)


def corroborate(confidence: float, voices: int = 1) -> float:
    """How sure it is after so many more have said it: never quite sure."""
    return 1 - (1 - confidence) * (1 - CORROBORATION) ** voices


def choose_remembered(agents: Iterable[str]) -> list[str]:
    """The voices of these agents, as many as are remembered; those with a token first."""
    voices = sorted({voice_of(agent) for agent in agents})
    registered = [voice for voice in voices if is_registered(voice)]
    others = [voice for voice in voices if not is_registered(voice)]
    return sorted([*registered, *others[:UNREGISTERED_MAX]][:REMEMBERED_MAX])


def _address_of(agent: str) -> str | None:
    """Of whoever has no token; None for the others."""
    _, at, address = agent.rpartition("@")
    if not at:
        return None
    if address == UNKNOWN:
        return address
    try:
        ip_address(address)
    except ValueError:
        return None
    return address
