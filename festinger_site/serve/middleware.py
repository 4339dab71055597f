"""Django's middleware for Festinger's own pages: the policy of browsers, and requests with the wrong method."""

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views import defaults

from festinger_site.serve.error_views import ADMIN

GetResponse = Callable[[HttpRequest], HttpResponse]

# A few lines instead of django-csp: the policy is the same on all pages. From Django 6 on, SECURE_CSP does the same.
POLICY = "; ".join(
    [
        "default-src 'self'",
        # Scripts are our own files. Alpine, which Unfold's pages use, evaluates their attributes.
        "script-src 'self' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",  # Unfold sets its colours so, and scripts the sizes of what they draw
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)


def restrict_pages(get_response: GetResponse) -> GetResponse:
    """Middleware that adds a Content-Security-Policy to pages."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers["Content-Security-Policy"] = POLICY
        return response

    return middleware


def json_method_not_allowed(get_response: GetResponse) -> GetResponse:
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


def redirect_lost_post(get_response: GetResponse) -> GetResponse:
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
