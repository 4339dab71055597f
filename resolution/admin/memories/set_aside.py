"""Admin page for what people asked to forget, with its undo."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import action
from unfold.forms import BaseDialogForm

from memory.admin.base import Page, ReadOnly, display_once, limit_selection, requires, whose
from memory.admin.dialogs import dialog, leave_dialog
from memory.english.phrases import format_count
from memory.models import Episode, ForgetRequest, Memory
from memory.types import whole_number
from resolution.memories.setting_aside import undo

SHOWN = 50  # rows of each kind


@admin.register(ForgetRequest)
class ForgetRequestAdmin(ReadOnly, Page):
    empty = "What somebody asked to forget is set aside, and listed here until it is deleted."
    list_display = ("said_at", "about", "whose", "row_count", "facts", "state")
    list_display_links = ("about",)
    list_filter = ("effect",)
    search_fields = ("agent__istartswith", "person__istartswith")
    sortable_by = ()
    ordering = ("-id",)
    fields = ("about", "effect", "whose", "said_at", "state", "request", "facts", "messages", "memories")
    readonly_fields = ("about", "whose", "state", "facts", "messages", "memories")
    actions = ("undo_them",)
    whose = whose
    has_undo_permission = requires("memory.change_memory")
    actions_detail = ("undo",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ForgetRequest]:
        rows = super().get_queryset(request)
        # A request that found nothing is kept only for messages that are still under way.
        return rows.filter(
            Q(row_count__gt=0) | ~Q(retired=[]) | Q(undone_at__isnull=False) | Q(deleted_at__isnull=False)
        )

    @admin.display(description="about")
    def about(self, row: ForgetRequest) -> str:
        return {"own": f"my {row.topic}", "speaker": "everything about me"}.get(row.topic_kind, str(row))

    @admin.display(description="facts")
    def facts(self, row: ForgetRequest) -> int:
        return len(row.retired)

    @admin.display(description="state")
    def state(self, row: ForgetRequest) -> str:
        if row.undone_at is not None:
            return f"undone by {row.undone_by}"
        return "deleted" if row.deleted_at is not None else "set aside"

    @admin.display(description="messages")
    @display_once
    def messages(self, row: ForgetRequest) -> SafeString | str:
        return _list_texts(Episode.all_rows.filter(set_aside_by=row))

    @admin.display(description="memories")
    @display_once
    def memories(self, row: ForgetRequest) -> SafeString | str:
        return _list_texts(Memory.all_rows.filter(set_aside_by=row))

    @action(description="Undo", permissions=["undo"], dialog=dialog("Undo", "It is recalled again.", BaseDialogForm))
    def undo(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        self.undo_them(request, ForgetRequest.objects.filter(pk=whole_number(object_id) or 0))
        return leave_dialog(request, "admin:memory_forgetrequest_changelist")

    @admin.action(description="Undo: recall it again", permissions=["undo"])
    def undo_them(self, request: HttpRequest, queryset: QuerySet[ForgetRequest]) -> None:
        keys, more = limit_selection(queryset.filter(undone_at=None, deleted_at=None))
        count = sum(undo(key, request.user.get_username()) for key in keys)
        told = f"{format_count(len(keys), 'request')} undone, {format_count(count, 'row')} put back{more}."
        self.message_user(request, told, messages.SUCCESS)


def _list_texts(rows: QuerySet[Any]) -> SafeString | str:
    shown = list(rows.order_by("id").values_list("text", flat=True)[: SHOWN + 1])
    lines = format_html_join("", "<div>{}</div>", ((text,) for text in shown[:SHOWN]))
    return (format_html("{}<div>and more</div>", lines) if len(shown) > SHOWN else lines) or "none"
