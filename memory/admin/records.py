"""The admin of sentences that were heard, and of the processes that are alive."""

from django.contrib import admin
from django.utils import timezone
from django.utils.timesince import timesince

from memory.admin.base import Page, ReadOnly, WordSearch, column, link, speaker_filters, whose
from memory.models import Evidence, Heartbeat


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnly, Page):
    list_display = ("name", "host", "pid", "at", "ago")
    ordering = ("name", "-at")
    fields = ("name", "host", "pid", "at", "ago")
    readonly_fields = ("ago",)

    @admin.display(description="how long ago")
    def ago(self, heartbeat: Heartbeat) -> str:
        seconds = (timezone.now() - heartbeat.at).total_seconds()
        return f"{max(0, round(seconds))} s" if seconds < 120 else timesince(heartbeat.at)


@admin.register(Evidence)
class EvidenceAdmin(WordSearch, ReadOnly, Page):
    list_display = ("sentence", "concept_link", "role", "whose", "said_at")
    list_display_links = ("sentence",)
    list_select_related = ("concept",)
    list_filter = speaker_filters()
    list_filter_submit = True
    fields = ("concept_link", "sentence", "role", "whose", "said_at")
    readonly_fields = ("concept_link", "whose")
    sortable_by = ()
    ordering = ("-id",)  # of half a million rows in the order of their times, a page would sort all

    whose = whose
    concept_link = column("concept", link)
