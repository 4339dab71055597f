"""What each decision does to the graph, in the transaction of resolution/decisions.py."""

from dataclasses import dataclass
from typing import Any

from memory.domain.types import Triple, TripleIds
from memory.graph import store
from memory.graph.store import Attribution
from memory.models import Dimension, Edge, Source
from resolution.actors import Actor
from resolution.decisions import rulings
from resolution.decisions.locking import Contest, DecisionError, Outdated, Unfit, closing_edge, edge_in, said_in
from resolution.domain.verdicts import DecisionKind
from resolution.intake import assertions
from resolution.models import CollisionType, Conflict, DecidedTriple

Kind = DecidedTriple.Kind


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done. ``dimensions`` are the names in ``arguments``."""

    kind: DecisionKind
    actor: Actor
    reason: str
    arguments: dict[str, Any]
    dimensions: tuple[str, ...] = ()

    @property
    def by(self) -> dict[str, Any]:
        return {"actor": self.actor.signature, "source": self.actor.source, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Case:
    """A conflict on which something is being decided. ``dims`` are the ids of the plan's dimensions."""

    contest: Contest
    plan: Plan
    dims: dict[str, int]

    @property
    def conflict(self) -> Conflict:
        return self.contest.conflict

    def name_of(self, dim_id: int) -> str:
        return next(name for name, named_id in self.dims.items() if named_id == dim_id)


def apply_decompose(case: Case) -> None:
    conflict, standing = case.conflict, _standing(case)
    existing_id, new_id = (case.dims[name] for name in case.plan.dimensions)
    flavours = {existing_id: standing.is_isa, new_id: conflict.incoming_is_isa}
    for dim_id in sorted(flavours):
        _ensure_dimension(dim_id, is_isa=flavours[dim_id], split_from_id=conflict.dim_id)
    key = TripleIds(standing.concept_id, conflict.dim_id, standing.parent_id)
    speakers = rulings.speakers(standing)
    if existing_id != conflict.dim_id and _move(case, standing, existing_id):
        rulings.remember(key, Kind.DECOMPOSED, speakers, moved_to_id=existing_id)
    if new_id == conflict.dim_id:
        _insert_newcomer(case)
    else:
        _state(_newcomer_in(case, new_id), said_in(conflict))
        _remember_newcomer(case, Kind.DECOMPOSED, moved_to_id=new_id)


def apply_update(case: Case) -> None:
    _refuse_stated(case)
    if (standing := case.contest.standing) is not None:
        key = TripleIds(standing.concept_id, standing.dim_id, standing.parent_id)
        rulings.remember(key, Kind.RETIRED, rulings.speakers(standing))
        store.retire(standing, **case.plan.by)
    _insert_newcomer(case)


def apply_relocate(case: Case) -> None:
    conflict, (dim_id,) = case.conflict, case.dims.values()
    _refuse_stated(case)
    if dim_id == conflict.dim_id:
        raise Unfit(f"{conflict.dim} is where it collided; name another dimension.")
    there = edge_in(conflict.concept_id, dim_id)
    if there is not None and there.parent_id != conflict.incoming_parent_id:
        raise DecisionError(f"That place is taken: {there}.")
    is_isa = case.plan.arguments["is_isa"]
    flavour = conflict.incoming_is_isa if is_isa is None else is_isa
    _ensure_dimension(dim_id, is_isa=flavour)
    _state(_newcomer_in(case, dim_id, is_isa=flavour), said_in(conflict))
    _remember_newcomer(case, Kind.RELOCATED, moved_to_id=dim_id)


def apply_dismiss(case: Case) -> None:
    if not case.contest.is_stated:
        _remember_newcomer(case, Kind.DISMISSED)


# --- the parts of them ---


def _refuse_stated(case: Case) -> None:
    if case.contest.is_stated:
        raise DecisionError(f"{case.contest.newcomer} stands already; the conflict can be dismissed.")


