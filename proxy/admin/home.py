"""The admin's first page: is the world model healthy, and what waits for an operator."""

from typing import Any

from django.http import HttpRequest


def context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the page shows, added to what every page has."""
    return context
