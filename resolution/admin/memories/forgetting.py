"""Forgetting in the admin: operators see what would be deleted, and confirm it."""

from collections.abc import Callable
from typing import Any, Literal, cast

from django.contrib import admin, messages
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.decorators import action

from memory.admin.base import ACTION_MAX, Page, limit_selection
from memory.memories.forgetting import ForgetScope, Forgotten, forget
from memory.types import whole_number


class Forgets:
    """A mixin that adds forgetting to the list and the pages of a model."""

    def has_forget_permission(self, request: HttpRequest, object_id: str = "") -> bool:
        return request.user.has_perm(f"memory.delete_{self.opts.model_name}")  # type: ignore[attr-defined]  # a page's

    @action(description="Delete permanently …", permissions=["forget"])
    def forget(self, request: HttpRequest, object_id: str) -> HttpResponse:
        rows = self.model._default_manager.filter(pk=whole_number(object_id) or 0)  # type: ignore[attr-defined]
        return _ask(request, self.opts.model_name, rows)  # type: ignore[attr-defined]

    def history_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        # Django's log has no entries for these rows: they would keep the text of what is forgotten.
        return redirect(f"admin:memory_{self.opts.model_name}_change", object_id)  # type: ignore[attr-defined]


def find_address(kind: str) -> str:
    """Return the address of the list of all rows. The list of memories shows only active ones by default."""
    address = reverse(f"admin:memory_{kind}_changelist")
    return f"{address}?status=all" if kind == "memory" else address


def make_forgetting(description: str) -> Callable[[Page, HttpRequest, QuerySet[Any]], HttpResponse | None]:
    """Return an action that forgets the selected memories or episodes."""

    @admin.action(description=description, permissions=["forget"])
    def forget_them(page: Page, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Return the confirmation page or, once confirmed, forget the rows, report what went with them and return
        None."""
        kind = cast(Literal["episode", "memory"], page.opts.model_name)
        if "keys" not in request.POST:
            return _ask(request, kind, queryset)
        keys = [key for text in request.POST["keys"].split(",") if (key := whole_number(text)) is not None]
        if keys:
            what = forget(ForgetScope(kind=kind, ids=tuple(keys[:ACTION_MAX])))
            # One entry without texts: Django's own entries, one per row, would keep what was forgotten.
            table = ContentType.objects.get_for_model(queryset.model)
            LogEntry.objects.create(
                user_id=request.user.pk or 0, content_type=table, object_repr=f"{what} forgotten", action_flag=DELETION
            )
            page.message_user(request, f"{what} forgotten for good.", messages.SUCCESS)
        return None

    return forget_them


def _ask(request: HttpRequest, kind: Literal["episode", "memory"], rows: QuerySet[Any]) -> HttpResponse:
    keys, more = limit_selection(rows)
    found = forget(ForgetScope(kind=kind, ids=tuple(keys)), is_trial=True) if keys else Forgotten(0, 0)
    context = {
        **admin.site.each_context(request),
        "title": "Delete permanently",
        "address": find_address(kind),
        "found": found,
        "fields": {
            "action": "forget_them",
            "_selected_action": keys[0] if keys else "",
            "keys": ",".join(map(str, keys)),
        },
        "more": more.removeprefix(". "),
    }
    return TemplateResponse(request, "resolution/forget.html", context)
