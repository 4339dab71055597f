"""MCP over Streamable HTTP, without sessions and with answers in JSON, so that any process can serve any call. The
tools are the endpoints that declare one, with the same rights."""

import asyncio
import json
import logging
from typing import Any, Final

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.db import connections
from pydantic import ValidationError

from memory.cache.collector import pause_collector
from proxy.access.caller import Caller
from proxy.access.scopes import require
from proxy.api.endpoint import ENDPOINTS, PARAMETER, Endpoint, Output, format_mistakes
from proxy.errors import FAILURES, describe_error
from proxy.upstream.asgi_types import Application, AsgiScope, Event, Receive, Send, body, start

logger = logging.getLogger(__name__)

PATHS: Final = frozenset({"/mcp", "/mcp/"})
BODY_MAX_BYTES: Final = 1024 * 1024
STOP_S: Final = 5.0
NO_MESSAGE: Final = "The body must be one JSON-RPC request or notification, as an object."
INSTRUCTIONS: Final = (
    "Festinger remembers across conversations. Search before saying that something is unknown; remember what the user"
    " asks to be remembered, and decisions that hold for later."
)


class Server:
    """The MCP server of one server process. It starts with the first call, since importing the library takes half a
    second."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._app: Application | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            # There are no sessions to end, and the server sends nothing unasked: the protocol lets it refuse the stream
            # that a host would keep open for that.
            await send(start(405, [(b"allow", b"POST"), (b"content-length", b"0")]))
            await send(body(b"", more=False))
            return
        async with self._lock:
            if self._app is None:
                await self._start()
        assert self._app is not None
        await self._app(scope, receive, shorten_refusal(send))

    async def stop(self) -> None:
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=STOP_S)

    async def _start(self) -> None:
        # In a thread, and without garbage collection for 100,000 new objects that stay: no stream waits meanwhile.
        with pause_collector():
            manager = await asyncio.to_thread(make_manager)
        started = asyncio.Event()

        async def serve() -> None:
            # Entered and left in one task, as its task group requires.
            try:
                async with manager.run():
                    started.set()
                    await self._stopping.wait()
            finally:
                started.set()

        self._task = asyncio.create_task(serve(), name="mcp")
        await started.wait()
        if self._task.done():
            self._task.result()  # raises what went wrong; the next call tries again
        self._app = manager.handle_request


def shorten_refusal(send: Send) -> Send:
    """Return ``send`` with one sentence where the SDK quotes pydantic on what is no message of JSON-RPC."""
    held: list[Event] = []

    async def send_event(event: Event) -> None:
        if event.get("status") == 400:
            held.append(event)  # the length of its body is in the headers
            return
        if held:
            refusal = json.loads(event["body"])
            if refusal["error"]["message"].startswith("Validation error"):
                refusal["error"]["message"] = NO_MESSAGE
                event = body(json.dumps(refusal).encode(), more=False)
            headers = [(name, value) for name, value in held.pop()["headers"] if name != b"content-length"]
            await send(start(400, [*headers, (b"content-length", str(len(event["body"])).encode())]))
        await send(event)

    return send_event


def make_manager() -> Any:
    """Return the SDK's session manager with a server that has the tools. The first import takes half a second."""
    import mcp_types as types
    from mcp.server.lowlevel import Server as ToolServer
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.shared.exceptions import MCPError

    endpoints = {one.tool.name: one for one in ENDPOINTS if one.tool is not None}
    listed = [
        types.Tool(
            name=name,
            description=one.tool.description,
            input_schema=one.arguments.model_json_schema(),
            annotations=types.ToolAnnotations(read_only_hint=not one.writes, destructive_hint=False),
        )
        for name, one in endpoints.items()
        if one.tool is not None
    ]

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        endpoint = endpoints.get(params.name)
        if endpoint is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:80]!r}")
        caller: Caller = context.request.scope["caller"]
        text, is_error = await call(caller, endpoint, params.arguments or {})
        logger.info("tool.called", extra={"tool": params.name, "agent": caller.name, "is_error": is_error})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    server: ToolServer[Any] = ToolServer(
        "festinger",
        version=settings.VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    return StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=BODY_MAX_BYTES
    )


async def call(caller: Caller, endpoint: Endpoint, arguments: dict[str, Any]) -> tuple[str, bool]:
    """Return the tool's result in lines, and True if that is an error."""
    # A thread of its own, like each of Django's requests: a call that waits for the database does not block others.
    async with ThreadSensitiveContext():
        try:
            if endpoint.scope == "operator":  # festinger_site/asgi.py has checked that the caller is an agent
                require(caller, endpoint.scope)
            given = endpoint.arguments.model_validate(arguments)
            values = {name: getattr(given, name) for name in PARAMETER.findall(endpoint.path)}
            _, content = await endpoint.call(caller=caller, given=given, **values)
            assert isinstance(content, Output)  # no tool makes its own response
            return "\n".join(content.lines()), False
        except ValidationError as error:
            return format_mistakes(error.errors()), True
        except FAILURES as error:
            told = describe_error(error)[1]
            hint = told.get("hint", "")
            return f"{told['error'].rstrip('.')}. {hint[0].upper()}{hint[1:]}" if hint else told["error"], True
        finally:
            await sync_to_async(connections.close_all)()
