"""Template filters for times: how long ago something was, also used elsewhere, and whether that is known."""

from datetime import datetime

from django import template
from django.utils.timesince import timesince

from memory.timing import is_dated

register = template.Library()
register.filter(is_dated)


@register.filter
def ago(at: datetime) -> str:
    """Format how long ago it was, in its largest unit: ``3 minutes ago``."""
    passed = timesince(at, depth=1)
    return "just now" if passed.startswith("0") else f"{passed} ago"
