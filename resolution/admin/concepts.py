"""The concepts in the admin: what is known of them, and the flags that operators set."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline

from memory.admin.pages import Page, ReadOnly
from memory.models import Edge, Soas


class EdgesOut(ReadOnly, TabularInline):
    model = Edge
    fk_name = "concept"
    fields = ("dim", "parent", "is_isa", "confidence", "source", "last_confirmed")
    verbose_name_plural = "facts about it"
    max_num = 50
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Edge]:
        return super().get_queryset(request).select_related("concept", "parent", "dim")


@admin.register(Soas)
class SoasAdmin(Page):
    list_display = ("token", "encounter_count", "saliency", "novelty", "is_common", "is_muted", "last_seen")
    list_filter = ("is_common", "is_muted")
    search_fields = ("token",)
    ordering = ("-encounter_count", "token")
    fields = (
        "token",
        "is_common",
        "is_muted",
        ("encounter_count", "saliency", "novelty"),
        ("last_seen", "asked_count", "asked_at"),
    )
    readonly_fields = (
        "token",
        "encounter_count",
        "saliency",
        "novelty",
        "last_seen",
        "asked_count",
        "asked_at",
    )
    inlines = (EdgesOut,)
    actions = ("mute", "unmute")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description="Mute: never recall, never ask", permissions=["change"])
    def mute(self, request: HttpRequest, queryset: QuerySet[Soas]) -> None:
        count = queryset.filter(is_muted=False).update(is_muted=True)
        self.message_user(request, f"{count} muted.")

    @admin.action(description="Unmute", permissions=["change"])
    def unmute(self, request: HttpRequest, queryset: QuerySet[Soas]) -> None:
        count = queryset.filter(is_muted=True).update(is_muted=False)
        self.message_user(request, f"{count} unmuted.")
