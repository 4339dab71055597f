"""A template tag for a link that opens a dialog, also used elsewhere."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def dialog_link(label: str, address: str, about: str = "", css: str = "fst-link") -> SafeString:
    """Link to the dialog of that address. ``about``: what it is about, only for those who do not see the page."""
    hidden = format_html('<span class="fst-hidden"> {}</span>', about) if about else ""
    return format_html(
        '<a href="{}" hx-get="{}" hx-target="#modal-content" hx-select="#dialog"'
        ' x-on:htmx:after-on-load="openModal = true" class="{}">{}{}</a>',
        address, address, css, label, hidden,
    )  # fmt: skip
