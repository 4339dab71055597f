"""Admin actions on memories: on the page of one, on many in the list, and merging several."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from memory.admin.base import Page, address, limit_selection
from memory.english.phrases import format_count
from memory.memories import store
from memory.memories.comparing import find_contradiction
from memory.models import Memory, Project
from memory.types import whole_number
from resolution.actors import Actor
from resolution.admin.pages import actor_of, with_button
from resolution.conflicts import undo
from resolution.errors import DecisionError
from resolution.memories import merging, moving, service
from resolution.models import Decision

REASON_MAX: Final = 500  # characters
TOLD_MAX: Final = 3  # reasons shown for skipped rows
LIKE_MAX: Final = 8
COMPARED_MAX: Final = 2_000  # newest memories that are searched for similar ones


class MemoryAct(NamedTuple):
    """An action on memories of the given ``statuses``. ``what`` explains it; ``done`` is its past participle, for
    messages."""

    label: str
    what: str
    done: str
    change: Callable[[int, Actor, str], object]
    statuses: frozenset[str]


GONE: Final = frozenset({"deprecated", "merged_into", "superseded", "invalid"})
ACTS: Final = {
    "promote": MemoryAct("Promote", "It is true: give it", "promoted", service.promote, frozenset({"candidate"})),
    "deprecate": MemoryAct(
        "Deprecate", "Too uncertain to be given, until somebody says it again", "deprecated", service.deprecate,
        frozenset({"active"}),
    ),
    "invalidate": MemoryAct(
        "Take back", "It is not true, or of no use", "taken back", service.invalidate,
        frozenset({"candidate", "active", "deprecated"}),
    ),
    "restore": MemoryAct("Restore", "It holds again", "restored", service.restore, GONE),
}  # fmt: skip


def describe_acts(memory: Memory) -> dict[str, Any]:
    """Return the context for the actions on a memory's page."""
    winner = memory.merged_into or memory
    merges = [
        (merge, losers)
        for merge, losers in merging.find_standing(winner).items()
        if winner == memory or memory in losers
    ]
    # Restoring a single loser of a merge would leave its evidence with the winner, too.
    acts = {name: act for name, act in ACTS.items() if memory.status in act.statuses}
    return {
        "acts": [] if winner != memory and merges else [(name, act.label, act.what) for name, act in acts.items()],
        "may_merge": memory.status == Memory.Status.ACTIVE and not memory.is_disputed,
        "may_move": memory.status in moving.MOVED and Project.objects.exists(),
        "merges": merges,
        "winner": winner,
    }


