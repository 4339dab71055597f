"""The resolver's runs in the admin."""

from django.contrib import admin
from django.utils.safestring import SafeString

from memory.admin.pages import Page, ReadOnly
from resolution.admin.decisions import links
from resolution.models import Run


@admin.register(Run)
class RunAdmin(ReadOnly, Page):
    list_display = (
        "started_at",
        "status",
        "trigger",
        "actor",
        "mode",
        "model_name",
        "conflicts_seen",
        "counts",
        "cost",
    )
    list_filter = ("status", "trigger")
    search_fields = ("actor", "model_name", "note")
    ordering = ("-started_at",)
    fieldsets = (
        (None, {"fields": ("status", "note", ("trigger", "actor"), ("mode", "model_name"), "limit")}),
        ("Result", {"fields": (("conflicts_seen", "conflicts_total"), "counts", "decided")}),
        ("Cost", {"fields": (("input_tokens", "output_tokens"), "cost")}),
        ("Times", {"fields": (("started_at", "ended_at"), "alive_at")}),
    )
    readonly_fields = ("decided",)

    @admin.display(description="decisions")
    def decided(self, run: Run) -> SafeString | str:
        return links(run.decisions.all())
