"""The ASGI application: its lifespan, and the choice of the handler for each path.

Prompts go to the prompt handler, Festinger's own pages to Django's; everything else is streamed to the upstream.
"""

import gc
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402  Django must be set up before anything imports a model
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler  # noqa: E402
from django.core.exceptions import SuspiciousFileOperation  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402
from django.http import FileResponse, Http404, HttpRequest, HttpResponse  # noqa: E402

from festinger_site import urls  # noqa: E402, F401  now, not with the first request
from festinger_site.serve.prompt_handler import answer_prompt, read_body  # noqa: E402
from festinger_site.serve.shutdown import end_on_signals, end_with_parent  # noqa: E402
from memory import bounds, request_ids  # noqa: E402
from memory.cache.collector import SurvivorFreezer  # noqa: E402
from proxy import runtime  # noqa: E402
from proxy.access.addresses import AgentAddresses  # noqa: E402
from proxy.access.anonymous_bodies import LimitAnonymousBodies  # noqa: E402
from proxy.access.caller import find_caller  # noqa: E402
from proxy.access.guard import Guard  # noqa: E402
from proxy.access.scopes import Permission, require, require_own_name  # noqa: E402
from proxy.api.endpoint import ENDPOINTS, find_endpoint  # noqa: E402
from proxy.api.passthrough import pass_through  # noqa: E402
from proxy.errors import BadRequest, ProxyError  # noqa: E402
from proxy.formats import FORMATS  # noqa: E402
from proxy.formats.json_text import is_heavy  # noqa: E402
from proxy.mcp import PATHS as MCP_PATHS  # noqa: E402
from proxy.mcp import Server  # noqa: E402
from proxy.upstream.asgi_types import AsgiScope, Event, Receive, Send  # noqa: E402
from proxy.upstream.relay import ClientGone, limit_body, send_error  # noqa: E402

REQUEST_ID = b"x-request-id"
PROMPTS = frozenset(FORMATS)
DOCUMENTS = frozenset({"/docs", "/openapi.json"})  # for everybody
OWN = frozenset({*(one.path for one in ENDPOINTS), *DOCUMENTS, *MCP_PATHS, "/admin"})
# Whatever begins like an endpoint's path of several parts is Festinger's own, too.
OWN_TREES = tuple(
    {f"/{one.path.split('/')[1]}/" for one in ENDPOINTS if one.path.count("/") > 1} | {"/admin/", settings.STATIC_URL}
)
OWN_BODY_MAX_BYTES = 1024 * 1024  # ten times what /recollect reads; the other endpoints take a line
OWN_BODY = bounds.define("own_body_bytes", "bodies of over 1 MiB to Festinger's own endpoints, refused")
OWN_VALUES = bounds.define("own_values", "bodies with too many values in their JSON, to own endpoints, refused")


class StaticFiles(ASGIStaticFilesHandler):
    """Serves the admin's own files, too: one process is enough, and nothing needs collecting."""

    def serve(self, request: HttpRequest) -> HttpResponse | FileResponse:
        try:
            return super().serve(request)
        except SuspiciousFileOperation as error:  # the path leads out of the folder
            raise Http404 from error


mcp = Server()
stock = LimitAnonymousBodies(StaticFiles(ASGIHandler()))
# Running requests for Festinger's own pages. Django's requests refer to themselves, with their bodies: if they were
# frozen, they would stay for a while.
own_in_flight = 0
freezer = SurvivorFreezer(lambda: not own_in_flight)


