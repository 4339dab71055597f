"""Django's error responses: in the shape of Ollama's for programs, as pages in the admin (templates/40*.html)."""

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views import defaults

from memory.db.connections import is_lost
from proxy.errors import DatabaseAway
from proxy.formats import error_body

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
