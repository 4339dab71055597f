"""Admin pages for decisions, and their undo."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import BigIntegerField, OuterRef, Prefetch, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action

from memory.admin.base import (
    LINK,
    DayFilter,
    ListFilter,
    Page,
    ReadOnly,
    WordSearch,
    as_token,
    link,
    requires,
    word_ids,
)
from memory.admin.dialogs import ReasonForm, dialog, leave_dialog
from memory.english.phrases import shorten
from memory.models import Memory, Source
from memory.templatetags.dialogs import dialog_link
from memory.types import whole_number
from resolution.admin.pages import actor_of, link_to, link_to_claim
from resolution.conflicts import undo
from resolution.errors import DecisionError, UnknownId
from resolution.models import Candidate, Conflict, DecidedTriple, Decision
from resolution.pages import decision_diff
from resolution.pages.queries import find_supersessions, touching
from resolution.pages.words import describe_decision

LIST = "admin:resolution_decision_changelist"
ABOUT_MAX = 120  # characters of a memory in the list
MAY_UNDO = "resolution.change_conflict"
# The members of a conflict, by what became of them.
OUTCOMES = {"superseded": "superseded", "dismissed": "rejected", "others": "left as it was"}


class EffectFilter(ListFilter):
    """A filter for decisions that superseded something."""

    title = "effect"
    parameter_name = "effect"
    options = [("superseded", "Superseded something because of a conflict")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Decision]) -> QuerySet[Decision]:
        return queryset.filter(pk__in=find_supersessions().values("pk")) if self.value() else queryset


@admin.register(Decision)
class DecisionAdmin(ReadOnly, Page):
    empty = "What operators and the resolver decide about conflicts and candidates, each with Undo."
    list_display = ("at", "what", "about", "reason", "by", "state")
    list_filter = (EffectFilter, ("at", DayFilter), "kind", "source")
    list_filter_submit = True
    search_fields = ("actor",)
    search_help_text = "Search by concept, text or actor"
    sortable_by = ()
    ordering = ("-id",)
    fields = ("what", "about", "members", "by", "at", "run_link", "undoes_link", "undone", "reason", "diff")
    readonly_fields = ("what", "about", "members", "by", "run_link", "undoes_link", "undone", "diff")
    actions_detail = ("undo",)
    has_undo_permission = requires(MAY_UNDO)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Decision]:
        # What a nightly consolidation changed is on the page of its run.
        rows = super().get_queryset(request).exclude(kind=Decision.Kind.CONSOLIDATE, run__isnull=False)
        rows = rows.exclude(undoes__kind=Decision.Kind.CONSOLIDATE, undoes__run__isnull=False)
        memory = Coalesce(*(KeyTextTransform("memory", of) for of in ("arguments", "undoes__arguments")))
        rows = rows.annotate(memory=Cast(memory, BigIntegerField()))
        rows = rows.annotate(memory_text=Memory.objects.filter(pk=OuterRef("memory")).values("text")[:1])
        return rows.select_related(*Decision.NAMES, "conflict", "run", "undoes", "undone_by")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Decision], search_term: str
    ) -> tuple[QuerySet[Decision], bool]:
        if not (words := search_term.strip()):
            return queryset, False
        # Two queries, because no index covers both. Each alone is answered without reading all decisions.
        of_words = Q(claim__concept_id__in=word_ids(as_token(words)))
        of_words |= Q(
            candidate__in=list(Candidate.objects.filter(concept=as_token(words)).values_list("pk", flat=True))
        )
        about = queryset.filter(of_words | Q(conflict__in=Conflict.objects.filter(touching(words.lower()))))
        return (about if about.exists() else queryset.filter(actor__istartswith=words)), False

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return (*self.list_display, "undo_link") if self.has_undo_permission(request) else self.list_display

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        decision: Any = super().get_object(request, object_id, from_field)
        if decision is not None:  # read once: Unfold asks several times for the value of a field
            decision.lines = decision_diff.changes(decision)
        return decision

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        rows = Decision.objects.filter(pk=whole_number(str(object_id)) or 0, undone_by=None)
        is_in_force = rows.exclude(kind=Decision.Kind.UNDO).exists()
        return super().get_actions_detail(request, object_id) if is_in_force else []

    run_link = link_to("run")
    undoes_link = link_to("undoes", "undoes", "the decision")

    @admin.display(description="what")
    def what(self, row: Decision) -> str:
        return describe_decision(row)

    describe = what

    @admin.display(description="by")
    def by(self, decision: Decision) -> str:
        return f"{decision.actor} ({Source(decision.source).label})"

    @admin.display(description="about")
    def about(self, decision: Any) -> SafeString | str:
        if (about := decision.conflict or decision.candidate) is not None:
            return link(about)
        if decision.memory_text is not None:
            return link(Memory(pk=decision.memory), shorten(decision.memory_text, ABOUT_MAX))
        return link_to_claim(decision.claim) if decision.claim is not None else "-"

    @admin.display(description="members")
    def members(self, decision: Decision) -> SafeString | str:
        winner = decision.arguments.get("winner")
        named = [("accepted", winner)] if winner else []
        named += [(word, one) for part, word in OUTCOMES.items() for one in decision.arguments.get(part, ())]
        shown = ((word, one["text"], one["kind"], one["id"]) for word, one in named)
        return format_html_join("", "<div>{}: {} ({} {})</div>", shown) or "-"

    @admin.display(description="state")
    def state(self, decision: Decision) -> str:
        if decision.kind == Decision.Kind.UNDO:
            return ""
        return "undone" if hasattr(decision, "undone_by") else "in force"

    @admin.display(description="undone")
    def undone(self, decision: Decision) -> SafeString | str:
        undone_by = getattr(decision, "undone_by", None)
        return link(undone_by, f"by {undone_by.actor}") if undone_by is not None else "no"

    @admin.display(description="what it changed")
    def diff(self, decision: Any) -> SafeString | str:
        lines = (
            (link(Conflict(pk=one.conflict), one.what) if one.conflict else one.what, one.before, one.after)
            for one in decision.lines
        )
        return format_html_join("", "<div><b>{}:</b> {} → {}</div>", lines) or "nothing"

    @admin.display(description="undo")
    def undo_link(self, decision: Decision) -> SafeString | str:
        if self.state(decision) != "in force":
            return ""
        address = reverse("admin:resolution_decision_undo", args=[decision.pk])
        return dialog_link("Undo…", f"{address}?{urlencode({'next': reverse(LIST)})}", css=LINK)

    @action(
        description="Undo", permissions=["undo"],
        dialog=dialog("Undo", "What it changed becomes what it was before, if nothing else has changed it since."),
    )  # fmt: skip
    def undo(self, request: HttpRequest, form: ReasonForm, object_id: str) -> HttpResponse:
        """Undo a decision and redirect to the reopened conflict or, if it is refused, to the page it was requested
        from."""
        decision_id = whole_number(object_id) or 0
        try:
            done = undo.undo(decision_id, actor_of(request), form.cleaned_data["reason"])
        except UnknownId as error:
            messages.error(request, str(error))
            return leave_dialog(request, LIST)
        except DecisionError as error:
            messages.error(request, f"Nothing was undone. {error}")
            return leave_dialog(request, _page_of(decision_id, request))
        forgotten = f" Forgotten meanwhile: {', '.join(gone)}." if (gone := done.arguments.get("forgotten")) else ""
        messages.success(request, f"Undone: the graph is as it was before that decision.{forgotten}")
        return leave_dialog(request, _page_of(done.pk, request))


@admin.register(DecidedTriple)
class DecidedTripleAdmin(WordSearch, ReadOnly, Page):
    list_name = "resolved statements"
    empty = "Statements that a decision has settled. Repeated by the same source, they change nothing."
    list_display = ("concept", "dim", "parent", "kind", "moved_to", "agents", "decided_at")
    list_filter = ("kind",)
    search_fields = ("concept", "parent")
    sortable_by = ()
    fields = ("concept", "dim", "parent", "kind", "moved_to", "agents", "decision_link", "decided_at")
    readonly_fields = ("decision_link",)
    ordering = ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[DecidedTriple]:
        rows = super().get_queryset(request).select_related("concept", "dim", "parent", "moved_to")
        return rows.prefetch_related(Prefetch("decision", Decision.objects.select_related(*Decision.NAMES)))

    decision_link = link_to("decision")


def _page_of(decision_id: int, request: HttpRequest) -> str:
    """Return the page of what the decision is about, with the filters of the desk."""
    decision = Decision.objects.select_related("conflict", "claim", "candidate").get(pk=decision_id)
    if (about := decision.conflict or decision.claim or decision.candidate) is None:
        return reverse("admin:resolution_decision_change", args=[decision.pk])
    address, filters = about.get_absolute_url(), request.GET.urlencode()
    return f"{address}{'&' if '?' in address else '?'}{filters}" if filters else address
