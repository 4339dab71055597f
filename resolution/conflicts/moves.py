"""Moves facts to other dimensions: how a dimension is decomposed, and a claim relocated."""

from dataclasses import dataclass

from memory.graph import store
from memory.graph.slots import with_splits
from memory.graph.store import Assertion, Attribution
from memory.models import Dimension, Edge, Source
from memory.types import Triple, TripleIds
from resolution.actors import Actor
from resolution.conflicts import rulings
from resolution.conflicts.members import ClaimRow, refuse_cycle
from resolution.conflicts.verdict import Verdict
from resolution.errors import DecisionError, InvalidDecision
from resolution.intake.place import place_statements
from resolution.models import Claim, CollisionType, DecidedTriple


@dataclass(frozen=True, slots=True)
class Move:
    """A locked claim, the locked fact that it is against, None if that is gone, and the verdict to carry out."""

    member: ClaimRow
    existing: Edge | None
    verdict: Verdict
    actor: Actor
    dim_ids: dict[str, int]  # by the names of the dimensions in the verdict

    @property
    def claim(self) -> Claim:
        return self.member.row

    @property
    def attribution(self) -> Attribution:
        """The attribution of the decision's changes: the actor and the reason."""
        return self.actor.attribute(self.verdict.reason)


def _refuse_unfit(move: Move) -> None:
    """Raise InvalidDecision for a retraction, and for a dimension that the dispute is about."""
    claim = move.claim
    if claim.is_retraction:
        raise InvalidDecision(f"{claim.incoming_text} is to be taken out: it is kept (dismiss), or goes (update).")
    disputed = {claim.concept_id, claim.incoming_parent_id}
    if move.existing is not None:
        disputed |= {move.existing.concept_id, move.existing.parent_id}
    for name, dim_id in move.dim_ids.items():
        if dim_id in disputed:
            raise InvalidDecision(f"{name!r} cannot be the dimension: the dispute is about it.")


def decompose(move: Move) -> None:
    """Keep both facts: the existing one moves to one dimension, the incoming one goes to the other."""
    _refuse_unfit(move)
    claim, existing, verdict = move.claim, move.existing, move.verdict
    if existing is None:
        raise DecisionError(f"Nothing contradicts {claim.incoming_text} any more: an update puts it in the graph.")
    # One of the two may be the disputed dimension itself: then that fact has it to itself.
    flavours = {verdict.existing_dimension: existing.is_isa, verdict.new_dimension: claim.incoming_is_isa}
    # Ordered by id, like all writers of several dimensions, so that no two decisions can deadlock.
    for name in sorted(flavours, key=move.dim_ids.__getitem__):
        _ensure_dimension(move.dim_ids[name], is_isa=flavours[name], split_from_id=claim.dim_id)

    speakers = rulings.find_speakers([existing])  # before it moves: the history names its slot
    new_id = move.dim_ids[verdict.new_dimension]
    if move.dim_ids[verdict.existing_dimension] != claim.dim_id and (
        moved_to_id := _move(move, existing, verdict.existing_dimension)
    ):
        rulings.remember(speakers, DecidedTriple.Kind.DECOMPOSED, moved_to_id=moved_to_id)
    if new_id == claim.dim_id:
        move.member.make_current(move.actor, verdict.reason)
    else:
        _restate_incoming(move, verdict.new_dimension, is_isa=claim.incoming_is_isa)
        rulings.remember_claim(claim, DecidedTriple.Kind.DECOMPOSED, moved_to_id=new_id)


def relocate(move: Move) -> None:
    """Put the incoming fact in another dimension."""
    _refuse_unfit(move)
    claim, verdict = move.claim, move.verdict
    dim_id = move.dim_ids[verdict.dimension]
    if dim_id == claim.dim_id:
        raise InvalidDecision(f"{claim.dim} is where it collided: name another dimension.")
    there = store.lock_edge(claim.incoming._replace(dim_id=dim_id))
    if there is not None and there.parent_id != claim.incoming_parent_id:
        raise DecisionError(f"That place is taken: {there}.")
    is_isa = claim.incoming_is_isa if verdict.is_isa is None else verdict.is_isa
    _ensure_dimension(dim_id, is_isa=is_isa)
    _restate_incoming(move, verdict.dimension, is_isa=is_isa)
    rulings.remember_claim(claim, DecidedTriple.Kind.RELOCATED, moved_to_id=dim_id)


def _ensure_dimension(dim_id: int, *, is_isa: bool, split_from_id: int | None = None) -> None:
    if not Dimension.objects.filter(soas_id=dim_id).exists():  # an existing one keeps its lineage
        store.ensure_dimension(dim_id, is_isa=is_isa)
        Dimension.objects.filter(soas_id=dim_id).update(split_from_id=split_from_id)


def _move(move: Move, edge: Edge, dimension: str) -> int | None:
    """Move the existing fact and return its new dimension. Returns None if it stays, because its new slot holds another
    fact."""
    ids = TripleIds(edge.concept_id, move.dim_ids[dimension], edge.parent_id)
    if store.lock_edge(ids) is None and _find_at_or_below(ids, edge) is None:
        refuse_cycle(ids)
        rulings.forget(ids)
        store.move(edge, ids.dim_id, move.attribution)
        return ids.dim_id
    # A collision there is queued; the fact stays in its old slot until it is decided.
    attribution = Attribution(edge.agent, Source(edge.source), edge.confidence, edge.said_at, channel=edge.channel)
    _restate(ids, Triple(edge.concept.token, edge.parent.token, dimension, edge.is_isa), attribution)
    if (there := _find_at_or_below(ids, edge)) is None:
        return None
    store.retire(edge, move.attribution)
    return there.dim_id


def _find_at_or_below(ids: TripleIds, moving: Edge) -> Edge | None:
    """Find another edge that says the same, in that dimension or in one that was split from it."""
    dim_ids = [ids.dim_id, *sorted({row.pk for row in with_splits([ids.dim_id])} - {ids.dim_id})]
    same = Edge.objects.filter(concept_id=ids.concept_id, parent_id=ids.parent_id, dim_id__in=dim_ids)
    found = same.exclude(pk=moving.pk)
    return min(found, key=lambda edge: dim_ids.index(edge.dim_id), default=None)


def _restate_incoming(move: Move, dimension: str, *, is_isa: bool) -> None:
    claim = move.claim
    ids = claim.incoming._replace(dim_id=move.dim_ids[dimension])
    triple = Triple(claim.concept.token, claim.incoming_parent.token, dimension, is_isa)
    _restate(ids, triple, claim.attribution)


def _restate(ids: TripleIds, triple: Triple, attribution: Attribution) -> None:
    """Place the fact in the dimension that was decided for it, as if it were stated now, or queue its collision
    there."""
    rulings.forget(ids)  # an earlier ruling would keep the fact out
    (outcome,) = place_statements([Assertion(triple, attribution)])
    if outcome.status == "invalid":
        raise InvalidDecision(f"{triple} cannot be: {outcome.reason}.")
    # The decision was not about the fact there, even if that is older or says less.
    if outcome.status in ("superseded", "outdated") or (outcome.status == "candidate" and outcome.existing is not None):
        raise DecisionError(f"That place is taken: {outcome.existing}.")
    if outcome.claim is not None and outcome.claim.collision_type == CollisionType.CYCLE:
        raise DecisionError(f"That would close a cycle: {outcome.existing}.")
