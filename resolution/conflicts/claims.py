"""Decides claims, for the resolver, the API and the admin."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from memory.db.transactions import in_transaction
from memory.graph import store
from memory.graph.slots import with_splits
from memory.graph.store import Assertion, Attribution
from memory.models import Dimension, Edge, Source
from memory.types import Triple, TripleIds
from resolution.actors import Actor
from resolution.conflicts import rulings
from resolution.conflicts.change_log import find_changed_slots, read_changes, recording
from resolution.conflicts.detection import close_agreed, refresh_facts
from resolution.conflicts.queue import OPEN, rebase
from resolution.conflicts.verdict import ALLOWED, Verdict
from resolution.errors import DecisionError, InvalidDecision, Outdated, UnknownId
from resolution.intake.place import place_statements
from resolution.models import Claim, CollisionType, Conflict, DecidedTriple, Decision

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dispute:
    """A locked claim and the verdict to carry out."""

    claim: Claim
    # Also locked: the fact in the slot or, for a cycle, the one that closes it. None if it is gone; then the slot is
    # free, unless it holds the incoming fact itself.
    existing: Edge | None
    is_placed: bool
    verdict: Verdict
    actor: Actor
    dim_ids: dict[str, int]  # by the names of the dimensions in the verdict

    @property
    def attribution(self) -> Attribution:
        """The attribution of the decision's changes: the actor and the reason."""
        return self.actor.attribute(self.verdict.reason)


def decide(claim_id: int, actor: Actor, verdict: Verdict, *, seen: Claim | None = None) -> Decision:
    """Carry out the verdict. Raises DecisionError.

    ``seen`` is the claim as the decider read it: if it is against something else by now, nothing is done.
    """
    try:
        decision = _decide(claim_id, actor, verdict, seen)
    except Outdated:
        # That transaction was rolled back. Record what the claim is against now, so that the next reader sees it.
        with transaction.atomic():
            claim = _find(claim_id)
            store.lock_dimensions([claim.dim_id])
            rebase(claim.slot, fill=False)
        raise
    extra = {
        "claim": claim_id,
        "kind": verdict.decision,
        "decision": decision.pk,
    }
    logger.info("conflict.decided", extra=extra)
    return decision


@in_transaction
def _decide(claim_id: int, actor: Actor, verdict: Verdict, seen: Claim | None) -> Decision:
    claim = _find(claim_id)
    dim_ids = store.ensure_tokens(verdict.dimensions)
    # Lock all dimensions that may be written first, then the rows, so that no two decisions can deadlock.
    store.lock_dimensions([claim.dim_id, *dim_ids.values()])
    claim = _lock(claim_id, seen)
    existing, is_placed = _lock_existing(claim)
    dispute = Dispute(claim, existing, is_placed, verdict, actor, dim_ids)
    _refuse_unfit(dispute)

    concepts = {claim.concept_id} | ({existing.concept_id} if existing is not None else set())
    is_mixed = claim.conflict.slot_kind != Conflict.Kind.EDGE_SLOT
    kind = Decision.Kind(verdict.decision)
    with recording(kind, actor, verdict.reason, claim=claim, arguments=verdict.arguments) as decision:
        CHANGES[verdict.decision](dispute)
        if is_mixed:  # keep what other layers dispute in this conflict, which would close once it has no claim
            refresh_facts(Edge.objects.filter(concept_id__in=concepts).values_list("pk", flat=True))
        about = {"decision": decision.pk, "kind": kind, "actor": actor.signature, "reason": verdict.reason}
        Claim.objects.filter(id=claim.pk).update(
            status=Claim.Status.DISMISSED if kind == Decision.Kind.DISMISS else Claim.Status.RESOLVED,
            resolved_at=timezone.now(),
            run=actor.run,
            claimed_until=None,
            resolution=about | verdict.arguments,
        )
        # Other open claims in a changed slot are against another fact now. A free slot stays free: nobody chose a
        # claim.
        for slot in find_changed_slots(decision.pk):
            rebase(slot, fill=False)
        others = Claim.objects.filter(pk__in=[one.key for one in read_changes(decision.pk, [Claim])])
        others = others.filter(status=Claim.Status.RESOLVED).exclude(pk=claim.pk)
        others.update(resolution=about | {"conflict": claim.pk})
    if is_mixed:  # the remaining members may agree by now
        close_agreed([claim.conflict_id])
    return decision


# --- finding and locking ---


def _find(claim_id: int, *, is_locked: bool = False) -> Claim:
    """Find the claim. Raises UnknownId."""
    # Without a lock, only the concept, dimension and incoming parent are reliable: they never change.
    rows = Claim.objects.select_related("concept", "dim", "incoming_parent")
    if is_locked:
        rows = rows.select_for_update(of=("self",))
    claim = rows.filter(id=claim_id).first()
    if claim is None:
        raise UnknownId(f"There is no claim {claim_id}.")
    return claim


