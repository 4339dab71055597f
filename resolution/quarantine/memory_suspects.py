"""Finds and quarantines the memories that one agent has brought: they become candidates, and what they replaced holds
again if its place is free."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db.models import Q, QuerySet

from memory.channels import SURE, Channel
from memory.db.transactions import in_transaction
from memory.memories import store
from memory.memories.comparing import find_rivals
from memory.memories.store import Change
from memory.models import Memory, MemoryHistory
from resolution.actors import Actor
from resolution.conflicts.change_log import recording
from resolution.conflicts.detection import detect_memory
from resolution.conflicts.members import change_of
from resolution.conflicts.memories import settle_memories
from resolution.models import Decision

HOLDING: Final = (Memory.Status.ACTIVE, Memory.Status.DEPRECATED)
Action = MemoryHistory.Action
# Changes by which somebody vouches for a memory. A restore without a status only ends a dispute.
VOUCHING: Final = Q(action__in=[Action.CONFIRM, Action.PROMOTE, Action.EDIT]) | Q(
    action=Action.RESTORE, after__has_key="status"
)

IsIndependent = Callable[[str, str], bool]  # takes the speaker and the channel


@dataclass(frozen=True, slots=True)
class SuspectMemory:
    """A memory that the agent brought. ``voucher`` is the strongest independent statement of it; ``replaced`` are
    memories of others that it replaced."""

    memory: Memory
    voucher: MemoryHistory | None = None
    replaced: Sequence[Memory] = ()


def find_memories(agent: str, since: datetime | None, is_independent: IsIndependent) -> list[SuspectMemory]:
    """Return the memories that hold because this agent said them, optionally only those first said since then."""
    own = Memory.objects.filter(agent=agent).exclude(source=Memory.Source.OPERATOR).defer("lexemes")
    own = own.filter(created_at__gte=since) if since is not None else own
    found = []
    for memory in own.filter(status__in=HOLDING).order_by("pk"):
        # Changes of a run, such as a consolidation or a quarantine, vouch for nothing.
        said = memory.history.filter(VOUCHING, run=None).exclude(actor=agent).order_by("pk")
        vouchers = [row for row in said if is_independent(row.actor, row.channel)]
        strongest = max(vouchers, key=lambda row: SURE.get(Channel(row.channel), 0.0), default=None)
        found.append(SuspectMemory(memory, strongest, () if strongest is not None else _find_replaced(memory, own)))
    return found


def _find_replaced(memory: Memory, own: QuerySet[Memory]) -> list[Memory]:
    """Return what the memory replaced, also through chains of the agent's own memories, which are quarantined, too."""
    found: list[Memory] = []
    steps, seen = [memory.pk], {memory.pk}
    while steps:
        rows = Memory.objects.filter(Q(superseded_by__in=steps) | Q(merged_into__in=steps)).exclude(pk__in=seen)
        before = list(rows.defer("lexemes").order_by("-said_at", "-pk"))
        seen |= {row.pk for row in before}
        steps = list(own.filter(pk__in=[row.pk for row in before]).values_list("pk", flat=True))
        found += [row for row in before if row.pk not in steps]
    return found


@in_transaction
def take_memories_out(suspects: Iterable[SuspectMemory], actor: Actor, note: str) -> None:
    """Quarantine the memories with one decision each, so that one that changes later does not block the undo of the
    others."""
    by = replace(change_of(actor, note), run=actor.run.pk if actor.run is not None else None)
    for one in suspects:
        # Read it again: a memory that has changed since it was found is left alone.
        rows = Memory.objects.select_for_update(of=("self",)).filter(pk=one.memory.pk, status__in=HOLDING)
        memory = rows.filter(agent=one.memory.agent, text=one.memory.text).first()
        if memory is None:
            continue
        # Not the text, which may be forgotten later.
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"memory": memory.pk}):
            if one.voucher is not None:
                channel = Channel(one.voucher.channel)
                sure = min(memory.confidence, SURE.get(channel, 1.0))
                store.change(memory, Action.QUARANTINE, by, channel=channel, confidence=sure)
            else:
                store.doubt(memory, by)
                _put_replaced_back(one.replaced, by)
            settle_memories(_find_touched([memory, *one.replaced]))


def _find_touched(memories: Collection[Memory]) -> set[int]:
    """Return the keys of these memories and of those that are disputed beside one of them."""
    keys = {memory.pk for memory in memories}
    disputes = MemoryHistory.objects.filter(action=Action.DISPUTE, after__beside__in=list(keys))
    return keys | set(disputes.values_list("memory", flat=True))


def _put_replaced_back(replaced: Sequence[Memory], by: Change) -> None:
    """Restore what was replaced, newest first: once one holds again, its place is taken for those that contradict
    it."""
    for old in replaced:
        memory = Memory.objects.select_for_update(of=("self",)).get(pk=old.pk)
        is_gone = memory.status in (Memory.Status.SUPERSEDED, Memory.Status.MERGED_INTO)
        if is_gone and not find_rivals(memory):
            store.restore(memory, by)
            detect_memory(memory)
