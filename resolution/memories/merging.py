"""Merges memories for operators."""

from collections.abc import Collection, Sequence
from itertools import combinations

from django.db.models import Q, QuerySet

from memory.db.transactions import in_transaction
from memory.memories import merging, store
from memory.memories.store import Status
from memory.models import Memory
from resolution.actors import Actor
from resolution.conflicts.change_log import recording
from resolution.conflicts.memories import close_moot_conflicts
from resolution.errors import InvalidDecision, UnknownId
from resolution.memories.service import change_by
from resolution.models import Decision, DecisionChange

MERGED_MAX = 20  # memories in one merge: more do not say the same


@in_transaction
def merge(winner_id: int, ids: Collection[int], actor: Actor, reason: str = "") -> tuple[Memory, Decision]:
    """Merge the memories. Returns the winner, which now has the evidence of all, and the decision, which can be undone.
    Raises UnknownId, InvalidDecision."""
    rows = {memory.pk: memory for memory in _lock(Q(pk__in={winner_id, *ids}))}
    if winner_id not in rows:
        raise UnknownId(f"there is no memory {winner_id}")
    if obstacle := find_obstacle([*rows.values()]):
        raise InvalidDecision(obstacle)
    winner = rows.pop(winner_id)
    with recording(Decision.Kind.CONSOLIDATE, actor, reason, arguments={"memory": winner_id}) as decision:
        merging.merge(winner, [*rows.values()], change_by(actor, reason))
        close_moot_conflicts([winner.pk, *rows])
    return winner, decision


@in_transaction
def keep_apart(ids: Collection[int], actor: Actor, reason: str = "") -> None:
    """Keep the memories beside each other: nobody is asked again to merge them until one is edited."""
    for one, other in combinations(_lock(Q(pk__in=ids)), 2):
        store.keep_beside(one, other, change_by(actor, reason))


def find_standing(winner: Memory) -> dict[Decision, list[Memory]]:
    """Return the merges into a memory that have not been undone, newest first, each with its losers."""
    left = {loser.pk: loser for loser in winner.merged.defer("lexemes")}
    rows = DecisionChange.objects.filter(table_name=Memory._meta.db_table, key__in=left, decision__undone_by=None)
    rows = rows.filter(after__merged_into_id=winner.pk).exclude(before__merged_into_id=winner.pk)
    found: dict[Decision, list[Memory]] = {}
    for row in rows.select_related("decision").order_by("-pk"):
        if (loser := left.pop(row.key, None)) is not None:
            found.setdefault(row.decision, []).append(loser)
    return found


def find_obstacle(memories: Sequence[Memory]) -> str:
    """Return why these memories cannot be merged, or "" if they can."""
    if not 2 <= len(memories) <= MERGED_MAX:
        return f"two memories to {MERGED_MAX} can be merged at once"
    for memory in memories:
        if memory.status != Status.ACTIVE:
            return f"memory {memory.pk} is not current: {memory.get_status_display()}"
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
