"""Reads the agent address ``/agent/NAME,SWITCH=off/...``, for clients that can set nothing but a base URL."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

from memory.domain.switches import SWITCHES, Switch
from memory.domain.voices import is_reserved

BEGINS: Final = b"agent"
NAME_MAX: Final = 100  # characters, the same as for a registered agent's name


class AddressMistake(ValueError):
    """The address cannot be read. The message says why."""


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """``off`` holds what the address switches off; ``prefix`` is all of it, as it was sent."""

    name: str
    off: frozenset[Switch]
    prefix: bytes


def is_agent_address(path: str) -> bool:
    """True if the decoded path begins like an agent address."""
    return path.startswith(("/agent/", "//")) and path.lstrip("/").startswith("agent/")


def split_address(raw_path: bytes) -> tuple[bytes, bytes]:
    """Return the address and the path behind it, both as they were sent; the address is empty if no name is given."""
    slashes = len(raw_path) - len(raw_path.lstrip(b"/"))
    start, _, rest = raw_path[slashes:].partition(b"/")
    segment = rest.partition(b"/")[0]
    if unquote_to_bytes(start) != BEGINS or not segment:
        return b"", raw_path
    end = slashes + len(start) + 1 + len(segment)
    return raw_path[:end], raw_path[end:] or b"/"


def read_address(prefix: bytes) -> AgentAddress:
    """Parse an address that ``split_address`` has split off. Raises AddressMistake."""
    # Split before decoding: a name may contain a comma or a slash, as %2C and %2F.
    given, *switches = prefix.rpartition(b"/")[2].split(b",")
    try:
        name = unquote(given.decode(), errors="strict").strip()
    except UnicodeDecodeError:
        raise AddressMistake("the name of the agent is not UTF-8") from None
    if not name or len(name) > NAME_MAX or not name.isprintable():
        raise AddressMistake(f"the name of an agent has 1 to {NAME_MAX} printable characters")
    if is_reserved(name):
        raise AddressMistake(f"no agent can be called {name}")
    off = set()
    for switch in switches:
        key, _, value = unquote(switch.decode(errors="replace")).partition("=")
        if key not in SWITCHES or value != "off":
            known = ", ".join(f"{each}=off" for each in SWITCHES)
            raise AddressMistake(f"{key}={value} is no switch of an address; there are {known}"[:300])
        off.add(key)
    return AgentAddress(name, frozenset(off), prefix)
