"""Strips the agent address ``/agent/NAME,SWITCH=off`` from the paths of requests, so that everything behind it sees the
plain path. It is for clients that can set nothing but a base URL."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

from memory.access.agent_tokens import AgentMistake, clean_name
from memory.access.switches import SWITCHES, Switch
from proxy.errors import BadRequest
from proxy.upstream.asgi_types import Application, AsgiScope, Event, Receive, Send
from proxy.upstream.relay import send_error

BEGINS: Final = b"agent"
FORM: Final = "an agent's address is /agent/NAME/..., or /agent/NAME,SWITCH=off/..."


class AddressMistake(ValueError):
    """The address cannot be read. The message says why."""


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """``off`` holds what the address switches off; ``prefix`` is all of it, as it was sent."""

    name: str
    off: frozenset[Switch]
    prefix: bytes


class AgentAddresses:
    """Wraps an ASGI application; ``scope["agent_address"]`` has the name that the client gives itself."""

    def __init__(self, app: Application, *, is_own: Callable[[str], bool]) -> None:
        self._app = app
        self._is_own = is_own

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_agent_address(scope["path"] + "/"):
            await self._app(scope, receive, send)
            return
        prefix, raw_path = split_address(scope["raw_path"])
        path = unquote(raw_path.decode("latin-1"))
        try:
            if not prefix:
                raise AddressMistake("it names no agent")
            if is_agent_address(path + "/"):
                raise AddressMistake("it names two agents")
            address = read_address(prefix)
        except AddressMistake as mistake:
            await send_error(send, path, BadRequest(f"{FORM}: {mistake}"))
            return
        plain = scope | {"path": path, "raw_path": raw_path, "agent_address": address}
        if sent := scope.get("target"):  # with the query, as proxy/api/passthrough.py forwards it
            plain["target"] = raw_path + sent.partition(scope["raw_path"])[2]
        await self._app(plain, receive, send if self._is_own(path) else keep_redirects_under(address, send))


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
        name = clean_name(unquote(given.decode(), errors="strict"))
    except UnicodeDecodeError:
        raise AddressMistake("the name of the agent is not UTF-8") from None
    except AgentMistake as mistake:
        raise AddressMistake(str(mistake)) from None
    off = set()
    for switch in switches:
        key, _, value = unquote(switch.decode(errors="replace")).partition("=")
        if key not in SWITCHES or value != "off":
            known = ", ".join(f"{each}=off" for each in SWITCHES)
            raise AddressMistake(f"{key}={value} is no switch of an address; there are {known}"[:300])
        off.add(key)
    return AgentAddress(name, frozenset(off), prefix)


def keep_redirects_under(address: AgentAddress, send: Send) -> Send:
    """Wrap ``send`` to keep the model server's redirects under the address, so that its switches stay in force."""

    async def forward(event: Event) -> None:
        if event["type"] == "http.response.start" and 300 <= event["status"] < 400:
            headers = [
                (name, address.prefix + value if name == b"location" and value.startswith(b"/") else value)
                for name, value in event["headers"]
            ]
            event = {**event, "headers": headers}
        await send(event)

    return forward
