"""Graduates memories to facts: a fact has a slot, and is recalled with its concept."""

from dataclasses import dataclass

from memory.db.transactions import in_transaction
from memory.graph.fact_syntax import parse_concept
from memory.graph.store import Assertion
from memory.memories import store
from memory.memories.slots import find_value
from memory.models import Dimension, Memory
from memory.types import Triple
from resolution.actors import Actor
from resolution.conflicts.memories import close_moot_conflicts
from resolution.errors import InvalidDecision, Outdated
from resolution.intake.place import CURRENT, Outcome, place_statements
from resolution.memories.service import change_by, lock_memory

Status = Memory.Status


@dataclass(frozen=True, slots=True)
class Graduated:
    """The memory and the outcome of its fact. If the fact is current, the memory is superseded."""

    memory: Memory
    outcome: Outcome


@in_transaction
def graduate(
    memory_id: int, actor: Actor, *, concept: str, dimension: str, parent: str = "", is_isa: bool | None = None
) -> Graduated:
    """Place the fact that the memory states, as the actor's statement.

    ``parent`` defaults to the memory's value, ``is_isa`` to what is usual in the dimension. If the fact collides, the
    memory stays current until that is decided. Raises UnknownId, Outdated, InvalidDecision, FactMistake.
    """
    memory = lock_memory(memory_id)
    if memory.status != Status.ACTIVE:
        raise Outdated(f"memory {memory_id} is no longer current: it is {memory.get_status_display()}")
    value = parent or find_value(memory.text, memory.category)
    if not value:
        raise InvalidDecision("the memory does not tell what it says of that: give the fact's parent")
    dim = parse_concept(dimension)
    usual = Dimension.objects.filter(soas__token=dim).values_list("is_isa", flat=True).first()
    relation = is_isa if is_isa is not None else usual is not False
    fact = Triple(parse_concept(concept), parse_concept(value), dim, relation)
    (outcome,) = place_statements([Assertion(fact, actor.attribute(memory.text))])
    if outcome.status in CURRENT:
        store.supersede(memory, None, change_by(actor, f"It is a fact now: {outcome.fact}."))
        close_moot_conflicts([memory.pk])
    return Graduated(memory, outcome)
