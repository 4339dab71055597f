"""What was recalled, and what was done about loops, in the admin."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.safestring import SafeString

from memory.admin.pages import Page, ReadOnly, preformatted
from proxy.models import LoopEvent, RecollectionEvent


@admin.register(RecollectionEvent)
class RecollectionEventAdmin(ReadOnly, Page):
    list_display = ("at", "request", "agent", "model", "wire", "block_characters", "unread_characters")
    search_fields = ("request__startswith",)
    search_help_text = "As in the header X-Festinger-Request."
    ordering = ("-at",)
    fields = (
        "request",
        "at",
        "agent",
        "model",
        "wire",
        "block_as_shown",
        "reasons_by_concept",
        "reasons_left_out",
        "unread_characters",
        "enrich_ms",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[RecollectionEvent]:
        return super().get_queryset(request).annotate(block_length=Length("block"))

    @admin.display(description="characters of the block", ordering="block_length")
    def block_characters(self, event: Any) -> int:
        return event.block_length

    @admin.display(description="block")
    def block_as_shown(self, event: RecollectionEvent) -> SafeString | str:
        return preformatted(event.block) if event.block else "nothing"

    @admin.display(description="reasons")
    def reasons_by_concept(self, event: RecollectionEvent) -> SafeString | str:
        return preformatted(json.dumps(event.reasons, indent=2, ensure_ascii=False, sort_keys=True))


@admin.register(LoopEvent)
class LoopEventAdmin(ReadOnly, Page):
    list_display = ("at", "request", "agent", "model", "wire", "kind", "count", "steps_taken")
    list_filter = ("kind",)
    search_fields = ("request__startswith",)
    search_help_text = "As in the header X-Festinger-Request."
    ordering = ("-at",)
    fields = (
        "request",
        "at",
        "agent",
        "model",
        "wire",
        "kind",
        "count",
        "period",
        "steps_taken",
        "repeated_in_lines",
    )

    @admin.display(description="steps")
    def steps_taken(self, event: LoopEvent) -> str:
        return ", ".join(event.steps)

    @admin.display(description="repeated")
    def repeated_in_lines(self, event: LoopEvent) -> SafeString:
        return preformatted("\n".join(event.repeated))
