"""Tells browsers which scripts may run in the admin's pages, and keeps its messages in a cookie."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.http import HttpRequest, HttpResponse, HttpResponseBase

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


class CookieMessages(CookieStorage):
    cookie_name = "festinger_messages"


class AdminMessages(FallbackStorage):
    """Stores messages to operators in a cookie that goes to the admin only; if it is full, in the session."""

    storage_classes = (CookieMessages, SessionStorage)

    def update(self, response: HttpResponseBase) -> Any:
        unstored = super().update(response)
        # Django sets no path for this cookie.
        if CookieMessages.cookie_name in response.cookies:
            response.cookies[CookieMessages.cookie_name]["path"] = settings.SESSION_COOKIE_PATH
        return unstored