def make_action(name: str, description: str) -> Callable[[Page, HttpRequest, QuerySet[Memory]], None]:
    """Return an action of the list that applies the act to the selected memories."""
    act = ACTS[name]

    @admin.action(description=description, permissions=["change"])
    def act_on_many(page: Page, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        keys, more = limit_selection(queryset)
        skipped: list[str] = []
        for key in keys:
            try:
                act.change(key, actor_of(request), "")
            except DecisionError as mistake:
                skipped.append(str(mistake))
        tell_skipped(request, skipped)
        if count := len(keys) - len(skipped):
            page.message_user(request, f"{count:,} {act.done}{more}.", messages.SUCCESS)

    return act_on_many


def tell_skipped(request: HttpRequest, reasons: Sequence[str]) -> None:
    if reasons:
        told = "; ".join(reasons[:TOLD_MAX]) + ("; and others" if len(reasons) > TOLD_MAX else "")
        messages.warning(request, f"{len(reasons):,} skipped: {told}.")


changing = permission_required("memory.change_memory", raise_exception=True)


@require_POST
@changing
def act_on_one(request: HttpRequest, memory_id: int) -> HttpResponse:
    act = ACTS.get(request.POST.get("act", ""))
    if act is None:
        return HttpResponseBadRequest("There is no such act.")
    try:
        act.change(memory_id, actor_of(request), request.POST.get("reason", "")[:REASON_MAX])
        messages.success(request, f"It was {act.done}.")
    except DecisionError as mistake:
        messages.warning(request, f"Nothing was changed: {mistake}.")
    return redirect("admin:memory_memory_change", memory_id)


@require_POST
@changing
def separate(request: HttpRequest) -> HttpResponse:
    key = whole_number(request.POST.get("merge", "")) or 0
    merge = get_object_or_404(Decision, pk=key, kind=Decision.Kind.CONSOLIDATE)
    try:
        undo.undo(merge.pk, actor_of(request), request.POST.get("reason", "")[:REASON_MAX])
        messages.success(request, "Undone: they are memories of their own again.")
    except DecisionError as mistake:
        messages.warning(request, f"Nothing was changed: {mistake}")
    return redirect(address(Memory, merge.arguments["memory"]))


@require_http_methods(["GET", "HEAD", "POST"])
@changing
def merge_page(request: HttpRequest) -> HttpResponse:
    """Show the memories with the given ``ids`` and similar ones; on POST, merge them."""
    given = request.POST or request.GET
    keys = [key for text in given.get("ids", "").split(",") if (key := whole_number(text)) is not None]
    if request.method == "POST":
        try:
            return _merge(request, keys)
        except DecisionError as mistake:
            messages.error(request, f"Nothing was merged: {mistake}.")
    rows = Memory.objects.filter(pk__in=keys).select_related("project").defer("lexemes")
    chosen = sorted(rows[: merging.MERGED_MAX + 1], key=lambda memory: (-memory.confidence, memory.pk))
    if not chosen:
        messages.warning(request, "Choose memories first.")
        return redirect("admin:memory_memory_changelist")
    context = {
        **admin.site.each_context(request),
        "title": "Merge memories",
        "chosen": [(one, any(find_contradiction(one, other) for other in chosen if other != one)) for one in chosen],
        "ids": ",".join(str(memory.pk) for memory in chosen),
        "obstacle": merging.find_obstacle(chosen) if len(chosen) > 1 else "",
        "can_merge": len(chosen) > 1 and not merging.find_obstacle(chosen),
        "like": find_like(chosen),
    }
    return TemplateResponse(request, "resolution/merge_memories.html", context)


def _merge(request: HttpRequest, keys: Sequence[int]) -> HttpResponse:
    winner_id = whole_number(request.POST.get("winner", "")) or 0
    reason = request.POST.get("reason", "")[:REASON_MAX]
    if request.POST.get("act") == "keep":
        merging.keep_apart(keys[: merging.MERGED_MAX], actor_of(request), reason)
        messages.success(request, "Kept apart. No model is asked about them again until one is edited.")
        return redirect("admin:memory_memory_changelist")
    winner, merge = merging.merge(winner_id, keys, actor_of(request), reason)
    told = f"{format_count(len(merging.find_standing(winner)[merge]), 'memory', 'memories')} merged into this one."
    separating = reverse("admin:memory_memory_separate")
    messages.success(request, with_button(request, told, "Undo", separating, merge=str(merge.pk)))
    return redirect(address(Memory, winner.pk))


def find_like(chosen: Sequence[Memory]) -> QuerySet[Memory]:
    """Find memories that share words with the first one and could be merged with it, most similar first."""
    first = chosen[0]
    rows = store.comparable_with(first).filter(status=Memory.Status.ACTIVE, is_disputed=False)
    newest = rows.exclude(pk__in=[memory.pk for memory in chosen]).order_by("-pk")[:COMPARED_MAX]
    words = "replace(plainto_tsquery('english', %s)::text, '&', '|')::tsquery"
    likeness = RawSQL(f"ts_rank(memory.lexemes, {words})", [first.text])
    ranked = Memory.objects.filter(pk__in=newest.values("pk")).annotate(likeness=likeness).defer("lexemes")
    return ranked.filter(likeness__gt=0).order_by(F("likeness").desc(), "-pk")[:LIKE_MAX]


@admin.action(description="Merge: they say the same …", permissions=["change"])
def merge_them(page: Page, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse | None:
    keys = list(queryset.order_by().values_list("pk", flat=True)[: merging.MERGED_MAX + 1])
    if len(keys) > merging.MERGED_MAX:
        told = f"At most {merging.MERGED_MAX} memories are merged at once: more do not say the same."
        page.message_user(request, told, messages.WARNING)
        return None
    return redirect(f"{reverse('admin:memory_memory_merge')}?ids={','.join(map(str, keys))}")
