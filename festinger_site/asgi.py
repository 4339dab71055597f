"""The ASGI application: its lifespan, and which handler answers which path.

Prompts go to the lean handler, Festinger's own pages to Django's, everything else streams to the upstream.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402  Django must be set up before anything imports a model
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402

from festinger_site import urls  # noqa: E402, F401  now, not with the first request
from festinger_site.server.host_origin_guard import Guard  # noqa: E402
from festinger_site.server.prompt_handler import LeanHandler  # noqa: E402
from festinger_site.server.shutdown import end_on_signals, end_with_parent  # noqa: E402
from proxy import runtime  # noqa: E402
from proxy.api.passthrough import pass_through  # noqa: E402
from proxy.domain.formats import FORMATS  # noqa: E402
from proxy.errors import BodyTooLarge  # noqa: E402
from proxy.upstream.asgi_types import Receive, Scope, Send  # noqa: E402
from proxy.upstream.relay import limit_body, send_error  # noqa: E402

PROMPTS = frozenset(FORMATS)
OWN = frozenset(
    {
        *("/health", "/iknowthat", "/recollect", "/reload", "/conflicts", "/candidates"),
        *("/gutask", "/docs", "/openapi.json", "/admin"),
    }
)
OWN_TREES = ("/admin/", "/why/", "/conflicts/", "/candidates/", "/decisions/", "/resolve/", settings.STATIC_URL)

lean = LeanHandler()
# Serves the admin's own files too: one process is enough, and nothing needs collecting.
stock = ASGIStaticFilesHandler(ASGIHandler())


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
        return
    if scope["type"] != "http":
        # A WebSocket: Ollama has none that could be passed through.
        await send({"type": "websocket.close", "code": 1000, "reason": None})
        return
    path = scope["path"]
    if path in PROMPTS and scope["method"] == "POST":
        await lean(scope, receive, send)
    elif is_own(path):
        await own(scope, receive, send)
    else:
        await pass_through(scope, receive, send)


def is_own(path: str) -> bool:
    return path in OWN or path.startswith(OWN_TREES)


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    end_with_parent()
    # An exception is not caught here: uvicorn logs it, and ends the process, which the supervisor starts again.
    with end_on_signals():
        await runtime.start()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await runtime.stop()
    await send({"type": "lifespan.shutdown.complete"})


async def own(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers Festinger's own pages. HEAD is GET, whose body the server leaves out."""
    if scope["method"] == "HEAD":
        scope = scope | {"method": "GET"}
    # Django reads the whole body before it looks at anything, so its size is limited here.
    limit = runtime.current().settings_file.rules.limits.max_body_bytes
    try:
        await stock(scope, limit_body(receive, limit), send)
    except BodyTooLarge as error:
        await send_error(send, scope["path"], error)


application = Guard(
    answer,
    is_own=is_own,
    bind=settings.FESTINGER_HOST,
    hosts=settings.FESTINGER_ALLOWED_HOSTS,
    origins=settings.FESTINGER_ORIGINS,
)
