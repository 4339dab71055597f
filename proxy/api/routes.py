"""The HTTP routes. The hot path is ``forward``, which takes a prompt to the upstream."""

import logging
import time
from typing import Any

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from memory import request_ids
from proxy import runtime
from proxy.api import (  # noqa: F401  declare their endpoints
    candidates,
    conflicts,
    facts,
    memories,
    names,
    operating,
    projects,
    recollections,
    runs,
)
from proxy.api.endpoint import format_mistakes, router
from proxy.api.passthrough import target
from proxy.domain.formats import FORMATS, error_body
from proxy.domain.headers import Headers
from proxy.enrichment.pipeline import Enriched
from proxy.enrichment.prompt_metrics import count_enriched
from proxy.errors import FAILURES, describe_error
from proxy.upstream.relay import Relay

logger = logging.getLogger(__name__)

REQUEST_ID = b"x-festinger-request"
LOOP_STEP = b"x-festinger-loop"
WARNING = b"x-festinger-warning"
# Also for a project that exists but that the sender may not name, so that strangers cannot probe for projects.
UNKNOWN_PROJECT = "unknown project"

api = NinjaAPI(
    title="Festinger",
    version=settings.VERSION,
    description="What Festinger itself answers. All other routes are the model server's.",
    docs_url="/docs",
    openapi_url="/openapi.json",
)
api.add_router("", router)


# --- prompts ---


async def forward(request: ASGIRequest) -> HttpResponseBase:
    """Enrich a prompt in the wire format of its path, and relay the upstream's answer."""
    started = time.perf_counter()
    current = runtime.current()
    headers: Headers = request.scope["upstream_headers"]  # festinger_site/server/prompt_handler.py leaves them there
    done, warning = Enriched(request.body), ""
    if request.META.get("HTTP_X_FESTINGER", "").lower() != "off":
        caller = await current.projects.identify_sender(request.scope)
        done = await current.enricher.enrich(request.path, request.body, caller)
        count_enriched(request.path, done, time.perf_counter() - started)
        warning = UNKNOWN_PROJECT if caller.is_astray else ""
    request_ids.ensure()
    enriched = time.perf_counter()
    if done.answer is not None:
        # The circuit breaker has tripped. It answers with 200: Agent Zero retries what fails, and would ask once more.
        content_type, content = done.answer
        own = {name.decode(): value.decode() for name, value in own_headers(done, warning)}
        return HttpResponse(content, content_type=content_type, headers={**own, "Cache-Control": "no-cache"})
    answer = await current.upstream.open("POST", target(request.scope), headers, done.body)
    logger.info(
        "prompt.forwarded",
        extra={
            "why": done.request,
            "wire": FORMATS[request.path].name,
            "status": answer.status_code,
            "bytes": len(request.body),
            "added": len(done.body) - len(request.body),
            "enrich_ms": round((enriched - started) * 1000, 2),
            "upstream_ms": round((time.perf_counter() - enriched) * 1000, 1),
        },
    )
    current.enricher.prompt_search.search_on(done.lookup)
    return Relay(
        answer,
        more_headers=own_headers(done, warning),
        guard=current.enricher.guard_of(request.path, done),
        listener=current.enricher.listener_of(request.path, done),
    )


def own_headers(done: Enriched, warning: str) -> Headers:
    given = ((REQUEST_ID, done.request), (LOOP_STEP, done.step), (WARNING, warning))
    return [(name, value.encode()) for name, value in given if value]


for path, wire in FORMATS.items():
    api.post(path, operation_id=wire.name, include_in_schema=False)(forward)


# --- errors, in the shape Ollama gives them at each path ---


def on_failure(request: HttpRequest, error: Any) -> HttpResponse:
    status, content = describe_error(error)
    content = error_body(request.path, status, content["error"]) if request.path in FORMATS else content
    wait = content.get("retry_after_s")
    headers = {"Retry-After": str(wait)} if wait is not None else {}
    return JsonResponse(content, status=status, content_type="application/json; charset=utf-8", headers=headers)


for kind in FAILURES:
    api.add_exception_handler(kind, on_failure)


@api.exception_handler(ValidationError)
def on_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    # The first parts are the source and, of a body, the name of its parameter in this code.
    mistakes = [
        one | {"loc": one["loc"][2 if one["loc"][0] == "body" else 1 :] or one["loc"][:1]} for one in error.errors
    ]
    return JsonResponse({"error": format_mistakes(mistakes)}, status=422)


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return JsonResponse({"error": str(error)}, status=error.status_code)