def _lock(claim_id: int, seen: Claim | None) -> Claim:
    """Lock the claim. Raises DecisionError if it is already decided or no longer as ``seen``."""
    claim = _find(claim_id, is_locked=True)
    if claim.status not in OPEN:
        about = Q(claim=claim) | Q(conflict=claim.conflict_id)
        last = Decision.objects.filter(about).exclude(kind=Decision.Kind.UNDO).order_by("-id").first()
        if last is None:
            raise DecisionError(f"Conflict {claim.conflict_id} is closed: {claim.status}.")
        raise DecisionError(
            f"Conflict {claim.conflict_id} was already decided by {last.actor}: {last.get_kind_display()}."
        )
    if seen is not None and seen.against != claim.against:
        raise DecisionError(f"Conflict {claim.conflict_id} has changed meanwhile: it is now {claim}.")
    return claim


def _lock_existing(claim: Claim) -> tuple[Edge | None, bool]:
    """Return the fact that the claim is against, and True if the incoming fact is already in the graph. Raises
    Outdated."""
    edge = store.lock_edge(claim.incoming)
    if edge is not None and edge.parent_id == claim.incoming_parent_id and not claim.is_retraction:
        return None, True
    if edge is not None and edge.parent_id != claim.existing_parent_id:
        raise Outdated(f"Conflict {claim.conflict_id} has changed meanwhile: the graph now says {edge}.")
    if edge is not None or claim.existing_parent_id is not None:
        return edge, False
    if (closing := store.find_closing_edge(claim.incoming)) is not None:
        closing = store.lock_edge(closing.ids)
    if closing is not None and closing.concept_id != claim.blocking_concept_id:
        raise Outdated(
            f"Conflict {claim.conflict_id} has changed meanwhile: now {closing} closes the cycle. Look at it again."
        )
    return closing, False


def _refuse_unfit(dispute: Dispute) -> None:
    claim, verdict = dispute.claim, dispute.verdict
    if dispute.actor.source != Source.OPERATOR and verdict.decision not in ALLOWED[claim.collision_type]:
        collision_type = CollisionType(claim.collision_type)
        raise DecisionError(
            f"{verdict.decision!r} of {collision_type.label} ({collision_type}) is for an operator to decide."
        )
    if claim.is_retraction and verdict.decision not in ("update", "dismiss"):
        raise InvalidDecision(f"{claim.incoming_text} is to be taken out: it is kept (dismiss), or goes (update).")
    disputed = {claim.concept_id, claim.incoming_parent_id}
    if dispute.existing is not None:
        disputed |= {dispute.existing.concept_id, dispute.existing.parent_id}
    for name, dim_id in dispute.dim_ids.items():
        if dim_id in disputed:
            raise InvalidDecision(f"{name!r} cannot be the dimension: the dispute is about it.")


# --- the decisions ---


def _decompose(dispute: Dispute) -> None:
    """Keep both facts: the existing one moves to one dimension, the incoming one goes to the other."""
    _refuse_placed(dispute)
    claim, existing, verdict = dispute.claim, dispute.existing, dispute.verdict
    if existing is None:
        raise DecisionError(f"Nothing contradicts {claim.incoming_text} any more: an update puts it in the graph.")
    # One of the two may be the disputed dimension itself: then that fact has it to itself.
    flavours = {verdict.existing_dimension: existing.is_isa, verdict.new_dimension: claim.incoming_is_isa}
    # Ordered by id, like all writers of several dimensions, so that no two decisions can deadlock.
    for name in sorted(flavours, key=dispute.dim_ids.__getitem__):
        _ensure_dimension(dispute.dim_ids[name], is_isa=flavours[name], split_from_id=claim.dim_id)

    speakers = rulings.find_speakers([existing])  # before it moves: the history names its slot
    new_id = dispute.dim_ids[verdict.new_dimension]
    if dispute.dim_ids[verdict.existing_dimension] != claim.dim_id and (
        moved_to_id := _move(dispute, existing, verdict.existing_dimension)
    ):
        rulings.remember(speakers, DecidedTriple.Kind.DECOMPOSED, moved_to_id=moved_to_id)
    if new_id == claim.dim_id:
        _insert_incoming(dispute)
    else:
        _restate_incoming(dispute, verdict.new_dimension, is_isa=claim.incoming_is_isa)
        remember(claim, DecidedTriple.Kind.DECOMPOSED, moved_to_id=new_id)


def _update(dispute: Dispute) -> None:
    """Retire the existing fact and put the incoming one in its slot. A retraction leaves the slot empty."""
    _refuse_placed(dispute)
    if dispute.existing is not None:
        rulings.remember(rulings.find_speakers([dispute.existing]), DecidedTriple.Kind.RETIRED)
        store.retire(dispute.existing, dispute.attribution)
    if not dispute.claim.is_retraction:
        _insert_incoming(dispute)


