"""Stores memories and settles their contradictions, for messages, HTTP, MCP and operators."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, Literal

from django.utils import timezone

from memory.attribution.client_names import voice_of
from memory.channels import Channel, is_weaker
from memory.db.connections import run_together
from memory.db.transactions import Parameters, run_transaction
from memory.memories import store
from memory.memories.comparing import find_rivals
from memory.memories.scope import PERSONAL
from memory.memories.store import Change, Status, draft_of, lock_places
from memory.models import GivenNote, Memory, MemoryHistory, MemoryLineage, Project
from resolution.actors import Actor
from resolution.conflicts.keys import read_memory
from resolution.conflicts.memories import close_moot_conflicts
from resolution.conflicts.opening import list_open_of
from resolution.errors import InvalidDecision, Outdated, UnknownId
from resolution.intake.quotas import OverLimit, Quotas
from resolution.memories.disputes import Settled, settle_rivals
from resolution.memories.remarks import Remark
from resolution.models import ConflictMember

RememberStatus = Literal[
    "created", "confirmed", "promoted", "candidate", "outdated", "retracted", "dismissed", "over_quota"
]
HOLDING = (Status.ACTIVE, Status.DEPRECATED)
MOVED = (Status.CANDIDATE, *HOLDING)  # that can be moved to another project
SHARED = "what all projects share"


@dataclass(frozen=True, slots=True)
class Remembered:
    """The outcome of a remark. ``memory`` is None if the remark was dismissed or over a quota."""

    status: RememberStatus
    memory: Memory | None = None
    superseded: Sequence[Memory] = ()
    disputed: Sequence[Memory] = ()
    conflict_id: int | None = None
    excess: OverLimit | None = None


def remember(remarks: Sequence[Remark], *, is_metered: bool = False) -> list[Remembered]:
    """Take in the remarks in order, in one transaction of their own. With ``is_metered``, the speakers' quotas
    apply."""
    return [_note_conflict(one) for one in run_transaction(lambda: take_in(remarks, is_metered=is_metered))]


def take_in(remarks: Sequence[Remark], *, is_metered: bool = False) -> list[Remembered]:
    """Take in the remarks in the caller's transaction, which must not take in others."""
    if not remarks:
        return []
    lock_places(remark.draft for remark in remarks)
    quotas = Quotas() if is_metered else None
    if quotas is not None:
        quotas.read(remarks)
    outcomes = [_take_in_one(remark, quotas) for remark in remarks]
    if quotas is not None:
        run_together(*quotas.write())
    return outcomes


def _take_in_one(remark: Remark, quotas: Quotas | None) -> Remembered:
    same = store.find_same(remark.scope, remark.text)
    is_tentative = remark.is_tentative
    holding = next((memory for memory in same if memory.status in HOLDING), None)
    waiting = next((memory for memory in same if memory.status == Status.CANDIDATE), None)
    if holding is not None and is_tentative:
        return Remembered("confirmed", holding)  # an echo is no independent voice
    if holding is not None:
        return _confirm(holding, remark)
    if waiting is not None and (is_tentative or _is_doubted(waiting, remark.agent)):
        store.confirm(waiting, remark.change, is_other_voice=False)
        return Remembered("candidate", waiting)
    if is_tentative and same and same[0].status == Status.INVALID:
        return Remembered("dismissed")
    quotas = quotas if remark.channel != Channel.OPERATOR else None
    excess = quotas.find_excess_of("memories", remark) if quotas is not None else None
    if excess is not None and (is_tentative or remark.channel == Channel.GUTASK or waiting is not None):
        return Remembered("over_quota", excess=excess)
    if quotas is not None:
        quotas.count("memories", remark)
    if is_tentative or excess is not None:
        return Remembered("candidate", store.create(remark.draft, remark.change, Status.CANDIDATE), excess=excess)
    if waiting is not None:
        store.promote(waiting, remark.change, confidence=remark.confidence)
        return _settle(waiting, remark, "promoted")
    return _settle(store.create(remark.draft, remark.change), remark, "created")


