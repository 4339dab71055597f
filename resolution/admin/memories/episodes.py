"""Admin pages for episodes."""

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.postgres.search import SearchQuery
from django.db.models import F, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import action

from memory.admin.base import (
    LINK,
    DayFilter,
    Page,
    ReadOnly,
    column,
    display_once,
    link,
    next_page,
    prefer_keys,
    requires,
    speaker_filters,
    whose,
)
from memory.admin.dialogs import ReasonForm, dialog, leave_dialog, with_button
from memory.english.phrases import shorten
from memory.models import Episode, Memory, MemoryLineage
from memory.models.semantic import INDEXED_LEXEMES
from memory.types import whole_number
from resolution.admin.memories.forgetting import Forgets
from resolution.admin.memories.unfit import Unfits
from resolution.memories.setting_aside import take_back
from resolution.pages.words import format_date

NEIGHBOURS = 3  # messages of the conversation shown before and after


class TextSearch:
    """A full-text search for pages, which finds texts that contain all words, in any form, or longer ones that begin
    so. ``lexemes``: as the index has them."""

    lexemes: Combinable = F("lexemes")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]  # ModelAdmin's
        return rows.defer("lexemes")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not (wanted := search_term.split()):
            return queryset, False
        prefixes = ["'{}':*".format(word.replace("\\", "").replace("'", "''")) for word in wanted]
        words = SearchQuery(" & ".join(prefixes), config="english", search_type="raw")
        # The index has the speakers, too: the column itself tells them from what was said.
        return prefer_keys(queryset.alias(indexed=self.lexemes).filter(indexed=words, lexemes=words)), False


@admin.register(Episode)
class EpisodeAdmin(Unfits, Forgets, TextSearch, ReadOnly, Page):
    empty = "Messages of users and models that pass through Festinger, kept for 90 days."
    lexemes = INDEXED_LEXEMES
    list_display = ("when_said", "beginning", "role", "whose", "project")
    list_display_links = ("beginning",)
    list_filter = (*speaker_filters(), ("said_at", DayFilter), "role", ("project", AutocompleteSelectFilter))
    list_filter_submit = True
    list_select_related = ("project",)
    search_fields = ("text",)
    sortable_by = ()
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("text", "role", "when_said", "whose", "project")}),
        ("Around it", {"fields": ("conversation_around", "remembered", "unfit")}),
        ("Queue", {"fields": ("read_at",)}),
    )
    readonly_fields = ("when_said", "whose", "conversation_around", "remembered", "unfit")
    actions = ("delete_selected",)
    actions_detail = ("take_back",)
    has_take_back_permission = requires("memory.change_memory")

    whose = whose
    when_said = column("said_at", format_date, "said at")

    beginning = column("text", partial(shorten, most=160))

    @admin.display(description="conversation")
    @display_once
    def conversation_around(self, row: Episode) -> SafeString | str:
        same = Episode.objects.defer("lexemes").filter(
            conversation=bytes(row.conversation), agent=row.agent, person=row.person
        )
        before = reversed(same.filter(pk__lt=row.pk).order_by("-pk")[:NEIGHBOURS])
        around = [*before, *same.filter(pk__gt=row.pk).order_by("pk")[:NEIGHBOURS]]
        lines = ((one.role, link(one, self.beginning(one))) for one in around)
        told = format_html_join("", "<div>{}: {}</div>", lines) or "Nothing else of it is kept."
        whole = reverse("admin:proxy_conversation", args=[bytes(row.conversation).hex()])
        return format_html('{}<div><a href="{}" class="{}">The whole conversation</a></div>', told, whole, LINK)

    @admin.display(description="remembered of it")
    @display_once
    def remembered(self, row: Episode) -> SafeString | str:
        lineage = MemoryLineage.objects.filter(kind=MemoryLineage.Kind.EPISODE, row=row.pk)
        memories = Memory.objects.filter(pk__in=lineage.values("memory")).order_by("pk")
        return format_html_join("", "<div>{}</div>", ((link(one),) for one in memories)) or "nothing"

    @action(
        description="Take back", permissions=["take_back"],
        dialog=dialog("Take back", "It is set aside for 30 days with its answer and what was learned of it, then"
                      " deleted. What others have said, too, stays."),
    )  # fmt: skip
    def take_back(self, request: HttpRequest, form: ReasonForm, object_id: str) -> HttpResponse:
        row = Episode.objects.filter(pk=whole_number(object_id) or 0).first()
        if row is None:
            messages.warning(request, "Nothing was changed: the message is deleted, or set aside.")
        else:
            key = take_back(row, request.user.get_username(), form.cleaned_data["reason"])
            undo = reverse("admin:memory_forgetrequest_undo", args=[key])
            told = "It was taken back, and is set aside."
            messages.success(request, with_button(request, told, "Undo", undo, next=next_page(request)))
        return leave_dialog(request, "admin:memory_episode_changelist")
