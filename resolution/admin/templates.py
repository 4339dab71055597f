"""Admin page for templates that programs fill in. What was learned from them is hidden; one click puts it back."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from memory.admin.base import ListFilter, Page, ReadOnly, limit_selection, requires
from memory.models import PromptOpening
from resolution.memories.templates import keep


class StateFilter(ListFilter):
    """A filter that shows openings of templates unless the others are selected."""

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
