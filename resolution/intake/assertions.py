"""Asserting facts: they find their places in the graph, or their collisions go to the resolution queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from django.utils import timezone

from memory.db.transactions import run_transaction
from memory.domain.statement import is_reopened
from memory.domain.text.tokenizer import is_name
from memory.domain.types import Triple, TripleIds
from memory.graph.placement import Placement, Slots
from memory.graph.store import DELIBERATE, Attribution
from memory.models import Edge, Source
from resolution.intake.conflict_queue import Queue
from resolution.models import Conflict, DecidedTriple

Statement = tuple[Triple, Attribution]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an asserted fact. ``conflict`` is the open row of the queue, or the decided one; ``existing`` the
    fact that stands against it, or that was superseded; ``decided`` what was decided about it; ``reason`` says to
    people why it was not stored."""

    status: Literal["inserted", "confirmed", "superseded", "outdated", "conflict", "decided", "invalid"]
    fact: Triple
    conflict: Conflict | None = None
    existing: Triple | None = None
    decided: DecidedTriple | None = None
    reason: str = ""


def assert_fact(fact: Triple, said: Attribution) -> Outcome:
    """Places the fact, or queues what it collides with, in a transaction of its own."""
    return run_transaction(lambda: settle(fact, said))


def settle(fact: Triple, said: Attribution) -> Outcome:
    """The same inside the caller's transaction. Raises GraphChanged, and OperationalError for a deadlock: then the
    transaction is to be done again."""
    return settle_all([(fact, said)])[0]


def settle_all(statements: Sequence[Statement]) -> list[Outcome]:
    """Settles the statements as if one after the other, in the caller's transaction, which settles no others.

    Raises what ``settle`` raises."""
    mistakes = {fact: mistake_in(fact) for fact, _ in statements}
    settlement = Settlement([fact for fact, _ in statements if not mistakes[fact]])
    outcomes = [
        Outcome("invalid", fact, reason=mistakes[fact]) if mistakes[fact] else settlement.settle(fact, said)
        for fact, said in statements
    ]
    settlement.write()
    return outcomes


def mistake_in(fact: Triple) -> str:
    """What is wrong with the fact in itself; empty for nothing."""
    for word in (fact.concept, fact.parent, fact.dimension):
        if not is_name(word):
            return f"{word!r} is no name"
    if fact.concept == fact.parent:
        return f"{fact.concept} cannot be its own parent"
    if fact.concept == fact.dimension:
        return f"{fact.concept} is the root of its own dimension"
    if fact.parent == fact.dimension:
        return f"{fact.parent} cannot be its own dimension"
    return ""


class Settlement:
    """Some statements on their way into the world, locked for them. Nothing is stored before ``write``."""

    def __init__(self, facts: Sequence[Triple]) -> None:
        self._slots = Slots(facts)
        triples = set(self._slots.triples.values())
        # In this order: what is no longer open has its decision by now.
        self._queue = Queue(triples)
        self._decided = _decided(triples)
        self._forgotten: list[DecidedTriple] = []
        moved_to = {row.moved_to_id for row in self._decided.values() if row.moved_to_id is not None}
        self._slots.read(elsewhere=moved_to)

    def settle(self, fact: Triple, said: Attribution) -> Outcome:
        triple = self._slots.triples[fact]
        supersedes = self._slots.supersedes(triple.dim_id)
        decided = None if supersedes else self._decided.get(triple)
        if decided is not None and not _reopens(said, decided):
            return self._against_decision(fact, said, decided)
        placement = self._slots.place(fact, said, decided.moved_to_id if decided is not None else None)
        if decided is not None and placement.outcome != "confirmed":
            self._forget(triple)
        return self._outcome(fact, said, placement)

    def _against_decision(self, fact: Triple, said: Attribution, decided: DecidedTriple) -> Outcome:
        """A decided fact is neither stored nor queued. On purpose it may be stated where nothing else stands."""
        moved_to = decided.moved_to_id
        if said.source not in DELIBERATE:
            placement = self._slots.confirm(fact, said, moved_to)
        else:
            placement = self._slots.place(fact, said, moved_to)
        if placement is None or placement.outcome in ("occupied", "ring"):
            standing = self._slots.standing(fact)
            conflict = decided.decision.conflict if decided.decision is not None else None
            existing = _as_fact(standing) if standing is not None else None
            return Outcome("decided", fact, conflict, existing, decided, reason=_why(decided))
        if placement.outcome == "inserted":
            self._forget(self._slots.triples[fact])
        return self._outcome(fact, said, placement)

    def _forget(self, triple: TripleIds) -> None:
        self._forgotten.append(self._decided.pop(triple))

    def _outcome(self, fact: Triple, said: Attribution, placement: Placement) -> Outcome:
        if placement.outcome == "reserved":
            return Outcome("invalid", fact, reason=f"{fact.concept} is the root of its own dimension")
        if placement.outcome in ("occupied", "ring"):
            conflict = self._queue.add(placement, said, is_isa=fact.is_isa)
            against = placement.edge or placement.blocking
            return Outcome("conflict", fact, conflict, _as_fact(against) if against is not None else None)
        if placement.outcome == "outdated":
            assert placement.edge is not None
            return Outcome("outdated", fact, existing=_as_fact(placement.edge), reason="A later statement stands.")
        return self._standing(fact, placement)

    def _standing(self, fact: Triple, placement: Placement) -> Outcome:
        triple, edge, replaced = placement.triple, placement.edge, placement.replaced
        if placement.outcome != "confirmed":
            self._queue.close(triple)
        if edge is not None and edge.dim_id == triple.dim_id and self._slots.supersedes(triple.dim_id):
            self._queue.close_older(triple, edge.said_at)
        existing = _as_fact(replaced) if replaced is not None else None
        return Outcome(placement.outcome, fact, existing=existing)  # type: ignore[arg-type]

    def write(self) -> None:
        """Raises GraphChanged."""
        self._slots.write()
        self._queue.write()
        if self._forgotten:
            DecidedTriple.objects.filter(pk__in=[row.pk for row in self._forgotten]).delete()


def _decided(triples: Iterable[TripleIds]) -> dict[TripleIds, DecidedTriple]:
    triples = set(triples)
    rows = DecidedTriple.objects.filter(
        concept_id__in={triple.concept_id for triple in triples}, dim_id__in={triple.dim_id for triple in triples}
    )
    found = {
        TripleIds(row.concept_id, row.dim_id, row.parent_id): row for row in rows.select_related("decision__conflict")
    }
    return {triple: row for triple, row in found.items() if triple in triples}


def _reopens(said: Attribution, decided: DecidedTriple) -> bool:
    """An operator is never stopped."""
    return said.source == Source.OPERATOR or is_reopened(
        decided.agents,
        bytes(decided.conversation),
        decided.decided_at.timestamp(),
        said.agent,
        said.conversation,
        said.at.timestamp(),
    )


def _why(decided: DecidedTriple) -> str:
    """For people: what was decided, when, and for which reason."""
    text = f"It was {decided.get_kind_display().lower()} on {timezone.localtime(decided.decided_at):%Y-%m-%d}"
    if decided.decision is not None and decided.decision.reason:
        return f"{text}: {decided.decision.reason}"
    return f"{text}."


def _as_fact(edge: Edge) -> Triple:
    return Triple(edge.concept.token, edge.parent.token, edge.dim.token, edge.is_isa)