def _is_doubted(waiting: Memory, agent: str) -> bool:
    """True if the memory is a candidate because this agent, which brought it, was quarantined."""
    is_own = voice_of(waiting.agent) == voice_of(agent)
    return is_own and waiting.history.filter(action=MemoryHistory.Action.QUARANTINE).exists()


def _confirm(memory: Memory, remark: Remark) -> Remembered:
    if was_given_before(memory, remark):
        return _settle(memory, remark, "confirmed")
    is_other = (voice_of(memory.agent), memory.person) != (voice_of(remark.agent), remark.scope.speaker.person)
    store.confirm(memory, remark.change, is_other_voice=is_other)
    if memory.status == Status.DEPRECATED:
        store.restore(memory, remark.change)
    if memory.category == Memory.Category.EPISODIC and remark.category not in PERSONAL:
        # It came from a text that others may have written, and is now repeated in the speaker's own voice.
        store.edit(memory, remark.change, text=memory.text, category=remark.category)
    if is_weaker(memory.channel, remark.channel):  # the stronger channel counts from now on
        store.promote(memory, remark.change, confidence=remark.confidence)
    return _settle(memory, remark, "confirmed")


def was_given_before(memory: Memory, remark: Remark) -> bool:
    """True if the memory was injected into that conversation before: an echo is no evidence."""
    return (
        bool(remark.conversation)
        and GivenNote.objects.filter(
            kind=MemoryLineage.Kind.MEMORY, row=memory.pk, conversation=remark.conversation, at__lt=remark.at
        ).exists()
    )


def _settle(memory: Memory, remark: Remark, status: RememberStatus) -> Remembered:
    settled = settle_rivals(
        memory,
        remark.change,
        is_change=remark.is_change,
        is_new=status == "created",
        speaker=remark.scope.speaker,
    )
    memory.refresh_from_db()
    if memory.status == Status.SUPERSEDED:
        return Remembered("outdated", memory)
    return Remembered(status, memory, *settled)


def _note_conflict(outcome: Remembered) -> Remembered:
    """Add the conflict across layers, which is only detected once the memory is stored."""
    memory = outcome.memory
    if outcome.conflict_id is not None or memory is None:
        return outcome
    if not read_memory("", memory.category, memory.slot, memory.text):  # nearly always
        return outcome
    open_ones = list_open_of(ConflictMember.Kind.MEMORY, [memory.pk]).get(memory.pk)
    if not open_ones:
        return outcome
    memory.refresh_from_db(fields=["is_disputed"])
    return replace(outcome, conflict_id=open_ones[0]["id"])


# --- decisions of operators ---


