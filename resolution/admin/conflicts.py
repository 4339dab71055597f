"""The conflicts desk: the list of conflicts, the page of one conflict, and the decisions that operators make there."""

from collections.abc import Mapping
from copy import copy
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_safe
from unfold.contrib.filters.admin import (
    AutocompleteSelectFilter,
    ChoicesDropdownFilter,
    DropdownFilter,
    FieldTextFilter,
    RangeDateFilter,
    TextFilter,
)
from unfold.forms import ActionForm
from unfold.utils import parse_date_str

from memory import llm
from memory.admin.base import Page, ReadOnly, as_token, link, next_page, requires, word_ids
from memory.english.phrases import format_count
from memory.models import Soas
from memory.types import whole_number
from resolution.actors import Actor
from resolution.admin.pages import actor_of, asks_first, changes, with_button
from resolution.admin.runs import describe_last_runs
from resolution.conflicts import undo
from resolution.conflicts.decide import MOVES, decide, find_claim
from resolution.conflicts.verdict import VerdictMistake, read_reason, read_verdict
from resolution.errors import DecisionError, UnknownId
from resolution.models import Conflict, Decision, Run
from resolution.nightly import resolver
from resolution.nightly.runs import AlreadyRunning, request_run
from resolution.pages import queries
from resolution.pages.conflicts import load_page, parse_seen, read_conflicts
from resolution.pages.words import describe_decision

LIST = "admin:resolution_conflict_changelist"
UNDOING_S = 20.0  # time limit for undoing in one request
REASONS_TOLD = 5  # reasons shown for skipped conflicts
REASON_MAX = 2_000  # characters
NO_FILTERS = ("after", "member", "p", "e")  # parameters of the desk's addresses
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


