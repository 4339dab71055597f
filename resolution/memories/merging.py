"""Merges memories for operators, and separates them again."""

from collections.abc import Collection, Sequence
from itertools import combinations

from django.db.models import Q, QuerySet

from memory.db.transactions import in_transaction
from memory.memories import merging, store
from memory.memories.store import Status
from memory.models import Memory, MemoryHistory
from resolution.actors import Actor
from resolution.errors import InvalidDecision, Outdated, UnknownId
from resolution.layers.memories import settle_memories
from resolution.memories.disputes import settle_rivals
from resolution.memories.service import change_by

MERGED_MAX = 20  # memories in one merge: more do not say the same
SHOWN_MAX = 20  # merges into one memory
IS_MERGE = Q(action=MemoryHistory.Action.MERGE, after__merged__isnull=False)  # the winner's row in the history


@in_transaction
def merge(winner_id: int, ids: Collection[int], actor: Actor, reason: str = "") -> tuple[Memory, MemoryHistory]:
    """Merge the memories. Returns the winner, which now has the evidence of all, and the row of its history that
    ``separate`` takes. Raises UnknownId, InvalidDecision."""
    rows = {memory.pk: memory for memory in _lock(Q(pk__in={winner_id, *ids}))}
    if winner_id not in rows:
        raise UnknownId(f"there is no memory {winner_id}")
    if obstacle := find_obstacle([*rows.values()]):
        raise InvalidDecision(obstacle)
    winner = rows.pop(winner_id)
    merging.merge(winner, [*rows.values()], change_by(actor, reason))
    settle_memories([winner.pk, *rows])
    return winner, winner.history.filter(action=MemoryHistory.Action.MERGE).latest("id")


@in_transaction
def keep_apart(ids: Collection[int], actor: Actor, reason: str = "") -> None:
    """Keep the memories beside each other: nobody is asked again to merge them until one is edited."""
    for one, other in combinations(_lock(Q(pk__in=ids)), 2):
        store.keep_beside(one, other, change_by(actor, reason))


@in_transaction
def separate(merge_id: int, actor: Actor, reason: str = "") -> list[Memory]:
    """Undo a merge and return the memories that hold again. Raises UnknownId, Outdated."""
    merge = MemoryHistory.objects.filter(IS_MERGE, pk=merge_id).first()
    if merge is None:
        raise UnknownId(f"there is no merge {merge_id}")
    rows = {memory.pk: memory for memory in _lock(Q(pk=merge.memory_id) | Q(pk__in=merged_by(merge)))}
    winner, by = rows[merge.memory_id], change_by(actor, reason)
    standing = dict(find_standing(winner)).get(merge, ())
    again = merging.separate(winner, merge, [rows[key] for key in standing], by) if standing else []
    if not again:
        raise Outdated("these memories were separated before, or have become something else since")
    for memory in again:
        settle_rivals(memory, by, is_change=False)
    return again


def find_standing(winner: Memory) -> list[tuple[MemoryHistory, set[int]]]:
    """Return the newest merges into a memory that have not been undone, each with its losers."""
    left = set(winner.merged.values_list("pk", flat=True))
    found: list[tuple[MemoryHistory, set[int]]] = []
    merges = winner.history.filter(IS_MERGE).order_by("-id")[:SHOWN_MAX] if left else ()
    for merge in merges:  # a memory that was separated and merged again belongs to the newer merge
        if losers := left & set(merged_by(merge)):
            found.append((merge, losers))
            left -= losers
    return found


def merged_by(merge: MemoryHistory) -> list[int]:
    return list((merge.after or {})["merged"])


def find_obstacle(memories: Sequence[Memory]) -> str:
    """Return why these memories cannot be merged, or "" if they can."""
    if not 2 <= len(memories) <= MERGED_MAX:
        return f"two memories to {MERGED_MAX} can be merged at once"
    for memory in memories:
        if memory.status != Status.ACTIVE:
            return f"memory {memory.pk} does not hold: {memory.get_status_display()}"
        if memory.is_disputed:
            return f"memory {memory.pk} is disputed: take back what is wrong first"
    if len({memory.project_id for memory in memories}) > 1:
        return "they belong to different projects"
    speakers = {(memory.agent, memory.person) for memory in memories}
    if len(speakers) > 1 and any(memory.is_personal for memory in memories):
        return "they are of different people, and what concerns a person stays theirs"
    return ""


def _lock(which: Q) -> QuerySet[Memory]:
    """Lock the memories in the order of their ids, as all writers do."""
    return Memory.objects.filter(which).select_for_update(of=("self",)).order_by("pk")
