"""The dimensions in the admin: their questions, and what they do on a collision."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from memory.admin.pages import Page
from memory.models import Dimension


@admin.register(Dimension)
class DimensionAdmin(Page):
    list_display = ("soas", "question", "is_isa", "on_collision", "split_from")
    list_filter = ("on_collision",)
    search_fields = ("soas__token", "question")
    list_select_related = ("soas", "split_from__soas")
    fields = ("soas", "question", "is_isa", "on_collision", "split_from")
    readonly_fields = ("soas", "is_isa", "split_from")
    ordering = ("soas__token",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