class OpenedFilter(RangeDateFilter):
    """A filter by the days on which conflicts were opened, both included."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "day of opening"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> QuerySet[Conflict]:
        # Unfold would compare the column with midnights that have no time zone.
        for end, lookup in (("from", "gte"), ("to", "lte")):
            if (day := parse_date_str(str(self.used_parameters.get(f"detected_at_{end}", "")))) is not None:
                queryset = queryset.filter(**{f"detected_at__date__{lookup}": day})
        return queryset


class BulkForm(ActionForm):
    reason = forms.CharField(
        label="Reason for all that are selected",
        required=False,
        max_length=REASON_MAX,
        widget=forms.TextInput(
            attrs={"class": "fst-input", "placeholder": "Reason (optional)", "autocomplete": "off"},
        ),
    )


def bulk(kind: str, label: str, outcome: str) -> Any:
    """Return an action that makes one decision about each selected conflict."""

    @admin.action(description=label, permissions=["decide"])
    def decide_selected(page: "ConflictAdmin", request: HttpRequest, queryset: QuerySet[Conflict]) -> HttpResponse:
        return page.decide_selected(request, kind, outcome)

    return decide_selected


@admin.register(Conflict)
class ConflictAdmin(ReadOnly, Page):
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
    list_filter_submit = True
    search_fields = ("concept__token",)
    search_help_text = "A name, a word of a member, or #12"
    action_form = BulkForm
    actions = ("dismiss", "use_newest", "approve")
    own_views = {
        "run/": "run_now",
        "next/": "next",
        "bulk/undo/": "undo_bulk",
        "<int:conflict_id>/decide/": "decide",
    }

    has_decide_permission = requires("resolution.change_conflict")
    dismiss = bulk("dismiss", "Dismiss", "dismissed")
    use_newest = bulk("newest", "Use newest", "given to the newest")
    approve = bulk("approve", "Approve proposals", "decided as proposed")

    # --- pages ---

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

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        shown = super().changelist_view(request, extra_context)
        if isinstance(shown, TemplateResponse) and shown.context_data and "cl" in shown.context_data:
            shown.context_data |= {
                "frame": "admin/change_list.html",
                "rows": list(read_conflicts(shown.context_data["cl"].result_list).values()),
                "filters": _filters_of(request),
                "here": _list_of(request),
                "no_model": llm.missing("resolve_model_id"),
                "last_run": describe_last_runs().get(""),
            }
        return shown

    @method_decorator(require_safe)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self._show(request, whole_number(object_id) or 0, whole_number(request.GET.get("member", "")))

    @method_decorator(require_GET)
    def next(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the open conflict that follows the one named by ``after``."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        after = whole_number(request.GET.get("after", "")) or 0
        return self._go_on(request, Conflict.objects.filter(pk=after).first())

    # --- decisions ---

    @changes("resolution.change_conflict")
    def decide(self, request: HttpRequest, conflict_id: int) -> HttpResponse:
        given = request.POST.dict()
        # Without this check, a conflict could be decided that has changed since it was shown.
        if (seen := parse_seen(given.get("seen", ""))) is None or seen[0] != conflict_id:
            messages.error(request, "Nothing was decided: the form does not say what you saw. Look at it again.")
            return self._show(request, conflict_id, typed=given)
        try:
            decision = decide_form(*seen, given.get("decision", ""), given, actor_of(request))
        except UnknownId as error:
            messages.error(request, str(error))
            return redirect(LIST)
        except DecisionError as error:
            messages.error(request, f"Nothing was decided. {error}")
            return self._show(request, conflict_id, typed=given)
        back = f"{reverse(LIST)}{_list_of(request)}" if given.get("then") == "list" else next_page(request)
        address = f"{reverse('admin:resolution_decision_undo', args=[decision.pk])}{_filters_of(request)}"
        told = f"Decided. {describe_decision(decision)}."
        undo_it = with_button(request, told, "Undo", address, css="desk-undo", **({"next": back} if back else {}))
        messages.success(request, undo_it)
        if back:
            return redirect(back)
        after = Conflict.objects.get(pk=conflict_id)
        if after.status == Conflict.Status.OPEN:  # another of its members is undecided
            return redirect(f"{after.get_absolute_url()}{_filters_of(request)}")
        return self._go_on(request, after)

    def decide_selected(self, request: HttpRequest, kind: str, outcome: str) -> HttpResponse:
        """Decide all selected conflicts, each in its own transaction."""
        seen = dict(one for one in map(parse_seen, request.POST.getlist("seen")) if one is not None)
        done: list[Decision] = []
        skipped: list[str] = []
        for key in filter(None, map(whole_number, request.POST.getlist(ACTION_CHECKBOX_NAME))):
            try:
                done.append(decide_form(key, seen.get(key, ""), kind, request.POST.dict(), actor_of(request)))
            except DecisionError as error:
                skipped.append(str(error))
        back = f"{reverse(LIST)}{_list_of(request)}"
        if done:
            address, keys = reverse("admin:resolution_conflict_bulk_undo"), ",".join(str(one.pk) for one in done)
            told = f"{len(done)} {outcome}."
            undo_all = with_button(request, told, "Undo all", address, css="desk-undo", decisions=keys, next=back)
            messages.success(request, undo_all)
        if skipped:
            messages.warning(request, f"{len(skipped)} skipped: {_shorten(skipped)}")
        return redirect(back)

    @changes("resolution.change_conflict")
    def undo_bulk(self, request: HttpRequest) -> HttpResponse:
        keys = [key for key in map(whole_number, request.POST.get("decisions", "").split(",")) if key is not None]
        report = undo.undo_all(keys, actor_of(request), within_s=UNDOING_S)
        if report.undone:
            messages.success(request, f"{format_count(len(report.undone), 'decision')} undone.")
        left = [reason for _, reason in report.refused] + ["There was no time left."] * report.left
        if left or not report.undone:
            messages.warning(request, f"{format_count(len(left), 'decision')} not undone. {_shorten(left)}")
        return redirect(next_page(request) or LIST)

    @changes("resolution.change_conflict")
    def run_now(self, request: HttpRequest) -> HttpResponse:
        if asks_first(request, "resolve_model_id"):
            return redirect(next_page(request) or LIST)
        try:
            run = request_run(Run.Trigger.ADMIN, request.user.get_username())
        except AlreadyRunning as error:
            text = format_html("The resolver is running already: {}.", link(error.run, f"run {error.run.pk}"))
            self.message_user(request, text, messages.WARNING)
        else:
            no_model = llm.missing("resolve_model_id")
            become = f"queued, and will be skipped. {no_model}" if no_model else "queued."
            text = format_html("{} {}", link(run, f"Run {run.pk}"), become)
            self.message_user(request, text, messages.WARNING if no_model else messages.SUCCESS)
        return redirect(next_page(request) or LIST)

    # --- internals ---

    def _show(
        self, request: HttpRequest, conflict_id: int, claim: int | None = None, typed: Mapping[str, str] | None = None
    ) -> HttpResponse:
        """Render a conflict. ``claim`` is the one in view; ``typed`` holds the fields of a refused decision, to be
        corrected."""
        typed = typed or {}
        page = load_page(conflict_id, claim or whole_number(typed.get("member", "")))
        if page is None:
            messages.error(request, f"There is no conflict {conflict_id}.")
            return redirect(LIST)
        context = {
            **self.admin_site.each_context(request),
            "opts": None,
            "title": f"Conflict {conflict_id}: {page.title}",
            "page": page,
            "typed": {**page.fields, "member": str(claim or ""), **typed},
            "filters": _filters_of(request),
        }
        return TemplateResponse(request, "resolution/conflict_page.html", context)

    def _go_on(self, request: HttpRequest, after: Conflict | None) -> HttpResponse:
        """Redirect to the next open conflict that the list's filters show."""
        filters = _filters_of(request)
        if (following := queries.find_next(self._filter(request), after)) is not None:
            return redirect(f"{following.get_absolute_url()}{filters}")
        messages.info(request, "These filters show no open conflict." if filters else "No conflict is open.")
        return redirect(f"{reverse(LIST)}{filters}")

    def _filter(self, request: HttpRequest) -> QuerySet[Conflict]:
        """Return the rows of the list by the filters in this address; open ones, if those are filtered out."""
        listed, filters = copy(request), request.GET.copy()
        for name in (*NO_FILTERS, *(["status"] if filters.get("status") != "proposed" else [])):
            filters.pop(name, None)
        listed.GET = QueryDict(filters.urlencode())
        try:
            rows: QuerySet[Conflict] = self.get_changelist_instance(listed).queryset
        except IncorrectLookupParameters:
            return self.get_queryset(request)
        return rows


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


def _shorten(reasons: list[str]) -> str:
    more = f" And {len(reasons) - REASONS_TOLD} more." if len(reasons) > REASONS_TOLD else ""
    return f"{' '.join(reasons[:REASONS_TOLD])}{more}"


def _filters_of(request: HttpRequest) -> str:
    """Return the filters of the list as a query string, "" for none."""
    kept = request.GET.copy()
    for name in NO_FILTERS:
        kept.pop(name, None)
    return f"?{kept.urlencode()}" if kept else ""


def _list_of(request: HttpRequest) -> str:
    """Return the query string of the list: the filters and the page number."""
    query, page = _filters_of(request), request.GET.get("p", "")
    return f"{query}{'&' if query else '?'}p={page}" if page.isascii() and page.isdigit() else query
