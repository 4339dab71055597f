"""Templates that programs fill in, in the admin: what was kept of them is hidden, and put back with one click."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from memory.admin.base import ListFilter, Page, ReadOnly, limit_selection, requires
from memory.models import PromptOpening
from resolution.memories.templates import keep


class StateFilter(ListFilter):
    """Those that hide something, unless others are asked for."""

    title = "state"
    parameter_name = "state"
    standard = "A program's template"
    options = [("own", "Somebody's own words")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[PromptOpening]) -> QuerySet[PromptOpening]:
        return queryset.filter(state=self.value() or PromptOpening.State.TEMPLATE)


@admin.register(PromptOpening)
class PromptOpeningAdmin(ReadOnly, Page):
    list_display = ("opening", "agent", "person", "conversations", "found_at")
    list_filter = (StateFilter,)
    sortable_by = ()
    ordering = ("-id",)
    fields = ("text", ("agent", "person"), ("state", "found_at", "hidden_at"), "conversations")
    readonly_fields = ("conversations",)
    actions = ("keep_them",)
    has_keep_permission = requires("resolution.change_candidate")

    @admin.display(description="begins with")
    def opening(self, row: PromptOpening) -> str:
        return f"{row.text[:100]}…"

    @admin.display(description="conversations")
    def conversations(self, row: PromptOpening) -> int:
        return len(row.seen)

    @admin.action(description="No template: keep what it says", permissions=["keep"])
    def keep_them(self, request: HttpRequest, queryset: QuerySet[PromptOpening]) -> None:
        keys, more = limit_selection(queryset.filter(state=PromptOpening.State.TEMPLATE))
        told = f"{keep(keys):,} kept{more}: a worker puts back what they said within seconds."
        self.message_user(request, told, messages.SUCCESS)
