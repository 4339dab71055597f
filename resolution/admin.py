"""What is disputed, and what was decided about it, in the admin."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Case, Model, QuerySet, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin

from memory import llm
from memory.admin import EdgeAdmin, ReadOnly
from memory.models import Edge
from resolution import resolver, retiring
from resolution.models import Conflict, DecidedTriple, Decision, Run
from resolution.queue import OPEN
from resolution.resolver import AlreadyRunning

DECISIONS_SHOWN = 100
# What names a decision.
CONFLICTS = ("conflict__concept", "conflict__dim", "conflict__existing_parent", "conflict__incoming_parent")


admin.site.unregister(Edge)


@admin.register(Edge)
class RetirableEdgeAdmin(EdgeAdmin):
    actions = ("retire",)

    def has_retire_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("memory.delete_edge")

    @admin.action(description="Retire: no longer recalled, kept in the history", permissions=["retire"])
    def retire(self, request: HttpRequest, queryset: QuerySet[Edge]) -> None:
        chosen = list(queryset)
        facts = [edge for edge in chosen if not edge.is_root]
        retired = retiring.retire(facts, actor=request.user.get_username(), reason="retired in the admin")
        roots = f" {len(chosen) - len(facts)} skipped: a dimension's root stays." if len(facts) < len(chosen) else ""
        self.message_user(request, f"{retired} retired.{roots}")


@admin.register(Conflict)
class ConflictAdmin(ReadOnly, ModelAdmin):
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
    show_full_result_count = False
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
            text = format_html("The resolver is running already: {}.", _link(error.run))
            self.message_user(request, text, messages.WARNING)
        else:
            no_model = _no_model()
            become = f"which will be skipped. {no_model}" if no_model else "which a worker begins in a moment."
            text = format_html("Asked for {}, {}", _link(run), become)
            self.message_user(request, text, messages.WARNING if no_model else messages.SUCCESS)
        return redirect("admin:resolution_conflict_changelist")

    @admin.display(description="decisions")
    def decisions_so_far(self, conflict: Conflict) -> SafeString | str:
        return _links(conflict.decisions.all())

    @admin.display(description="run")
    def run_link(self, conflict: Conflict) -> SafeString | str:
        return _link(conflict.run) if conflict.run is not None else "-"


@admin.register(Decision)
class DecisionAdmin(ReadOnly, ModelAdmin):
    list_display = ("at", "kind", "conflict", "actor", "source", "is_undone", "reason")
    list_filter = ("kind", "source")
    search_fields = ("conflict__concept__token", "actor", "reason")
    ordering = ("-id",)
    show_full_result_count = False
    fieldsets = (
        (None, {"fields": ("kind", "conflict_link", "run_link", ("actor", "source"), "at", "reason", "arguments")}),
        ("Undoing", {"fields": ("undoes_link", "undone_by_link")}),
        ("What it changed", {"fields": ("before", "after")}),
    )
    readonly_fields = ("conflict_link", "run_link", "undoes_link", "undone_by_link")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Decision]:
        return super().get_queryset(request).select_related(*CONFLICTS, "run", "undoes", "undone_by")

    @admin.display(description="undone", boolean=True)
    def is_undone(self, decision: Decision) -> bool:
        return _undone_by(decision) is not None

    @admin.display(description="conflict")
    def conflict_link(self, decision: Decision) -> SafeString:
        return _link(decision.conflict)

    @admin.display(description="run")
    def run_link(self, decision: Decision) -> SafeString | str:
        return _link(decision.run) if decision.run is not None else "-"

    @admin.display(description="undoes")
    def undoes_link(self, decision: Decision) -> SafeString | str:
        return _link(decision.undoes) if decision.undoes is not None else "-"

    @admin.display(description="undone by")
    def undone_by_link(self, decision: Decision) -> SafeString | str:
        undone_by = _undone_by(decision)
        return _link(undone_by) if undone_by is not None else "-"


@admin.register(Run)
class RunAdmin(ReadOnly, ModelAdmin):
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
    show_full_result_count = False
    fieldsets = (
        (None, {"fields": ("status", "note", ("trigger", "actor"), ("mode", "model_name"), "limit")}),
        ("Result", {"fields": (("conflicts_seen", "conflicts_total"), "counts", "decided")}),
        ("Cost", {"fields": (("input_tokens", "output_tokens"), "cost")}),
        ("Times", {"fields": (("started_at", "ended_at"), "alive_at")}),
    )
    readonly_fields = ("decided",)

    @admin.display(description="decisions")
    def decided(self, run: Run) -> SafeString | str:
        return _links(run.decisions.all())


@admin.register(DecidedTriple)
class DecidedTripleAdmin(ReadOnly, ModelAdmin):
    list_display = ("concept", "dim", "parent", "kind", "moved_to", "agents", "decided_at")
    list_filter = ("kind",)
    search_fields = ("concept__token", "dim__token", "parent__token")
    list_select_related = ("concept", "dim", "parent", "moved_to")
    fields = ("concept", "dim", "parent", "kind", "moved_to", "agents", "decision_link", "decided_at")
    readonly_fields = ("decision_link",)
    ordering = ("-id",)
    show_full_result_count = False

    @admin.display(description="decision")
    def decision_link(self, triple: DecidedTriple) -> SafeString | str:
        return _link(triple.decision) if triple.decision is not None else "-"


def _no_model() -> str:
    """What it means that no model is chosen; empty where one is."""
    try:
        llm.chosen("resolve_model_id")
    except llm.NoModel as error:
        return f"No language model decides conflicts; they wait for an operator. {error}"
    return ""


def _undone_by(decision: Decision) -> Decision | None:
    return getattr(decision, "undone_by", None)


def _link(row: Model) -> SafeString:
    address = reverse(f"admin:resolution_{row._meta.model_name}_change", args=[row.pk])
    text = f"{row._meta.verbose_name} {row.pk}" if isinstance(row, Run) else str(row)
    return format_html('<a href="{}" class="text-primary-600 dark:text-primary-500">{}</a>', address, text)


def _links(decisions: QuerySet[Decision]) -> SafeString | str:
    """The first ones, a line each."""
    in_order = decisions.select_related(*CONFLICTS, "undone_by").defer("before", "after").order_by("id")
    found = list(in_order[: DECISIONS_SHOWN + 1])
    lines = [format_html("{} by {}{}", _link(one), one.actor, _note(one)) for one in found[:DECISIONS_SHOWN]]
    if len(found) > DECISIONS_SHOWN:
        lines.append(SafeString("and more"))
    return format_html_join(SafeString("<br>"), "{}", ((line,) for line in lines)) if lines else "none"


def _note(decision: Decision) -> str:
    return ", undone" if _undone_by(decision) is not None else ""
