"""Admin page for messages that wait for the learner. Their texts are never shown: they belong to their speakers."""

from functools import partial

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest

from memory.admin.base import ListFilter, Page, ReadOnly, column, limit_selection, render_preformatted, requires
from memory.english.phrases import shorten
from memory.models import HeardMessage


class WaitingFilter(ListFilter):
    title = "what they wait for"
    parameter_name = "state"
    options = [("waiting", "a worker"), ("aside", "somebody to look: set aside")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[HeardMessage]) -> QuerySet[HeardMessage]:
        if self.value() not in ("waiting", "aside"):
            return queryset
        return queryset.filter(next_attempt_at__isnull=self.value() == "aside")


@admin.register(HeardMessage)
class HeardMessageAdmin(ReadOnly, Page):
    list_display = ("created_at", "role", "agent", "length", "attempts", "state", "trouble")
    list_filter = (WaitingFilter,)
    sortable_by = ()
    ordering = ("-id",)
    fields = (("role", "agent", "length"), ("said_at", "created_at"), ("state", "attempts"), "request", "error_text")
    readonly_fields = ("length", "state", "error_text")
    actions = ("try_again",)
    has_try_again_permission = requires("memory.add_edge")

    @admin.display(description="characters")
    def length(self, row: HeardMessage) -> int:
        return len(row.text)

    @admin.display(description="state")
    def state(self, row: HeardMessage) -> str:
        return "set aside" if row.next_attempt_at is None else "waits"

    trouble = column("last_error", partial(shorten, most=80), "error", empty="-")
    error_text = column("last_error", render_preformatted, "error", empty="none")

    @admin.action(description="Try again what was set aside", permissions=["try_again"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[HeardMessage]) -> None:
        aside, more = limit_selection(queryset.filter(next_attempt_at=None))
        count = HeardMessage.objects.filter(pk__in=aside, next_attempt_at=None).update(
            next_attempt_at=Now(), attempts=0, last_error=""
        )
        self.message_user(request, f"{count:,} wait again, a worker takes them within seconds{more}.", messages.SUCCESS)
