"""The settings that operators change while Festinger runs, in the admin."""

from typing import Any

from django.contrib import admin
from django.db.models import TextField
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextInputWidget

from memory import config
from memory.admin.pages import Page
from memory.models import Config


@admin.register(Config)
class ConfigAdmin(Page):
    list_display = ("key", "value", "standard", "what", "updated_at")
    search_fields = ("key", "value")
    ordering = ("key",)
    fields = ("key", "what", "standard", "value")
    formfield_overrides = {TextField: {"widget": UnfoldAdminTextInputWidget}}
    readonly_fields = ("key", "what", "standard")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="default")
    def standard(self, row: Config) -> str:
        return config.defaults().get(row.key, "")

    @admin.display(description="what it does")
    def what(self, row: Config) -> str:
        entry = config.REGISTRY.get(row.key)
        return str(entry.metadata["help"]) if entry else "not a setting of this version"
