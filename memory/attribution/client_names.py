"""Determines whose voice an agent name is. Without a token, a client may call itself anything: it is known by a name
and its address, such as ``dobby@10.0.0.7``, and all such names of one address are one voice."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final, NamedTuple

ANONYMOUS: Final = "anonymous"
LOOPBACK: Final = "loopback"  # decides from this machine without a token
UNKNOWN: Final = "unknown"  # in place of the address
# In place of a person: several, to whom nothing may be recalled that is for one of them. No person is called so.
GROUP: Final = "\n"
# Characters. With "@" and the longest address this fills the tables' columns.
GIVEN_NAME_MAX: Final = 64
ADDRESS_MAX: Final = 55
IPV6_PREFIX: Final = 64  # a machine chooses the other half of its address itself, and anew each day
CORROBORATION: Final = 0.05  # share of the remaining uncertainty that each further voice removes
REMEMBERED_MAX: Final = 100
UNREGISTERED_MAX: Final = 20  # of the remembered ones


class Supporter(NamedTuple):
    """An independent source of statements: an agent with a token, a person behind one or on this machine, or all names
    without a token of one address."""

    agent: str
    person: str = ""

    def may_be(self, other: "Supporter") -> bool:
        """True if both may be one: an agent with and without a person may be the same person."""
        return self.agent == other.agent and (self.person == other.person or not (self.person and other.person))


def supporter_of(agent: str, person: str = "") -> Supporter:
    voice = voice_of(agent)
    has_persons = is_registered(agent) or voice == voice_of(name_unregistered("", "127.0.0.1"))
    return Supporter(voice, person if has_persons else "")


def name_unregistered(given: str, address: str | None) -> str:
    """Return the name of a client without a token: the name it gives itself, if any, and its address."""
    return f"{given.strip()[:GIVEN_NAME_MAX] or ANONYMOUS}@{(address or UNKNOWN)[:ADDRESS_MAX]}"


def is_registered(agent: str) -> bool:
    """True if it is the name of a token's owner."""
    return bool(agent) and _address_of(agent) is None


def is_one_of_address(agent: str, person: str = "") -> bool:
    """True of an agent without a token, and no person behind it: one of the names of an address, which are one
    supporter."""
    return bool(agent) and not person and not is_registered(agent)


def is_reserved(name: str) -> bool:
    """True if nobody may be registered under this name."""
    return name.casefold() in (ANONYMOUS, LOOPBACK) or not is_registered(name)


@lru_cache(maxsize=4096)
def voice_of(agent: str) -> str:
    """Return the same name for all names that are one voice; it is itself one of these names."""
    address = _address_of(agent)
    return agent if address is None else name_unregistered("", network_of(address))


def network_of(address: str) -> str:
    """Return the same network for all addresses that one machine may call from; UNKNOWN if it is not an address."""
    try:
        found = ip_address(address)
    except ValueError:
        return UNKNOWN
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_loopback:
        return "127.0.0.1"  # a program chooses which loopback address it calls from
    if isinstance(found, IPv6Address):
        return str(IPv6Network((int(found), IPV6_PREFIX), strict=False).network_address)
    return str(found)


def corroborate(confidence: float, voices: int = 1) -> float:
    """Return the confidence after ``voices`` more have said it; always below 1."""
    return 1 - (1 - confidence) * (1 - CORROBORATION) ** voices


def choose_remembered(agents: Iterable[str]) -> list[str]:
    """Return the voices of these agents, as many as are remembered; those with a token first."""
    voices = sorted({voice_of(agent) for agent in agents})
    registered = [voice for voice in voices if is_registered(voice)]
    others = [voice for voice in voices if not is_registered(voice)]
    return sorted([*registered, *others[:UNREGISTERED_MAX]][:REMEMBERED_MAX])


def _address_of(agent: str) -> str | None:
    """Return the address in the name of a client without a token; None for others."""
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
