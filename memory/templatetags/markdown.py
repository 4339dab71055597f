"""A template filter for texts in Markdown."""

import re
from typing import Any, Final

from django import template

register = template.Library()
SYNTAX: Final = re.compile(r"([\\`*_\[\]<>#|~])")


@register.filter
def plain(text: Any) -> str:
    """Escape the text for Markdown, in one line."""
    return SYNTAX.sub(r"\\\1", " ".join(str(text).split()))