def _decides(change: Callable[Parameters, Remembered]) -> Callable[Parameters, Remembered]:
    """Run the change in its own transaction."""

    @wraps(change)
    def decide(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Remembered:
        return _note_conflict(run_transaction(partial(change, *args, **kwargs)))

    return decide


@_decides
def promote(memory_id: int, actor: Actor, reason: str = "") -> Remembered:
    """Make a candidate active. Raises UnknownId, Outdated."""
    memory, by = lock_memory(memory_id), change_by(actor, reason)
    if memory.status != Status.CANDIDATE:
        raise Outdated(f"memory {memory_id} is no candidate any longer: it is {memory.status}")
    store.promote(memory, by, confidence=1.0)
    settled = settle_rivals(memory, by, is_change=False)
    memory.refresh_from_db()
    return Remembered("promoted", memory, *settled)


@_decides
def invalidate(memory_id: int, actor: Actor, reason: str = "") -> Remembered:
    """Take the memory back: it is no longer injected, but its history stays. Raises UnknownId, Outdated."""
    memory = lock_memory(memory_id)
    if memory.status == Status.INVALID:
        raise Outdated(f"memory {memory_id} is taken back already")
    store.invalidate(memory, change_by(actor, reason))
    close_moot_conflicts([memory.pk])
    return Remembered("retracted", memory)


@_decides
def deprecate(memory_id: int, actor: Actor, reason: str = "") -> Remembered:
    """Mark the memory as too uncertain to be injected until somebody says it again. Raises UnknownId, Outdated."""
    memory = lock_memory(memory_id)
    if memory.status != Status.ACTIVE:
        raise Outdated(f"memory {memory_id} is not current: it is {memory.status}")
    store.deprecate(memory, change_by(actor, reason))
    close_moot_conflicts([memory.pk])
    return Remembered("retracted", memory)


@_decides
def restore(memory_id: int, actor: Actor, reason: str = "") -> Remembered:
    """Make the memory active again, disputed with what contradicts it. Raises UnknownId, InvalidDecision."""
    memory, by = lock_memory(memory_id), change_by(actor, reason)
    if memory.status in (Status.ACTIVE, Status.CANDIDATE):
        raise InvalidDecision(f"memory {memory_id} is {memory.status}: there is nothing to restore")
    store.restore(memory, by, least=store.GIVEN_LEAST)  # or the next consolidation would deprecate it again
    settled = settle_rivals(memory, by, is_change=False)
    memory.refresh_from_db()
    return Remembered("promoted", memory, *settled)


@_decides
def edit(memory_id: int, actor: Actor, *, text: str, category: str) -> Remembered:
    """Change the text or the category. Raises UnknownId."""
    memory, by = lock_memory(memory_id, text=text, category=category), change_by(actor)
    if (memory.text, memory.category) == (text, category):
        return Remembered("confirmed", memory)
    store.edit(memory, by, text=text, category=category)
    settled = settle_rivals(memory, by, is_change=False) if memory.status == Status.ACTIVE else Settled()
    close_moot_conflicts([memory.pk])  # it may agree with other memories now
    memory.refresh_from_db()
    return Remembered("confirmed", memory, *settled)


def find_obstacle(memory: Memory, project: Project | None, text: str) -> str:
    """Return why the memory, with this text, cannot be moved to the project (None: the shared one); "" if it can."""
    if memory.status not in MOVED:
        return f"memory {memory.pk} is no longer current: it is {memory.get_status_display()}"
    scope = store.scope_of(memory)._replace(project=project.pk if project is not None else None)
    same = (each for each in store.find_same(scope, text) if each.status in MOVED and each != memory)
    holding = next(same, None)
    return f"{project or SHARED} has it already, as memory {holding.pk}" if holding is not None else ""


@_decides
def move(memory_id: int, project: Project | None, actor: Actor, reason: str = "") -> Remembered:
    """Move the memory to the project (None: the shared one), and dispute it with what contradicts it there. Memories
    that it contradicted before regain their confidence. Raises UnknownId, InvalidDecision."""
    memory = lock_memory(memory_id, project_id=project.pk if project is not None else None)
    by = change_by(actor, reason)
    if obstacle := find_obstacle(memory, project, memory.text):
        raise InvalidDecision(obstacle)
    left = find_rivals(memory) if memory.status == Status.ACTIVE else []
    store.move(memory, project, by)
    if memory.status != Status.ACTIVE:
        return Remembered("confirmed", memory)
    close_moot_conflicts([memory.pk])
    store.reconcile(Memory.objects.filter(pk__in=[memory.pk, *(rival.pk for rival in left)]).order_by("pk"), by)
    memory.refresh_from_db()
    settled = settle_rivals(memory, by, is_change=False)
    memory.refresh_from_db()
    return Remembered("confirmed", memory, *settled)


def lock_memory(memory_id: int, **changes: Any) -> Memory:
    """Lock the memory and its places until the end of the transaction, including the places it gets by the changes.
    Raises UnknownId."""
    memory = Memory.objects.filter(pk=memory_id).first()
    if memory is None:
        raise UnknownId(f"there is no memory {memory_id}")
    lock_places([draft_of(memory), draft_of(memory, **changes)])
    return Memory.objects.select_for_update(of=("self",)).get(pk=memory_id)


def change_by(actor: Actor, reason: str = "") -> Change:
    return Change(actor.signature, Channel.OPERATOR, timezone.now(), reason=reason)
