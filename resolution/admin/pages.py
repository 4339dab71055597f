"""Shared parts of the admin pages about the graph: the actor, permissions, and links to rows."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from memory import llm
from memory.admin.base import LINK, link
from memory.admin.dialogs import with_button
from memory.llm.client import Use
from memory.models import Source
from resolution.actors import Actor
from resolution.models import Claim, Conflict
from resolution.pages.mirror import describe_conflicts
from resolution.pages.words import Origin


def actor_of(request: HttpRequest) -> Actor:
    return Actor(request.user.get_username(), Source.OPERATOR)


def changes(permission: str) -> Any:
    """Return a decorator for a page's method that changes something: it requires POST and the permission."""
    return method_decorator([require_POST, permission_required(permission, raise_exception=True)])


def link_to(field: str, description: str = "", text: str | None = None) -> Callable[[Any, Any], SafeString | str]:
    """Return a column that links to the row in the field."""

    @admin.display(description=description or field)
    def column(page: Any, row: Any) -> SafeString | str:
        return link(getattr(row, field), text) if getattr(row, field) is not None else "-"

    return column


def link_to_claim(claim: Claim, text: str | None = None) -> SafeString:
    """Return a link to the page of the claim's conflict."""
    return format_html('<a href="{}" class="{}">{}</a>', claim.get_absolute_url(), LINK, text or str(claim))


def link_to_conflict(conflict_id: int) -> SafeString:
    return link(Conflict(pk=conflict_id), f"conflict {conflict_id}")


def render_conflicts(conflicts: QuerySet[Conflict]) -> SafeString | str:
    """Render a link to each, by what it is about."""
    told = describe_conflicts(conflicts.select_related("concept", "dim"))
    shown = ((link(one.conflict, str(one)), one.conflict.get_status_display().lower()) for one in told)
    return format_html_join("", "<div>{} ({})</div>", shown) or "none"


def asks_first(request: HttpRequest, setting: Use) -> bool:
    """True if clients use the model that is chosen for this: then a message asks whether to start the run."""
    told = "" if "all_the_same" in request.POST else llm.tell_in_use(setting)
    if told:
        fields = {"all_the_same": "true", "next": request.POST.get("next", "")}
        messages.warning(request, with_button(request, told, "Run it all the same", request.path, **fields))
    return bool(told)


def render_origin(origin: Origin) -> SafeString | str:
    """Render a link to the request in which something was said, or say why there is none."""
    if not origin.request:
        return "no request: it was not said in a prompt"
    if not origin.is_kept:
        return f"the request is no longer kept: requests are for {origin.days} days"
    return format_html('<a href="{}" class="{}">the request it came in</a>', origin.request, LINK)
