"""Conflicts on the desk, and the decisions that operators make about them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import (
    AutocompleteSelectFilter,
    ChoicesDropdownFilter,
    DropdownFilter,
    FieldTextFilter,
    TextFilter,
)

from memory import llm
from memory.admin.base import DayFilter, as_token, requires, word_ids
from memory.models import Soas
from memory.types import whole_number
from resolution.actors import Actor
from resolution.admin.desk import DeskPage, bulk
from resolution.admin.runs import describe_last_runs, starting
from resolution.conflicts.decide import MOVES, decide, find_claim
from resolution.conflicts.verdict import VerdictMistake, read_reason, read_verdict
from resolution.errors import DecisionError, UnknownId
from resolution.models import Conflict, Decision, Run
from resolution.nightly import resolver
from resolution.pages import queries
from resolution.pages.conflicts import ConflictPage, load_page, read_conflicts

LIST = "admin:resolution_conflict_changelist"
ACTIONS = ("no_action", "dismiss", "yes", "no")
# The names of the fields on the page.
FIELDS = {"existing_dimension": "dimension of the current fact", "new_dimension": "dimension of the new fact"}


class StatusFilter(DropdownFilter):
    """A filter that shows open conflicts unless another status is selected."""

    title = "status"
    parameter_name = "status"
    all_option = ("", "open")

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        proposed = ("proposed", "open, with a proposal")
        return [proposed, ("resolved", "resolved"), ("dismissed", "dismissed"), ("all", "all")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> QuerySet[Conflict]:
        known = [value for value, _ in self.lookup_choices]
        return queries.with_status(queryset, str(self.value()) if self.value() in known else "open")


class ProjectFilter(TextFilter):
    """A filter by the project that a conflict, or what was said in it, belongs to."""

    title = "project"
    parameter_name = "project"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> QuerySet[Conflict]:
        slug = (self.value() or "").replace("\x00", "").strip()
        return queryset.filter(queries.of_project(slug)) if slug else queryset


class SpeakerFilter(DropdownFilter):
    """A filter for conflicts in which one speaker has said different things, who may have changed their mind."""

    title = "speakers"
    parameter_name = "speaker"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("one", "one (changed their mind?)"), ("several", "several")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> QuerySet[Conflict]:
        return queryset.filter(is_of_one_speaker=self.value() == "one") if self.value() else queryset


class OpenedFilter(DayFilter):
    """A filter by the days on which conflicts were opened."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "day of opening"


@admin.register(Conflict)
class ConflictAdmin(DeskPage):
    empty = "A conflict opens when two statements contradict each other and neither is clearly the better one."
    change_list_template = "resolution/conflict_list.html"
    list_filter = (
        StatusFilter,
        ("slot_kind", ChoicesDropdownFilter),
        ProjectFilter,
        ("claims__collision_type", ChoicesDropdownFilter),
        ("dim", AutocompleteSelectFilter),
        ("claims__incoming_source", ChoicesDropdownFilter),
        ("claims__agent", FieldTextFilter),
        SpeakerFilter,
        ("detected_at", OpenedFilter),
    )
    search_fields = ("concept__token",)
    search_help_text = "Search by concept, text or #number"
    actions = ("dismiss", "use_newest", "approve")
    own_views = {**DeskPage.own_views, "run/": starting(Run.Trigger.ADMIN, "resolve_model_id")}
    state_field = "status"
    noun = "conflict"
    quick_keys = (
        ("1 2", "keep existing, use new: confirm with Enter"),
        ("1–9", "other choices: open the conflict with that choice"),
        ("d", "dismiss: confirm with Enter"),
        ("p", "approve the proposal: confirm with Enter"),
    )

    has_decide_permission = requires("resolution.change_conflict")
    dismiss = bulk("dismiss", "Dismiss", "dismissed")
    use_newest = bulk("newest", "Use newest", "given to the newest")
    approve = bulk("approve", "Approve proposals", "decided as proposed")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conflict]:
        return queries.find_conflicts().select_related("concept", "dim")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Conflict], search_term: str
    ) -> tuple[QuerySet[Conflict], bool]:
        if not (text := search_term.strip()):
            return queryset, False
        name = as_token(text)
        exact = Soas.objects.filter(token=name).values_list("pk", flat=True)
        return queryset.filter(queries.searching(text, [*word_ids(name), *exact])), False

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        return {"no_model": llm.missing("resolve_model_id"), "last_run": describe_last_runs().get("")}

    def read_rows(self, rows: Iterable[Conflict]) -> Sequence[ConflictPage]:
        return list(read_conflicts(rows).values())

    def load_row(self, key: int, member: int | None) -> ConflictPage | None:
        return load_page(key, member)

    def carry_out(self, key: int, seen: str, kind: str, given: Mapping[str, str], actor: Actor) -> Decision:
        return decide_form(key, seen, kind, given, actor)

    def find_next(self, rows: QuerySet[Conflict], after: Conflict | None) -> Conflict | None:
        return queries.find_next(rows, after)


def decide_form(conflict_id: int, seen: str, kind: str, given: Mapping[str, str], actor: Actor) -> Decision:
    """Make the decision ``kind`` of a form about the conflict as it was ``seen``: an action, the key of the member that
    is right, "newest", a move to other dimensions, or "approve". Raises DecisionError."""
    if not kind:
        raise DecisionError("Choose one of the decisions.")
    try:
        if kind == "approve":
            return resolver.approve(conflict_id, actor, read_reason(given.get("reason", "")), seen=seen)
        return decide(conflict_id, read_verdict(_read_form(conflict_id, kind, given), None), actor, seen=seen)
    except VerdictMistake as mistake:
        text = str(mistake)
        for field, words in FIELDS.items():
            text = text.replace(field, words)
        raise DecisionError(f"{text[0].upper()}{text[1:]}.") from mistake


def _read_form(conflict_id: int, kind: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the form's decision as requests spell it. Raises DecisionError."""
    reason = given.get("reason", "")
    if kind in MOVES:
        names = {"existing_dimension": "current", "new_dimension": "new"}
        for field, which in (names if kind == "decompose" else {"dimension": "new"}).items():
            if not given.get(field, "").strip():
                raise DecisionError(f"Enter a dimension for the {which} fact.")
        claim = find_claim(conflict_id, whole_number(given.get("member", "")))
        flavour = {"isa": True, "ispart": False}.get(given.get("is_isa", ""))
        return {**given, "decision": kind, "is_isa": flavour, "member_id": claim.id}
    if kind in ACTIONS:
        return {"action": kind, "reason": reason}
    if kind == "newest":
        page = read_conflicts(Conflict.objects.filter(pk=conflict_id)).get(conflict_id)
        if page is None:
            raise UnknownId(f"There is no conflict {conflict_id}.")
        if page.newest is None:
            raise DecisionError(f"Conflict {conflict_id} has several sides: decide it on its page.")
        kind = page.newest.key
    return {"action": "supersede_others", "winner_member_id": kind, "reason": reason}
