"""The HTTP routes of Festinger's own endpoints, and how their errors are told."""

from json import JSONDecodeError
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from proxy.api import (  # noqa: F401  declare their endpoints
    agents,
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
from proxy.errors import FAILURES, describe_error

api = NinjaAPI(
    title="Festinger",
    version=settings.VERSION,
    description="What Festinger itself answers. All other routes are the model server's.",
    docs_url="/docs",
    openapi_url="/openapi.json",
)
api.add_router("", router)


# --- errors, in the shape Ollama gives them at each path ---


def on_failure(request: HttpRequest, error: Any) -> HttpResponse:
    status, content = describe_error(error)
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
    cause = error.__cause__
    where = f": {cause.msg}, line {cause.lineno}, column {cause.colno}" if isinstance(cause, JSONDecodeError) else ""
    return JsonResponse({"error": f"{error}{where}"}, status=error.status_code)
