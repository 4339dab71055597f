"""Admin actions on memories: on the page of one, on many in the list, and merging several."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from unfold.decorators import action
from unfold.widgets import UnfoldAdminRadioSelectWidget

from memory.admin.base import Page, address, limit_selection, next_page
from memory.admin.dialogs import REASON_MAX, ReasonForm, dialog, leave_dialog, with_button
from memory.db.transactions import in_transaction
from memory.english.phrases import format_count
from memory.memories import store
from memory.memories.comparing import find_contradiction
from memory.models import Memory
from memory.types import whole_number
from resolution.actors import Actor
from resolution.admin.decisions import MAY_UNDO
from resolution.admin.pages import actor_of
from resolution.conflicts import undo
from resolution.conflicts.change_log import recording
from resolution.errors import DecisionError
from resolution.memories import merging, service
from resolution.models import Decision

PAGE: Final = "admin:memory_memory_change"
TOLD_MAX: Final = 3  # reasons shown for skipped rows
LIKE_MAX: Final = 8
COMPARED_MAX: Final = 2_000  # newest memories that are searched for similar ones


class MemoryAct(NamedTuple):
    """An act on memories of the given ``statuses``. ``what`` explains it; ``done`` is its past participle, for
    messages."""

    label: str
    what: str
    done: str
    change: Callable[[int, Actor, str], object]
    statuses: frozenset[str]


GONE: Final = frozenset({"deprecated", "merged_into", "superseded", "invalid"})
PROMOTE: Final = MemoryAct("Promote", "It is true: recall it.", "promoted", service.promote, frozenset({"candidate"}))
DEPRECATE: Final = MemoryAct(
    "Deprecate", "Low confidence: not recalled until somebody says it again.", "deprecated", service.deprecate,
    frozenset({"active"}),
)  # fmt: skip
TAKE_BACK: Final = MemoryAct(
    "Take back", "It is not true, or of no use.", "taken back", service.invalidate,
    frozenset({"candidate", "active", "deprecated"}),
)  # fmt: skip
RESTORE: Final = MemoryAct("Restore", "It is true after all: recall it again.", "restored", service.restore, GONE)
ACTS: Final = {"promote": PROMOTE, "deprecate": DEPRECATE, "take_back": TAKE_BACK, "restore": RESTORE}


def find_offered(memory: Memory) -> set[str]:
    """Return the names of the actions that a memory's page offers."""
    merges = find_merges(memory)
    offered = {"separate"} if merges else set()
    if memory.status == Memory.Status.ACTIVE and not memory.is_disputed:
        offered.add("merge_with")
    if memory.merged_into is not None and merges:
        return offered  # restoring a single loser of a merge would leave its evidence with the winner, too
    return offered | {name for name, act in ACTS.items() if memory.status in act.statuses}


def find_merges(memory: Memory) -> dict[Decision, list[Memory]]:
    """Return the merges that the memory was part of and that can be undone, each with the memories that it took in."""
    winner = memory.merged_into or memory
    found = merging.find_standing(winner).items()
    return {merge: losers for merge, losers in found if winner == memory or memory in losers}


@in_transaction
def decide(act: MemoryAct, key: int, actor: Actor, reason: str = "") -> Decision:
    """Carry out the act on a memory as a decision, which can be undone."""
    with recording(Decision.Kind.CONSOLIDATE, actor, reason, arguments={"memory": key}) as decision:
        act.change(key, actor, reason)
    return decision


def make_dialog(act: MemoryAct) -> Any:
    """Return the action of a memory's page that asks for a reason and carries out the act."""

    @action(description=act.label, permissions=["change"], dialog=dialog(act.label, act.what))
    def carry_out(page: Page, request: HttpRequest, form: ReasonForm, object_id: str) -> HttpResponse:
        try:
            done = decide(act, whole_number(object_id) or 0, actor_of(request), form.cleaned_data["reason"])
            back = next_page(request) or reverse(PAGE, args=[object_id])
            messages.success(request, with_undo(request, f"It was {act.done}.", str(done.pk), back))
        except DecisionError as mistake:
            messages.warning(request, f"Nothing was changed: {mistake}.")
        return leave_dialog(request, PAGE, object_id)

    return carry_out