async def answer(scope: AsgiScope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
        return
    if scope["type"] != "http":
        # A WebSocket: Ollama has none to pass it through to.
        await send({"type": "websocket.close", "code": 1000, "reason": None})
        return
    request_ids.begin(dict(scope["headers"]).get(REQUEST_ID, b""))
    scope["caller"] = find_caller(runtime.current().cache, scope)
    path = scope["path"]
    if path in PROMPTS and scope["method"] == "POST":
        await answer_prompt(scope, receive, send)
    elif is_own(path) or opens_in_browser(scope):
        global own_in_flight
        own_in_flight += 1
        try:
            await own(scope, receive, send)
        finally:
            own_in_flight -= 1
    else:
        await pass_through(scope, receive, send)


def is_own(path: str) -> bool:
    return path in OWN or path.startswith(OWN_TREES)


def opens_in_browser(scope: AsgiScope) -> bool:
    """True if a person opens the root; clients who ask there whether Ollama is running get the upstream's answer."""
    wanted = dict(scope["headers"]).get(b"accept", b"")
    return scope["path"] == "/" and scope["method"] in ("GET", "HEAD") and b"text/html" in wanted


async def lifespan(scope: AsgiScope, receive: Receive, send: Send) -> None:
    await receive()
    end_with_parent()
    # Do not catch exceptions here: uvicorn logs them, and ends the process, which the supervisor restarts.
    with end_on_signals():
        await runtime.start()
    gc.callbacks.append(freezer)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    gc.callbacks.remove(freezer)
    await mcp.stop()
    await runtime.stop()
    await send({"type": "lifespan.shutdown.complete"})


async def own(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Answer a request for Festinger's own pages. HEAD is handled as GET; the server leaves out the body."""
    if scope["method"] == "HEAD":
        scope = scope | {"method": "GET"}
    send = add_request_id(send)
    limit = runtime.current().settings_file.rules.limits.max_body_bytes
    # Django reads the whole body before it checks anything, so limit its size here, and refuse callers without the
    # permission first.
    try:
        receive = limit_body(receive, limit)
        if not is_page(scope["path"]):
            require_own_name(scope["caller"])
            needed = required_scope(scope["method"], scope["path"])
            if needed is not None:
                require(scope["caller"], needed)
            receive = limit_body(receive, OWN_BODY_MAX_BYTES, bound=OWN_BODY, about="of Festinger's own endpoints")
            receive = await read_whole(receive)
        await (mcp if scope["path"] in MCP_PATHS else stock)(scope, receive, send)
    except ClientGone:
        return
    except ProxyError as error:
        await send_error(send, scope["path"], error)


def add_request_id(send: Send) -> Send:
    """Wrap ``send`` to give the client the id of its request in a header."""
    header = REQUEST_ID, request_ids.ensure().encode()

    async def forward(event: Event) -> None:
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*event["headers"], header]}
        await send(event)

    return forward


async def read_whole(receive: Receive) -> Receive:
    """Read the body and return a ``receive`` that replays it. Raises ClientGone, BodyTooLarge and, if it would take so
    long to parse that every stream would wait, BadRequest."""
    whole: Event | None = {"type": "http.request", "body": await read_body(receive), "more_body": False}
    if whole is not None and is_heavy(whole["body"]):
        OWN_VALUES.count_hit(bytes=len(whole["body"]))
        raise BadRequest

    async def replay() -> Event:
        nonlocal whole
        message, whole = whole, None
        return message if message is not None else await receive()

    return replay


def required_scope(method: str, path: str) -> Permission | None:
    """Return the scope that a call to one of Festinger's own endpoints needs; None if everybody may call it."""
    endpoint = find_endpoint(method, path)
    if endpoint is None:
        return None if path in DOCUMENTS else "agent"
    return endpoint.scope


def is_page(path: str) -> bool:
    """True for the root, static files, and the admin, which has a login, and uploads of its own."""
    return path in ("/", "/admin") or path.startswith(("/admin/", settings.STATIC_URL))


guarded = Guard(
    answer,
    is_own=is_own,
    hosts=settings.FESTINGER_ALLOWED_HOSTS,
    origins=settings.FESTINGER_ORIGINS,
)
# Outermost, so that nothing behind it, least of all the upstream, sees an agent's address.
application = AgentAddresses(guarded, is_own=is_own)
