"""Admin pages for episodes."""

from functools import partial
from typing import Any

from django.contrib import admin
from django.contrib.postgres.search import SearchQuery
from django.db.models import F, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from memory.admin.base import DayFilter, Page, ReadOnly, SpeakerFilter, column, link
from memory.english.phrases import shorten
from memory.models import Episode, Memory, MemoryLineage
from memory.models.semantic import INDEXED_LEXEMES
from resolution.admin.memories.forgetting import Forgets, make_forgetting
from resolution.pages.words import format_date

NEIGHBOURS = 3  # messages of the conversation shown before and after


class TextSearch:
    """A full-text search for pages, which finds texts that contain all words, in any form. ``lexemes``: as the index
    has them."""

    lexemes: Combinable = F("lexemes")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]  # ModelAdmin's
        return rows.defer("lexemes")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        words = SearchQuery(search_term, config="english", search_type="websearch")
        return queryset.alias(words=self.lexemes).filter(words=words) if search_term.strip() else queryset, False


@admin.register(Episode)
class EpisodeAdmin(Forgets, TextSearch, ReadOnly, Page):
    empty = "Messages of users and models that pass through Festinger, kept for 90 days."
    lexemes = INDEXED_LEXEMES
    list_display = ("when_said", "beginning", "role", "agent", "person", "project")
    list_display_links = ("beginning",)
    list_filter = (SpeakerFilter, ("said_at", DayFilter), "role", ("project", AutocompleteSelectFilter))
    list_filter_submit = True
    list_select_related = ("project",)
    search_fields = ("text",)
    search_help_text = "Words that were said, in any form."
    sortable_by = ()
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("text", "role", "when_said", ("agent", "person"), "project")}),
        ("Around it", {"fields": ("conversation_around", "remembered")}),
        ("Queue", {"fields": ("read_at",)}),
    )
    readonly_fields = ("when_said", "conversation_around", "remembered")
    actions = ("forget_them",)
    actions_detail = ("forget",)

    when_said = column("said_at", format_date, "said at")
    forget_them = make_forgetting("Delete permanently, with memories derived from nothing else …")

    beginning = column("text", partial(shorten, most=160))

    @admin.display(description="conversation")
    def conversation_around(self, row: Episode) -> SafeString | str:
        same = Episode.objects.defer("lexemes").filter(
            conversation=bytes(row.conversation), agent=row.agent, person=row.person
        )
        before = reversed(same.filter(pk__lt=row.pk).order_by("-pk")[:NEIGHBOURS])
        around = [*before, *same.filter(pk__gt=row.pk).order_by("pk")[:NEIGHBOURS]]
        lines = ((one.role, link(one, self.beginning(one))) for one in around)
        return format_html_join("", "<div>{}: {}</div>", lines) or "nothing else of it is kept"

    @admin.display(description="remembered of it")
    def remembered(self, row: Episode) -> SafeString | str:
        lineage = MemoryLineage.objects.filter(kind=MemoryLineage.Kind.EPISODE, row=row.pk)
        memories = Memory.objects.filter(pk__in=lineage.values("memory")).order_by("pk")
        return format_html_join("", "<div>{}</div>", ((link(one),) for one in memories)) or "nothing"
