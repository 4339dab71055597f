"""Moves memories to another project."""

from collections.abc import Sequence
from typing import Final

from django.db import transaction

from memory.db.transactions import in_transaction
from memory.memories import store
from memory.memories.comparing import find_rivals
from memory.memories.store import Status
from memory.models import Memory, Project
from resolution.actors import Actor
from resolution.conflicts.memories import settle_memories
from resolution.errors import DecisionError, InvalidDecision, Outdated
from resolution.memories.disputes import Settled, settle_rivals
from resolution.memories.service import change_by, lock_memory

MOVED: Final = (Status.CANDIDATE, Status.ACTIVE, Status.DEPRECATED)
SHARED: Final = "what all projects share"


@in_transaction
def move(memory_id: int, project: Project | None, actor: Actor, reason: str = "") -> Settled:
    """Move the memory to the project (None: the shared one), and dispute it with what contradicts it there. Memories
    that it contradicted before regain their confidence. Raises UnknownId, Outdated, InvalidDecision."""
    target = project.pk if project is not None else None
    memory, by = lock_memory(memory_id, project=target), change_by(actor, reason)
    if memory.status not in MOVED:
        raise Outdated(f"memory {memory_id} holds no more: it is {memory.get_status_display()}")
    if memory.project_id == target:
        raise InvalidDecision(f"memory {memory_id} is of {project or SHARED} already")
    same = store.find_same(store.scope_of(memory)._replace(project=target), memory.text)
    if holding := next((each for each in same if each.status in MOVED), None):
        raise InvalidDecision(f"{project or SHARED} has it already, as memory {holding.pk}")
    left = find_rivals(memory) if memory.status == Status.ACTIVE else []
    store.move(memory, project, by)
    if memory.status != Status.ACTIVE:
        return Settled()
    settle_memories([memory.pk])
    rows = Memory.objects.filter(pk__in=[memory.pk, *(rival.pk for rival in left)]).order_by("pk")
    store.reconcile(rows, by)
    memory.refresh_from_db()
    return settle_rivals(memory, by, is_change=False)


def try_to_move(ids: Sequence[int], project: Project | None, actor: Actor) -> dict[int, Settled | str]:
    """Return the outcome of moving each, one after the other, or the reason why it cannot be moved, without changing
    anything. Contradictions with other layers are only found by a real move."""
    outcomes: dict[int, Settled | str] = {}
    with transaction.atomic():
        for key in ids:
            try:
                outcomes[key] = move(key, project, actor)
            except DecisionError as mistake:
                outcomes[key] = str(mistake)
        transaction.set_rollback(True)
    return outcomes
