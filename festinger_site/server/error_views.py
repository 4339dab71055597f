"""Django's error responses: in the shape of Ollama's for programs, as pages in the admin (templates/40*.html)."""

import sys

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views import defaults

from festinger_site.server.browsers import GetResponse
from memory.db.connections import is_lost
from proxy.domain.formats import error_body
from proxy.errors import DatabaseAway

ADMIN = "/admin/"


def server_error(request: HttpRequest) -> HttpResponse:
    error = sys.exc_info()[1]
    if error is not None and is_lost(error):  # even if another error followed from it
        away = DatabaseAway()
        if request.path.startswith(ADMIN):
            return render(request, "503.html", status=away.status)
        return JsonResponse(error_body(request.path, away.status, str(away)), status=away.status)
    if request.path.startswith(ADMIN):
        return defaults.server_error(request)
    content = error_body(request.path, 500, "internal error in Festinger; see its log")
    return JsonResponse(content, status=500)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith(ADMIN):
        return defaults.page_not_found(request, exception)
    return JsonResponse({"error": f"there is no {request.path}; see /docs"}, status=404)


def tell_wrong_methods(get_response: GetResponse) -> GetResponse:
    """Middleware that lists the allowed methods in the body of a 405."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.status_code != 405 or request.path.startswith(ADMIN):
            return response
        # Ninja's body says no more than the status, and Django's is empty.
        allowed = response.headers["Allow"]
        error = f"{request.method} is not allowed here; use {allowed}"
        return JsonResponse({"error": error}, status=405, headers={"Allow": allowed})

    return middleware


def lead_back(get_response: GetResponse) -> GetResponse:
    """Middleware that redirects a GET of the target of an admin form to the page above it.

    A reload sends such a GET, and so does a login after a session that ended before the click.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(ADMIN):
            return get_response(request)
        # Postgres takes no NUL in texts: Django's queries for such a page would fail with status 500.
        if "\x00" in request.path or "%00" in request.META["QUERY_STRING"]:
            return defaults.page_not_found(request, Http404())
        response = get_response(request)
        # Only for GET, which browsers send by themselves: a program that posts to the wrong page keeps its 405.
        if response.status_code != 405 or request.method != "GET":
            return response
        messages.warning(request, "Nothing was changed: the form was not submitted. Please try again.")
        return redirect(f"{request.path.rstrip('/').rpartition('/')[0]}/")

    return middleware