def _relocate(dispute: Dispute) -> None:
    """Put the incoming fact in another dimension."""
    _refuse_placed(dispute)
    claim, verdict = dispute.claim, dispute.verdict
    dim_id = dispute.dim_ids[verdict.dimension]
    if dim_id == claim.dim_id:
        raise InvalidDecision(f"{claim.dim} is where it collided: name another dimension.")
    there = store.lock_edge(claim.incoming._replace(dim_id=dim_id))
    if there is not None and there.parent_id != claim.incoming_parent_id:
        raise DecisionError(f"That place is taken: {there}.")
    is_isa = claim.incoming_is_isa if verdict.is_isa is None else verdict.is_isa
    _ensure_dimension(dim_id, is_isa=is_isa)
    _restate_incoming(dispute, verdict.dimension, is_isa=is_isa)
    remember(claim, DecidedTriple.Kind.RELOCATED, moved_to_id=dim_id)


def _dismiss(dispute: Dispute) -> None:
    """Drop the incoming fact; the graph does not change."""
    if not dispute.is_placed:
        remember(dispute.claim, DecidedTriple.Kind.DISMISSED)


CHANGES: Final[dict[str, Callable[[Dispute], None]]] = {
    "decompose": _decompose,
    "update": _update,
    "relocate": _relocate,
    "dismiss": _dismiss,
}


def _refuse_placed(dispute: Dispute) -> None:
    if dispute.is_placed:
        raise DecisionError(f"{dispute.claim.incoming_text} is in the graph already; the conflict can be dismissed.")


def _refuse_cycle(ids: TripleIds, error: type[DecisionError] = DecisionError) -> None:
    if (closing := store.find_closing_edge(ids)) is not None:
        raise error(f"That would close a cycle: {closing}.")


def _ensure_dimension(dim_id: int, *, is_isa: bool, split_from_id: int | None = None) -> None:
    if not Dimension.objects.filter(soas_id=dim_id).exists():  # an existing one keeps its lineage
        store.ensure_dimension(dim_id, is_isa=is_isa)
        Dimension.objects.filter(soas_id=dim_id).update(split_from_id=split_from_id)


def _move(dispute: Dispute, edge: Edge, dimension: str) -> int | None:
    """Move the existing fact and return its new dimension. Returns None if it stays, because its new slot holds another
    fact."""
    ids = TripleIds(edge.concept_id, dispute.dim_ids[dimension], edge.parent_id)
    if store.lock_edge(ids) is None and _find_at_or_below(ids, edge) is None:
        _refuse_cycle(ids)
        rulings.forget(ids)
        store.move(edge, ids.dim_id, dispute.attribution)
        return ids.dim_id
    # A collision there is queued; the fact stays in its old slot until it is decided.
    attribution = Attribution(edge.agent, Source(edge.source), edge.confidence, edge.said_at, channel=edge.channel)
    _restate(ids, Triple(edge.concept.token, edge.parent.token, dimension, edge.is_isa), attribution)
    if (there := _find_at_or_below(ids, edge)) is None:
        return None
    store.retire(edge, dispute.attribution)
    return there.dim_id


def _find_at_or_below(ids: TripleIds, moving: Edge) -> Edge | None:
    """Find another edge that says the same, in that dimension or in one that was split from it."""
    dim_ids = [ids.dim_id, *sorted({row.pk for row in with_splits([ids.dim_id])} - {ids.dim_id})]
    same = Edge.objects.filter(concept_id=ids.concept_id, parent_id=ids.parent_id, dim_id__in=dim_ids)
    found = same.exclude(pk=moving.pk)
    return min(found, key=lambda edge: dim_ids.index(edge.dim_id), default=None)


def _insert_incoming(dispute: Dispute) -> None:
    # If nothing was in the way any more and it still closes a cycle, another edge was added meanwhile.
    insert(dispute.claim, DecisionError if dispute.existing is not None else Outdated)


def insert(claim: Claim, error: type[DecisionError] = DecisionError) -> None:
    """Put the claimed fact in its free slot. Raises DecisionError if the slot is taken, ``error`` if the fact would
    close a cycle."""
    if (there := store.lock_edge(claim.incoming)) is not None:
        raise DecisionError(f"That place is still taken: {there}.")
    _refuse_cycle(claim.incoming, error)
    rulings.forget(claim.incoming)
    edge = store.new_edge(claim.incoming, claim.incoming_is_isa, claim.attribution)
    store.insert(edge, claim.attribution)


def _restate_incoming(dispute: Dispute, dimension: str, *, is_isa: bool) -> None:
    claim = dispute.claim
    ids = claim.incoming._replace(dim_id=dispute.dim_ids[dimension])
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


def remember(claim: Claim, kind: DecidedTriple.Kind, *, moved_to_id: int | None = None) -> None:
    """Store a ruling about the claim, so that repeating it does not open the conflict again. Does nothing for a
    retraction."""
    if not claim.is_retraction:
        disputants = {claim.incoming: rulings.find_disputants(claim)}
        rulings.remember(disputants, kind, conversation=bytes(claim.conversation), moved_to_id=moved_to_id)
