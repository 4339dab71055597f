"""A template tag for who said something, also used elsewhere."""

from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory.attribution.client_names import GROUP

register = template.Library()


def speaker_address(agent: str, person: str = "") -> str:
    """Return the address of the page of an agent, or of a person behind it."""
    named = {"agent": agent, "person": person} if person else {"agent": agent}
    return f"{reverse('admin:memory_agent_speaker')}?{urlencode(named)}"


@register.simple_tag
def speaker(agent: str, person: str = "") -> SafeString | str:
    """Link to the page of an agent or of a person behind it; for a group, to its agent's."""
    if not agent:
        return "nobody known"
    person = "" if person == GROUP else person
    shown = f"{person} ({agent})" if person else agent
    return format_html('<a href="{}" class="fst-link">{}</a>', speaker_address(agent, person), shown)
