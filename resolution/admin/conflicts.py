"""What is disputed, in the admin."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Case, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from memory import llm
from memory.admin.pages import Page, ReadOnly, link
from resolution import resolver
from resolution.admin.decisions import links
from resolution.models import Conflict, Run
from resolution.queue import OPEN
from resolution.resolver import AlreadyRunning


@admin.register(Conflict)
class ConflictAdmin(ReadOnly, Page):
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
    ordering = (Case(When(status__in=OPEN, then=0), default=1), "-priority", "created_at")
    list_before_template = "resolution/above_conflicts.html"
    fieldsets = (
        (None, {"fields": (("concept", "dim"), ("existing_parent", "blocking_concept"), "collision_type", "status")}),
        (
            "The newcomer",
            {
                "fields": (
                    ("incoming_parent", "incoming_is_isa"),
                    ("incoming_source", "incoming_confidence"),
                    ("agent", "role"),
                    "said_at",
                    "evidence",
                )
            },
        ),
        (
            "What became of it",
            {
                "fields": (
                    "priority",
                    ("created_at", "resolved_at"),
                    "proposal",
                    "decisions_so_far",
                    "run_link",
                    ("attempts", "next_attempt_at"),
                    "last_error",
                )
            },
        ),
    )
    readonly_fields = ("decisions_so_far", "run_link")

    def get_urls(self) -> list[URLPattern]:
        run = self.admin_site.admin_view(self.run_now)
        return [path("run/", run, name="resolution_conflict_run"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        above = {
            "no_model": _no_model(),
            "may_run": self.has_run_permission(request),
            "last_run": Run.objects.order_by("-started_at", "-id").first(),
        }
        return super().changelist_view(request, above | (extra_context or {}))

    def has_run_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("resolution.change_conflict")

    @method_decorator(require_POST)
    def run_now(self, request: HttpRequest) -> HttpResponse:
        if not self.has_run_permission(request):
            raise PermissionDenied
        try:
            run = resolver.request_run(Run.Trigger.ADMIN, request.user.get_username())
        except AlreadyRunning as error:
            text = format_html("The resolver is running already: {}.", link(error.run, f"run {error.run.pk}"))
            self.message_user(request, text, messages.WARNING)
        else:
            no_model = _no_model()
            become = f"which will be skipped. {no_model}" if no_model else "which a worker begins in a moment."
            text = format_html("Asked for {}, {}", link(run, f"run {run.pk}"), become)
            self.message_user(request, text, messages.WARNING if no_model else messages.SUCCESS)
        return redirect("admin:resolution_conflict_changelist")

    @admin.display(description="decisions")
    def decisions_so_far(self, conflict: Conflict) -> SafeString | str:
        return links(conflict.decisions.all())

    @admin.display(description="run")
    def run_link(self, conflict: Conflict) -> SafeString | str:
        return link(conflict.run, f"run {conflict.run.pk}") if conflict.run is not None else "-"


def _no_model() -> str:
    """What it means that no model is chosen; empty where one is."""
    try:
        llm.chosen("resolve_model_id")
    except llm.NoModel as error:
        return f"No language model decides conflicts; they wait for an operator. {error}"
    return ""
