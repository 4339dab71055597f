"""How long ago something was, in templates and elsewhere."""

from datetime import datetime

from django import template
from django.utils.timesince import timesince

register = template.Library()


@register.filter
def ago(at: datetime) -> str:
    """``3 minutes ago``, in its largest unit."""
    passed = timesince(at, depth=1)
    return "just now" if passed.startswith("0") else f"{passed} ago"
