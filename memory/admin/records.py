"""What was heard, in the admin."""

from django.contrib import admin

from memory.admin.pages import Page, ReadOnly
from memory.models import Evidence


@admin.register(Evidence)
class EvidenceAdmin(ReadOnly, Page):
    list_display = ("concept", "sentence", "role", "agent", "said_at")
    search_fields = ("concept__token",)
    list_select_related = ("concept",)
    ordering = ("-id",)  # of half a million rows in the order of their times, a page would sort all
