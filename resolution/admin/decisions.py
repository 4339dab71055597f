"""What was decided about conflicts, in the admin."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory.admin.pages import Page, ReadOnly, link
from resolution.models import DecidedTriple, Decision

DECISIONS_SHOWN = 100
# What names a decision.
CONFLICTS = ("conflict__concept", "conflict__dim", "conflict__existing_parent", "conflict__incoming_parent")


@admin.register(Decision)
class DecisionAdmin(ReadOnly, Page):
    list_display = ("at", "kind", "conflict", "actor", "source", "is_undone", "reason")
    list_filter = ("kind", "source")
    search_fields = ("conflict__concept__token", "actor", "reason")
    ordering = ("-id",)
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
        return link(decision.conflict)

    @admin.display(description="run")
    def run_link(self, decision: Decision) -> SafeString | str:
        return link(decision.run, f"run {decision.run.pk}") if decision.run is not None else "-"

    @admin.display(description="undoes")
    def undoes_link(self, decision: Decision) -> SafeString | str:
        return link(decision.undoes) if decision.undoes is not None else "-"

    @admin.display(description="undone by")
    def undone_by_link(self, decision: Decision) -> SafeString | str:
        undone_by = _undone_by(decision)
        return link(undone_by) if undone_by is not None else "-"


@admin.register(DecidedTriple)
class DecidedTripleAdmin(ReadOnly, Page):
    list_display = ("concept", "dim", "parent", "kind", "moved_to", "agents", "decided_at")
    list_filter = ("kind",)
    search_fields = ("concept__token", "dim__token", "parent__token")
    list_select_related = ("concept", "dim", "parent", "moved_to")
    fields = ("concept", "dim", "parent", "kind", "moved_to", "agents", "decision_link", "decided_at")
    readonly_fields = ("decision_link",)
    ordering = ("-id",)

    @admin.display(description="decision")
    def decision_link(self, triple: DecidedTriple) -> SafeString | str:
        return link(triple.decision) if triple.decision is not None else "-"


def links(decisions: QuerySet[Decision]) -> SafeString | str:
    """The first ones, a line each."""
    in_order = decisions.select_related(*CONFLICTS, "undone_by").defer("before", "after").order_by("id")
    found = list(in_order[: DECISIONS_SHOWN + 1])
    lines = [format_html("{} by {}{}", link(one), one.actor, _note(one)) for one in found[:DECISIONS_SHOWN]]
    if len(found) > DECISIONS_SHOWN:
        lines.append(SafeString("and more"))
    return format_html_join(SafeString("<br>"), "{}", ((line,) for line in lines)) if lines else "none"


def _undone_by(decision: Decision) -> Decision | None:
    return getattr(decision, "undone_by", None)


def _note(decision: Decision) -> str:
    return ", undone" if _undone_by(decision) is not None else ""
