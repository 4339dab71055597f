"""The resolution queue in the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from resolution.models import Conflict


@admin.register(Conflict)
class ConflictAdmin(ModelAdmin):
    list_display = (
        "concept",
        "dim",
        "existing_parent",
        "incoming_parent",
        "collision_type",
        "status",
        "agent",
        "created_at",
    )
    list_filter = ("status", "collision_type", "incoming_source")
    search_fields = (
        "concept__token",
        "dim__token",
        "existing_parent__token",
        "incoming_parent__token",
        "agent",
    )
    list_select_related = ("concept", "dim", "existing_parent", "incoming_parent")
    ordering = ("-priority", "created_at")
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