def make_action(act: MemoryAct) -> Callable[[Page, HttpRequest, QuerySet[Memory]], None]:
    """Return the action of the list that carries out the act on the selected memories, each as a decision."""

    @admin.action(description=f"{act.label}: {act.what[0].lower()}{act.what[1:-1]}", permissions=["change"])
    def act_on_many(page: Page, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        keys, more = limit_selection(queryset)
        done: list[str] = []
        skipped: list[str] = []
        for key in keys:
            try:
                done.append(str(decide(act, key, actor_of(request)).pk))
            except DecisionError as mistake:
                skipped.append(str(mistake))
        if skipped:
            why = "; ".join(skipped[:TOLD_MAX]) + ("; and others" if len(skipped) > TOLD_MAX else "")
            messages.warning(request, f"{len(skipped):,} skipped: {why}.")
        if done:
            told = with_undo(request, f"{len(done):,} {act.done}{more}.", ",".join(done), request.get_full_path())
            page.message_user(request, told, messages.SUCCESS)

    return act_on_many


def with_undo(request: HttpRequest, told: str, decisions: str, back: str) -> str:
    """Return the sentence, for those who may undo the decisions (their ids, between commas) with a button for that."""
    if not request.user.has_perm(MAY_UNDO):
        return told
    undoing = reverse("admin:resolution_conflict_bulk_undo")
    return with_button(request, told, "Undo", undoing, next=back, decisions=decisions)


# --- merging ---


class SeparateForm(ReasonForm):
    """Asks which merge of a memory is undone."""

    merge = forms.TypedChoiceField(coerce=int, label="Undo the merge that took in", widget=UnfoldAdminRadioSelectWidget)
    field_order = ("merge", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        memory = Memory.objects.filter(pk=whole_number(str(self.object_id)) or 0).first()
        merges = find_merges(memory) if memory is not None else {}
        choices = [(merge.pk, "; ".join(map(str, losers))) for merge, losers in merges.items()]
        self.fields["merge"].choices = choices
        self.initial["merge"] = next(iter(choices), ("",))[0]


@action(
    description="Separate again", permissions=["change"],
    dialog=dialog("Separate again", "Those that were merged become memories of their own.", SeparateForm),
)  # fmt: skip
def separate(page: Page, request: HttpRequest, form: SeparateForm, object_id: str) -> HttpResponse:
    try:
        undo.undo(form.cleaned_data["merge"], actor_of(request), form.cleaned_data["reason"])
        messages.success(request, "Undone: they are memories of their own again.")
    except DecisionError as mistake:
        messages.warning(request, f"Nothing was changed: {mistake}")
    return leave_dialog(request, PAGE, object_id)


@action(description="Merge with another …", permissions=["change"])
def merge_with(page: Page, request: HttpRequest, object_id: str) -> HttpResponse:
    return redirect(f"{reverse('admin:memory_memory_merge')}?ids={object_id}")


@admin.action(description="Merge: they say the same …", permissions=["change"])
def merge_them(page: Page, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse | None:
    keys = list(queryset.order_by().values_list("pk", flat=True)[: merging.MERGED_MAX + 1])
    if len(keys) > merging.MERGED_MAX:
        told = f"At most {merging.MERGED_MAX} memories are merged at once: more do not say the same."
        page.message_user(request, told, messages.WARNING)
        return None
    return redirect(f"{reverse('admin:memory_memory_merge')}?ids={','.join(map(str, keys))}")


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("memory.change_memory", raise_exception=True)
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
    obstacle = merging.find_obstacle(chosen) if len(chosen) > 1 else ""
    context = {
        **admin.site.each_context(request),
        "title": "Merge memories",
        "chosen": [(one, any(find_contradiction(one, other) for other in chosen if other != one)) for one in chosen],
        "ids": ",".join(str(memory.pk) for memory in chosen),
        "obstacle": obstacle,
        "can_merge": len(chosen) > 1 and not obstacle,
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
    separating = reverse("admin:memory_memory_separate", args=[winner.pk])
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
