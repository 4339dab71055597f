"""Django's own error answers, in the shape of Ollama's: programs call these routes. The admin keeps its pages."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

from proxy.domain.error_bodies import error_body

ADMIN = "/admin/"
GetResponse = Callable[[HttpRequest], HttpResponse]


def server_error(request: HttpRequest) -> HttpResponse:
    if request.path.startswith(ADMIN):
        return defaults.server_error(request)
    content = error_body(request.path, 500, "something went wrong in Festinger; its log says what")
    return JsonResponse(content, status=500)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(ADMIN):
        return defaults.page_not_found(request, exception)
    return JsonResponse({"error": f"there is no {request.path}; /docs shows what there is"}, status=404)


def tell_wrong_methods(get_response: GetResponse) -> GetResponse:
    """Middleware: a 405 says which methods there are."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.status_code != 405 or request.path.startswith(ADMIN):
            return response
        allowed = response.headers["Allow"]
        error = f"{request.method} is not allowed here; use {allowed}"
        return JsonResponse({"error": error}, status=405, headers={"Allow": allowed})

    return middleware
