"""Admin pages for what is not recalled until somebody vouches for it: candidates, and program prompts."""

from collections.abc import Iterable, Mapping, Sequence

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from memory.admin.base import (
    DayFilter,
    ListFilter,
    Page,
    ReadOnly,
    StateFilter,
    as_token,
    limit_selection,
    requires,
    speaker_filters,
    whose,
)
from memory.models import PromptOpening, Soas, find_called_like
from resolution.actors import Actor
from resolution.admin.concepts.marks import report_marked, set_mark
from resolution.admin.desk import DeskPage, bulk
from resolution.conflicts.verdict import VerdictMistake, read_reason
from resolution.errors import DecisionError, UnknownId
from resolution.intake.candidates import dismiss
from resolution.memories.templates import keep
from resolution.models import Candidate, Decision
from resolution.naming.names import promote
from resolution.pages.candidates import CandidatePage, load_candidate, read_candidates


class CandidateFilter(StateFilter):
    standard = "Waits"
    default = Candidate.State.OPEN
    options = [(value, str(label).capitalize()) for value, label in Candidate.State.choices if value != "open"]


class HolderFilter(ListFilter):
    title = "for whom"
    parameter_name = "for"
    standard = "All"
    options = [("speaker", "For its speaker"), ("nobody", "For nobody")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> QuerySet[Candidate]:
        if self.value() is None:
            return queryset
        return queryset.filter(for_speaker="") if self.value() == "nobody" else queryset.exclude(for_speaker="")


def by_voice(rows: QuerySet[Candidate], agent: str, person: str) -> QuerySet[Candidate]:
    """Narrow candidates to those that an agent has stated, or that hold for a person."""
    if person:
        return rows.filter(for_person=person, **({"for_speaker": agent} if agent else {}))
    return rows.filter(Q(for_speaker=agent) | Q(voices__contains=[[agent]]))


@admin.register(Candidate)
class CandidateAdmin(DeskPage):
    empty = "Candidates are statements of pages, tools and models, which wait until somebody vouches for them."
    list_filter = (CandidateFilter, HolderFilter, "channel", *speaker_filters(by_voice), ("last_said_at", DayFilter))
    search_fields = ("concept", "parent")
    ordering = ("-last_said_at", "-id")
    actions = ("dismiss", "accept", "mute")
    state_field = "state"
    noun = "candidate"
    quick_keys = (("1 2", "dismiss, accept: confirm with Enter"),)

    has_decide_permission = requires("resolution.change_candidate")
    has_mute_permission = requires("memory.change_soas")
    dismiss = bulk("dismiss", "Dismiss", "dismissed")
    accept = bulk("accept", "Accept", "accepted")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Candidate], search_term: str
    ) -> tuple[QuerySet[Candidate], bool]:
        if not (name := as_token(search_term)):
            return queryset, False
        return queryset.filter(find_called_like(name, "concept") | find_called_like(name, "parent")), False

    def read_rows(self, rows: Iterable[Candidate]) -> Sequence[CandidatePage]:
        return read_candidates(rows)

    def load_row(self, key: int, member: int | None) -> CandidatePage | None:
        return load_candidate(key)

    def carry_out(self, key: int, seen: str, kind: str, given: Mapping[str, str], actor: Actor) -> Decision:
        return decide(key, seen, kind, given, actor)

    def find_next(self, rows: QuerySet[Candidate], after: Candidate | None) -> Candidate | None:
        rows = rows.filter(state=Candidate.State.OPEN)
        if after is None:
            return rows.first()
        earlier = Q(last_said_at__lt=after.last_said_at) | Q(last_said_at=after.last_said_at, pk__lt=after.pk)
        return rows.filter(earlier).first() or rows.exclude(pk=after.pk).first()

    @admin.action(description="Mute the concept, and dismiss", permissions=["decide", "mute"])
    def mute(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> HttpResponse:
        keys, _ = limit_selection(queryset.filter(state=Candidate.State.OPEN))
        tokens = Candidate.objects.filter(pk__in=keys).values("concept")
        muted = set_mark(
            "muted", Soas.objects.filter(token__in=tokens).values_list("pk", flat=True), request.user, to=True
        )
        self.message_user(request, report_marked(request, "muted", muted, to=True, back=request.get_full_path()))
        return self.decide_selected(request, "dismiss", "dismissed")


def decide(key: int, seen: str, kind: str, given: Mapping[str, str], actor: Actor) -> Decision:
    """Accept or dismiss the candidate as it was ``seen``. Raises DecisionError."""
    if kind not in ("accept", "dismiss"):
        raise DecisionError("Choose one of the decisions.")
    row = Candidate.objects.filter(pk=key).first()
    if row is None:
        raise UnknownId(f"There is no candidate {key}.")
    [page] = read_candidates([row])
    if not page.is_open:
        by = f" by {row.resolved_by}" if row.resolved_by else ""
        raise DecisionError(f"Candidate {key} was already {row.state}{by}.")
    if page.seen != f"{key}:{seen}":
        raise DecisionError(f"Candidate {key} has changed meanwhile. Look at it again.")
    try:
        reason = read_reason(given.get("reason", ""))
    except VerdictMistake as mistake:
        raise DecisionError(f"{mistake}.".capitalize()) from mistake
    if kind == "dismiss":
        decision = dismiss(key, actor, reason)
    else:
        promotion = promote(key, actor, reason)
        decision = promotion.decision if promotion is not None else None
        if promotion is not None and decision is None:
            raise DecisionError(f"Candidate {key} cannot be a fact: {promotion.outcome.reason}")
    if decision is None:
        raise DecisionError(f"Candidate {key} no longer waits.")
    return decision


class OpeningFilter(StateFilter):
    standard = "A program's template"
    default = PromptOpening.State.TEMPLATE
    options = [("own", "Somebody's own words")]


@admin.register(PromptOpening)
class PromptOpeningAdmin(ReadOnly, Page):
    list_name = "program prompts"
    empty = "Texts with which a program begins its prompts. They are found when many conversations begin alike."
    list_display = ("opening", "whose", "conversations", "found_at")
    list_filter = (OpeningFilter,)
    sortable_by = ()
    ordering = ("-id",)
    fields = ("text", "whose", ("state", "found_at", "hidden_at"), "conversations")
    readonly_fields = ("whose", "conversations")
    whose = whose
    actions = ("keep_them",)
    has_keep_permission = requires("resolution.change_candidate")

    @admin.display(description="begins with")
    def opening(self, row: PromptOpening) -> str:
        return f"{row.text[:100]}…"

    @admin.display(description="conversations")
    def conversations(self, row: PromptOpening) -> int:
        return len(row.seen)

    @admin.action(description="No template: keep what it says", permissions=["keep"])
    def keep_them(self, request: HttpRequest, queryset: QuerySet[PromptOpening]) -> None:
        keys, more = limit_selection(queryset.filter(state=PromptOpening.State.TEMPLATE))
        told = f"{keep(keys):,} kept{more}: a worker puts back what they said within seconds."
        self.message_user(request, told, messages.SUCCESS)
