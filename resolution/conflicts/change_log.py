"""The log of decisions: triggers (sql/triggers.sql) log every row that changes while one is recorded."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.db.models import Model

from memory.graph.snapshots import Snapshot
from memory.models import Alias, Dimension, Edge, Evidence, Memory, MemoryHistory, MemoryLineage, ProjectState, Support
from memory.types import Place, Slot, place_of
from resolution.actors import Actor
from resolution.models import Candidate, Claim, Conflict, DecidedTriple, Decision, DecisionChange

MODELS: Final[Mapping[str, type[Model]]] = {
    model._meta.db_table: model
    for model in (
        ProjectState, Memory, MemoryHistory, MemoryLineage, Edge, Dimension, Conflict, Claim, DecidedTriple, Alias,
        Candidate, Evidence, Support,
    )
}  # fmt: skip
BEGIN: Final = """
    SELECT set_config('festinger.decision', nextval(pg_get_serial_sequence('decision', 'id'))::text, true)
"""

_current: ContextVar[Decision | None] = ContextVar("decision", default=None)


@dataclass(slots=True)
class RowChange:
    """The net change of a row by one decision: its fields before and after. None if the row did not exist."""

    model: type[Model]
    key: int
    before: Snapshot | None
    after: Snapshot | None
    is_forgotten: bool = False

    @property
    def was(self) -> Snapshot:
        return self.before or {}

    @property
    def left(self) -> Snapshot:
        return self.after or {}

    @property
    def differing(self) -> Snapshot:
        """The former values of the fields that differ."""
        return {name: value for name, value in self.was.items() if value != self.left.get(name)}

    @property
    def places(self) -> tuple[Place | None, Place | None]:
        """The places of a fact before and after; None where there was none."""
        return _find_place(self.before), _find_place(self.after)

    @property
    def is_moved(self) -> bool:
        """True if the fact was made, taken out, or moved."""
        return any(self.was.get(name) != self.left.get(name) for name in ("concept_id", "dim_id", "parent_id"))


def _find_place(fact: Snapshot | None) -> Place | None:
    if fact is None:
        return None
    return place_of(fact["concept_id"], fact["dim_id"], fact["parent_id"], is_additive=fact["is_additive"])


@contextmanager
def recording(kind: Decision.Kind, actor: Actor, reason: str, **about: Any) -> Iterator[Decision]:
    """Record what is changed inside the block as a decision, which is stored when the block ends; some kinds only if
    they changed something. Its key can be used before. Inside another's block, the changes belong to that
    decision. Runs in the caller's transaction, which must be rolled back if the block raises."""
    if (outer := _current.get()) is not None:
        yield outer
        return
    with connection.cursor() as cursor:
        cursor.execute(BEGIN)
        [key] = cursor.fetchone()
        decision = Decision(
            pk=int(key), kind=kind, run=actor.run, actor=actor.signature, source=actor.source, reason=reason, **about
        )
        token = _current.set(decision)
        try:
            yield decision
        finally:
            _current.reset(token)
        if kind not in Decision.MAY_CHANGE_NOTHING or decision.changes.exists():
            decision.save(force_insert=True)
        cursor.execute("SELECT set_config('festinger.decision', '', true)")


def find_recorded_decision() -> int | None:
    """Return the key of the decision that is being recorded; None if there is none, or if it is an undo."""
    decision = _current.get()
    return decision.pk if decision is not None and decision.kind != Decision.Kind.UNDO else None


def read_changes(decision_id: int, models: Collection[type[Model]] = ()) -> list[RowChange]:
    """Return the net changes of a decision, optionally of these models only, in the order in which the rows were first
    changed. Roots come and go with their dimensions and are left out."""
    rows = DecisionChange.objects.filter(decision=decision_id).order_by("pk")
    if models:
        rows = rows.filter(table_name__in=[model._meta.db_table for model in models])
    found: dict[tuple[str, int], RowChange] = {}
    for row in rows:
        model = MODELS[row.table_name]
        before, after = _by_field(model, row.before), _by_field(model, row.after)
        one = found.setdefault((row.table_name, row.key), RowChange(model, row.key, before, after))
        one.after = after
        one.is_forgotten |= row.is_forgotten
    return [one for one in found.values() if (one.before != one.after or one.is_forgotten) and not _is_root(one)]


def _by_field(model: type[Model], row: Snapshot | None) -> Snapshot | None:
    if row is None:
        return None
    return {field.attname: row[field.column] for field in model._meta.concrete_fields if field.column in row}


def _is_root(change: RowChange) -> bool:
    fact = change.was or change.left
    return change.model is Edge and bool(fact) and fact["concept_id"] == fact["parent_id"]


def find_changed_slots(decision_id: int) -> set[Slot]:
    """Return the slots in which the decision has put or taken out a fact so far."""
    facts = [one for one in read_changes(decision_id, [Edge]) if one.is_moved]
    return {(fact["concept_id"], fact["dim_id"]) for one in facts for fact in (one.before, one.after) if fact}
