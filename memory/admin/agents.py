"""Who speaks, and which processes live, in the admin."""

from django.contrib import admin
from django.http import HttpRequest

from memory.admin.pages import Page, ReadOnly
from memory.models import Agent, Heartbeat


@admin.register(Agent)
class AgentAdmin(Page):
    list_display = ("name", "scope", "created_at")
    list_filter = ("scope",)
    search_fields = ("name",)
    fields = ("name", "scope", "created_at")
    readonly_fields = ("name", "created_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # manage.py create_agent shows the token


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnly, Page):
    list_display = ("name", "at")
