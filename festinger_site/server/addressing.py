"""Strips ``/agent/NAME`` from the paths of requests, so that everything behind it sees the plain path."""

from collections.abc import Callable
from urllib.parse import unquote

from proxy.domain.agent_addresses import AddressMistake, AgentAddress, is_agent_address, read_address, split_address
from proxy.errors import BadRequest
from proxy.upstream.asgi_types import Application, AsgiScope, Event, Receive, Send
from proxy.upstream.relay import send_error

FORM = "an agent's address is /agent/NAME/..., or /agent/NAME,SWITCH=off/..."


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
        await self._app(plain, receive, send if self._is_own(path) else _stay(send, address))


def _stay(send: Send, address: AgentAddress) -> Send:
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