def _standing(case: Case) -> Edge:
    _refuse_stated(case)
    if case.contest.standing is not None:
        return case.contest.standing
    raise DecisionError(f"Nothing stands against {case.contest.newcomer} any more: update puts it there.")


def _ensure_dimension(dim_id: int, *, is_isa: bool, split_from_id: int | None = None) -> None:
    """One that exists keeps the lineage it has."""
    if not Dimension.objects.filter(soas_id=dim_id).exists():
        store.ensure_dimension(dim_id, is_isa=is_isa)
        Dimension.objects.filter(soas_id=dim_id).update(split_from_id=split_from_id)


def _move(case: Case, edge: Edge, dim_id: int) -> bool:
    """Whether the standing fact left its slot: it does not if the new one is taken by another."""
    if edge_in(edge.concept_id, dim_id) is None:
        _refuse_ring(edge.concept_id, edge.parent_id, dim_id)
        rulings.forget(TripleIds(edge.concept_id, dim_id, edge.parent_id))
        store.move(edge, dim_id, **case.plan.by)
        return True
    fact = Triple(edge.concept.token, edge.parent.token, case.name_of(dim_id), edge.is_isa)
    _state(fact, Attribution(edge.agent, Source(edge.source), edge.confidence, edge.said_at))
    there = edge_in(edge.concept_id, dim_id)
    if there is None or there.parent_id != edge.parent_id:
        return False
    store.retire(edge, **case.plan.by)
    return True


def _insert_newcomer(case: Case) -> None:
    """Into the slot that it disputed."""
    conflict = case.conflict
    slot = (conflict.concept_id, conflict.dim_id)
    if (there := edge_in(*slot)) is not None:
        raise DecisionError(f"That place is still taken: {there}.")
    error = DecisionError if case.contest.standing is not None else Outdated
    _refuse_ring(conflict.concept_id, conflict.incoming_parent_id, conflict.dim_id, error)
    rulings.forget(TripleIds(*slot, conflict.incoming_parent_id))
    store.insert(
        conflict.concept_id, conflict.incoming_parent_id, conflict.dim_id, conflict.incoming_is_isa, said_in(conflict)
    )


def _refuse_ring(concept_id: int, parent_id: int, dim_id: int, error: type[DecisionError] = DecisionError) -> None:
    if (closing := closing_edge(concept_id, parent_id, dim_id)) is not None:
        raise error(f"That would close a ring: {closing}.")


def _newcomer_in(case: Case, dim_id: int, is_isa: bool | None = None) -> Triple:
    conflict = case.conflict
    flavour = conflict.incoming_is_isa if is_isa is None else is_isa
    return Triple(conflict.concept.token, conflict.incoming_parent.token, case.name_of(dim_id), flavour)


def _state(fact: Triple, said: Attribution) -> None:
    """Places the fact in a dimension where it was decided to belong, or queues its collision there."""
    tokens = store.ensure_tokens([fact.concept, fact.dimension, fact.parent])
    rulings.forget(TripleIds(tokens[fact.concept], tokens[fact.dimension], tokens[fact.parent]))
    outcome = assertions.settle(fact, said)
    if outcome.status == "invalid":
        raise Unfit(f"{fact} cannot be: {outcome.reason}.")
    if outcome.status in ("superseded", "outdated"):  # whichever is newer, nobody decided about that one
        raise DecisionError(f"That place is taken: {outcome.existing}.")
    if outcome.conflict is not None and outcome.conflict.collision_type == CollisionType.CYCLE:
        raise DecisionError(f"That would close a ring: {outcome.existing}.")


def _remember_newcomer(case: Case, kind: DecidedTriple.Kind, *, moved_to_id: int | None = None) -> None:
    conflict = case.conflict
    rulings.remember(
        TripleIds(conflict.concept_id, conflict.dim_id, conflict.incoming_parent_id),
        kind,
        rulings.disputants(conflict),
        conversation=bytes(conflict.conversation),
        moved_to_id=moved_to_id,
    )
