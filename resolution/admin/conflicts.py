"""The conflicts desk: the list of conflicts, the page of one conflict, and the decisions that operators make there."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET, require_safe

from memory import llm
from memory.admin.base import COUNTED_MAX, BoundedPaginator, Page, ReadOnly, link, next_page
from memory.english.phrases import format_count
from memory.models import Source
from memory.types import whole_number
from resolution.actors import Actor
from resolution.admin.pages import actor_of, changes, with_button
from resolution.admin.runs import describe_last_runs
from resolution.conflicts import claims, undo
from resolution.conflicts import decide as conflicts
from resolution.conflicts.verdict import (
    ConflictAction,
    Resolution,
    Verdict,
    VerdictMistake,
    read_member,
    read_reason,
    read_verdict,
)
from resolution.errors import DecisionError, UnknownId
from resolution.models import Claim, CollisionType, Conflict, Decision, Run
from resolution.nightly import resolver
from resolution.nightly.runs import AlreadyRunning, request_run
from resolution.pages import conflict_list, conflict_members
from resolution.pages.conflict_detail import dossier
from resolution.pages.conflict_list import Filters
from resolution.pages.words import describe_decision

NONE_OPEN = "No conflict is open."
LIST = "admin:resolution_conflict_changelist"
PAGE = "admin:resolution_conflict_change"
UNDOING_S = 20.0  # time limit for undoing in one request
REASONS_TOLD = 5  # reasons shown for skipped conflicts
# Bulk decisions.
BULK_BUTTONS = {
    "dismiss": "Dismiss", "update": "Use new fact", "newer": "Take the newer memory", "approve": "Approve proposals",
}  # fmt: skip
BULK = {
    "dismiss": "dismissed", "update": "given to the new", "newer": "given to the newer",
    "approve": "decided as proposed",
}  # fmt: skip
CLAIM_DECISIONS = ("update", "approve")  # for conflicts with one claim
# The names of the fields on the page.
FIELDS = {"existing_dimension": "dimension of what stands", "new_dimension": "dimension of the new"}


@admin.register(Conflict)
class ConflictAdmin(ReadOnly, Page):
    search_fields = ("concept__token",)
    own_views = {
        "run/": "run_now",
        "next/": "next",
        "bulk/": "bulk",
        "bulk/undo/": "undo_bulk",
        "<int:conflict_id>/decide/": "decide",
    }

    # --- pages ---

    @method_decorator(require_GET)
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        filters = Filters.read(request.GET)
        is_whole = conflict_list.too_many_are_like(filters.q)
        found = conflict_list.open_first(conflict_list.matching(filters, is_whole=is_whole))
        pages = BoundedPaginator(found, self.list_per_page)
        page = pages.get_page(request.GET.get("p"))
        shown = Conflict.objects.filter(pk__in=[row.pk for row in page.object_list]).select_related("concept", "dim")
        rows = list(conflict_members.read_conflicts(conflict_list.open_first(shown)).values())
        context = {
            "title": "Conflicts",
            "filters": filters,
            "choices": {
                "status": conflict_list.STATUSES,
                "kind": dict(Conflict.Kind.choices),
                "type": dict(CollisionType.choices),
                "source": dict(Source.choices),
                "age": conflict_list.AGES,
                "speaker": conflict_list.SPEAKERS,
            },
            "dimensions": conflict_list.list_dimensions(),
            "page": page,
            "counted_max": COUNTED_MAX,
            "rows": rows,
            "is_whole": is_whole,
            "words_max": conflict_list.WORDS_MAX,
            "here": _in_list(request),
            "bulk": BULK_BUTTONS,
            "no_model": llm.missing("resolve_model_id"),
            "last_run": describe_last_runs().get(""),
        }
        return self._render(request, "list", context | (extra_context or {}))

    @method_decorator(require_safe)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self._page(request, whole_number(object_id) or 0, whole_number(request.GET.get("member", "")))

    @method_decorator(require_GET)
    def next(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the open conflict that follows the one named by ``after``."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        after = whole_number(request.GET.get("after", "")) or 0
        return self._onwards(request, Conflict.objects.filter(pk=after).first())

    # --- decisions ---

    @changes("resolution.change_conflict")
    def decide(self, request: HttpRequest, conflict_id: int) -> HttpResponse:
        given = request.POST.dict()
        if (whole := conflict_members.unseal(given.get("seen", ""))) is not None and whole[0] == conflict_id:
            return self._decide_whole(request, *whole)
        seen = conflict_list.unseal(given.get("seen", ""))
        # Without this check, a conflict could be decided that has changed since it was shown.
        if seen is None or not Claim.objects.filter(pk=seen.pk, conflict_id=conflict_id).exists():
            messages.error(request, "Nothing was decided: the form does not say what you saw. Look at it again.")
            return self._page(request, conflict_id, typed=given)
        try:
            decision = _take(seen.pk, given.get("decision", ""), actor_of(request), given, seen)
        except UnknownId as error:
            messages.error(request, str(error))
            return redirect(LIST)
        except DecisionError as error:
            messages.error(request, f"Nothing was decided. {error}")
            return self._page(request, conflict_id, seen.pk, typed=given)
        return self._tell_decided(request, decision)

    @changes("resolution.change_conflict")
    def bulk(self, request: HttpRequest) -> HttpResponse:
        """Decide all selected conflicts, each in its own transaction."""
        kind, selected = request.POST.get("decision", ""), request.POST.getlist("selected")
        seen = [one for one in map(conflict_members.unseal, selected) if one is not None]
        if kind not in BULK or not seen:
            messages.warning(request, "Nothing was done: select conflicts, then choose what becomes of them.")
        else:
            self._tell(request, BULK[kind], *_decide_all(seen, kind, actor_of(request), request.POST.dict()))
        return redirect(f"{reverse(LIST)}{_in_list(request)}")

    @changes("resolution.change_conflict")
    def undo_bulk(self, request: HttpRequest) -> HttpResponse:
        keys = [key for key in map(whole_number, request.POST.get("decisions", "").split(",")) if key is not None]
        report = undo.undo_all(keys, actor_of(request), within_s=UNDOING_S)
        if report.undone:
            messages.success(request, f"{format_count(len(report.undone), 'decision')} undone.")
        left = [reason for _, reason in report.refused] + ["There was no time left."] * report.left
        if left or not report.undone:
            messages.warning(
                request, f"{format_count(len(left), 'decision')} not undone. {' '.join(left[:REASONS_TOLD])}"
            )
        return redirect(next_page(request) or LIST)

    @changes("resolution.change_conflict")
    def run_now(self, request: HttpRequest) -> HttpResponse:
        try:
            run = request_run(Run.Trigger.ADMIN, request.user.get_username())
        except AlreadyRunning as error:
            text = format_html("The resolver is running already: {}.", link(error.run, f"run {error.run.pk}"))
            self.message_user(request, text, messages.WARNING)
        else:
            no_model = llm.missing("resolve_model_id")
            become = f"which will be skipped. {no_model}" if no_model else "which a worker begins in a moment."
            text = format_html("Asked for {}, {}", link(run, f"run {run.pk}"), become)
            self.message_user(request, text, messages.WARNING if no_model else messages.SUCCESS)
        return redirect(next_page(request) or LIST)

    # --- internals ---

    def _page(
        self, request: HttpRequest, conflict_id: int, member: int | None = None, typed: dict[str, str] | None = None
    ) -> HttpResponse:
        """Render a conflict. ``member`` is the claim in view; ``typed`` holds the fields of a refused decision, to be
        corrected."""
        conflict = Conflict.objects.select_related("concept", "dim").filter(pk=conflict_id).first()
        is_of_facts = conflict is not None and conflict.slot_kind == Conflict.Kind.EDGE_SLOT
        found = dossier(conflict_id, member) if is_of_facts or member is not None else None
        if found is None and conflict is not None:
            whole = conflict_members.read_conflict(conflict)
            context = {"title": f"Conflict {conflict_id}: {whole.title}", "filters": Filters.read(request.GET)}
            return self._render(request, "whole", context | {"found": whole, "typed": typed or {}})
        if found is None:
            messages.error(request, f"There is no conflict {conflict_id}.")
            return redirect(LIST)
        context = {
            "title": f"Conflict {conflict_id}: {found.claim}",
            "filters": Filters.read(request.GET),
            "found": found,
            "typed": {
                "existing_dimension": found.names.existing,
                "new_dimension": found.names.new,
                "dimension": found.names.other,
                **(typed or {}),
            },
        }
        return self._render(request, "page", context)

    def _decide_whole(self, request: HttpRequest, conflict_id: int, seen: str) -> HttpResponse:
        """Decide a conflict as a whole. The field ``decision`` is an action or the key of the member that is right."""
        given = request.POST.dict()
        try:
            decision = _resolve(conflict_id, given.get("decision", ""), actor_of(request), given, seen)
        except UnknownId as error:
            messages.error(request, str(error))
            return redirect(LIST)
        except DecisionError as error:
            messages.error(request, f"Nothing was decided. {error}")
            return self._page(request, conflict_id, typed=given)
        return self._tell_decided(request, decision)

    def _tell_decided(self, request: HttpRequest, decision: Decision) -> HttpResponse:
        back = next_page(request)
        if request.POST.get("then") == "list":
            back = f"{reverse(LIST)}{_in_list(request)}"
        messages.success(request, _decided(request, decision, back))
        if back:
            return redirect(back)
        decided = decision.claim.conflict_id if decision.claim is not None else decision.conflict_id
        after = Conflict.objects.filter(pk=decided or 0).first()  # its current state
        if after is not None and after.status == Conflict.Status.OPEN:  # another of its claims is open
            return redirect(f"{after.get_absolute_url()}{Filters.read(request.GET).query}")
        return self._onwards(request, after)

    def _onwards(self, request: HttpRequest, after: Conflict | None) -> HttpResponse:
        filters = Filters.read(request.GET)
        if (following := conflict_list.next_open(filters, after)) is not None:
            return redirect(f"{following.get_absolute_url()}{filters.query}")
        messages.info(request, "No conflict is open that these filters show." if filters.query else NONE_OPEN)
        return redirect(f"{reverse(LIST)}{filters.query}")

    def _tell(self, request: HttpRequest, become: str, done: list[Decision], skipped: list[str]) -> None:
        if done:
            told, back = f"{len(done)} {become}.", f"{reverse(LIST)}{_in_list(request)}"
            address, keys = reverse("admin:resolution_conflict_bulk_undo"), ",".join(str(one.pk) for one in done)
            undone = with_button(request, told, "Undo all", address, css="desk-undo", decisions=keys, next=back)
            messages.success(request, undone)
        if skipped:
            more = f" And {len(skipped) - REASONS_TOLD} more." if len(skipped) > REASONS_TOLD else ""
            messages.warning(request, f"{len(skipped)} skipped: {' '.join(skipped[:REASONS_TOLD])}{more}")

    def _render(self, request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "opts": None, **context}
        return TemplateResponse(request, f"resolution/conflict_{name}.html", context)


def _take(claim_id: int, kind: str, actor: Actor, given: Mapping[str, str], seen: Claim | None) -> Decision:
    """Decide about a claim as the form says. Raises DecisionError."""
    if kind == "approve":
        return resolver.approve(claim_id, actor, given.get("reason", ""), seen=seen)
    return claims.decide(claim_id, actor, _verdict({**given, "decision": kind}), seen=seen)


def _resolve(conflict_id: int, kind: str, actor: Actor, given: Mapping[str, str], seen: str) -> Decision:
    """Resolve a conflict as a whole, as the form says. Raises DecisionError."""
    if not kind:
        raise DecisionError("Choose one of the decisions.")
    try:
        reason = read_reason(given.get("reason", ""))
        if kind in ("no_action", "dismiss", "yes", "no"):
            resolution = Resolution(cast(ConflictAction, kind), reason)
        else:
            resolution = Resolution("supersede_others", reason, read_member(kind))
    except VerdictMistake as mistake:
        raise DecisionError(f"Conflict {conflict_id} is not decided so: choose what is right on its page.") from mistake
    return conflicts.resolve(conflict_id, actor, resolution, seen=seen)


def _decide_all(
    seen: Iterable[tuple[int, str]], kind: str, actor: Actor, given: Mapping[str, str]
) -> tuple[list[Decision], list[str]]:
    """Return the decisions made, and the reasons why other conflicts were skipped."""
    done, skipped = [], []
    for conflict_id, digest in seen:
        try:
            if kind in CLAIM_DECISIONS:
                claim = conflicts.find_only_claim(conflict_id, digest)
                done.append(_take(claim.pk, kind, actor, given, claim))
            else:
                chosen = str(conflicts.find_newest(conflict_id)) if kind == "newer" else kind
                done.append(_resolve(conflict_id, chosen, actor, given, digest))
        except DecisionError as error:
            skipped.append(str(error))
    return done, skipped


def _verdict(given: Mapping[str, str]) -> Verdict:
    if not given.get("decision"):
        raise DecisionError("Choose one of the decisions.")
    flavours = {"isa": True, "ispart": False}
    try:
        return read_verdict({**given, "is_isa": flavours.get(given.get("is_isa", ""))}, None)
    except VerdictMistake as mistake:
        text = str(mistake)
        for key, words in FIELDS.items():
            text = text.replace(key, words)
        raise DecisionError(f"{text[0].upper()}{text[1:]}.") from mistake


def _decided(request: HttpRequest, decision: Decision, back: str) -> SafeString:
    """Return a message about the decision, with a button that undoes it and stays on the page."""
    told = f"Decided. {describe_decision(decision.kind, decision.arguments, decision.claim)}."
    address = f"{reverse('admin:resolution_decision_undo', args=[decision.pk])}{Filters.read(request.GET).query}"
    return with_button(request, told, "Undo", address, css="desk-undo", **({"next": back} if back else {}))


def _in_list(request: HttpRequest) -> str:
    """Return the query string of the list: the filters and the page number."""
    query, page = Filters.read(request.GET).query, request.GET.get("p", "")
    return f"{query}{'&' if query else '?'}p={page}" if page.isascii() and page.isdigit() else query
