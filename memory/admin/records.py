"""What was heard, in the admin."""

from django.contrib import admin
from django.utils.safestring import SafeString

from memory.admin.base import Page, ReadOnly, WordSearch, link
from memory.models import Evidence


@admin.register(Evidence)
class EvidenceAdmin(WordSearch, ReadOnly, Page):
    list_display = ("sentence", "concept_link", "role", "agent", "said_at")
    list_display_links = ("sentence",)
    list_select_related = ("concept",)
    fields = ("concept_link", "sentence", "role", "agent", "said_at")
    readonly_fields = ("concept_link",)
    sortable_by = ()
    ordering = ("-id",)  # of half a million rows in the order of their times, a page would sort all

    @admin.display(description="concept")
    def concept_link(self, evidence: Evidence) -> SafeString:
        return link(evidence.concept)
