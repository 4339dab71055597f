"""Forgetting in the admin: what Django's deletion of memories and episodes does, and shows first."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from memory.admin.base import limit_selection
from memory.memories.forgetting import ForgetScope, Forgotten, forget

EXPLAINED = (
    "The texts, their history, and the memories that were made of nothing else. They cannot be put back, and do not"
    " come back when a client sends them again."
)
NO_SCRIPTS = {"media": ""}  # those of the list's filters fail on a page that has none


class Forgets:
    """A mixin for the pages of a model whose rows are forgotten, with what was made of nothing else."""

    model: Any
    opts: Any

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm(f"memory.delete_{self.opts.model_name}")

    @admin.action(description="Delete permanently: text, history and all …", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        keys, more = limit_selection(queryset)
        if more:
            messages.warning(request, more.removeprefix(". "))
        asked: Any = delete_selected(self, request, queryset.filter(pk__in=keys))  # type: ignore[arg-type]  # a page
        if asked is not None:
            asked.context_data |= NO_SCRIPTS
        return asked

    def render_delete_form(self, request: HttpRequest, context: dict[str, Any]) -> Any:
        asked: Any = super().render_delete_form(request, context)  # type: ignore[misc]  # a page's
        asked.context_data |= NO_SCRIPTS
        return asked

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> Any:
        found = self._forget(objs, is_trial=True)
        lines: list[Any] = [f"{found} would be forgotten for good", EXPLAINED]
        for part in found.parts:
            lines += [f"{part}:", [*part.texts, *([f"and {part.more} more"] if part.more > 0 else [])]]
        return lines, {part.name: part.rows for part in found.parts}, set(), []

    def delete_queryset(self, request: HttpRequest, queryset: Iterable[Any]) -> None:
        what = self._forget(queryset)
        table = ContentType.objects.get_for_model(self.model)
        LogEntry.objects.create(
            user_id=request.user.pk or 0, content_type=table, object_repr=f"{what} forgotten", action_flag=DELETION
        )
        messages.success(request, f"{what} forgotten for good.")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_queryset(request, [obj])

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        """Log nothing: Django's entries, one for each row, would keep what was forgotten."""

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        return redirect(f"admin:memory_{self.opts.model_name}_changelist")  # without Django's message, which quotes it

    def history_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        # Django's log has no entries for these rows: they would keep the text of what is forgotten.
        return redirect(f"admin:memory_{self.opts.model_name}_change", object_id)

    def _forget(self, rows: Iterable[Any], *, is_trial: bool = False) -> Forgotten:
        keys = tuple(row.pk for row in rows)
        return forget(ForgetScope(kind=self.opts.model_name, ids=keys), is_trial=is_trial) if keys else Forgotten(0, 0)
