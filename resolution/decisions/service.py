"""Decides conflicts, for the resolver, the API and the admin alike. The row of a decision holds what it changed, before
and after; resolution/decisions/undo.py needs no more."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from memory.db.transactions import run_transaction
from memory.domain.types import Triple, TripleIds
from memory.graph import store
from memory.graph.store import Assertion, Attribution
from memory.models import Dimension, Edge, Source
from resolution import rulings
from resolution.actors import Actor
from resolution.decisions.snapshots import (
    Surroundings,
    find_changed_slots,
    find_differences,
    read_triple,
    take_surroundings,
)
from resolution.domain.verdicts import ALLOWED, Verdict
from resolution.errors import DecisionError, InvalidDecision, Outdated, UnknownId
from resolution.intake.assertions import settle
from resolution.intake.conflict_queue import OPEN, rebase
from resolution.models import CollisionType, Conflict, DecidedTriple, Decision

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dispute:
    """A locked conflict, and what is to be done about it."""

    conflict: Conflict
    # Locked, too: the fact in the slot or, for a cycle, the one that closes it. None where it has gone; then the slot
    # is free, unless the incoming fact itself is in it.
    existing: Edge | None
    is_placed: bool
    verdict: Verdict
    actor: Actor
    dim_ids: dict[str, int]  # of the dimensions that the verdict names

    @property
    def attribution(self) -> Attribution:
        """Of what the decision changes."""
        return self.actor.attribute(self.verdict.reason)


def decide(conflict_id: int, actor: Actor, verdict: Verdict, *, seen: Conflict | None = None) -> Decision:
    """Does what the verdict says. Raises DecisionError.

    ``seen`` is the conflict as the decider read it: if it is against something else by now, nothing is done."""
    try:
        decision = run_transaction(lambda: _decide(conflict_id, actor, verdict, seen))
    except Outdated:
        # That transaction is lost. Whoever looks at the conflict again sees what it is against now.
        with transaction.atomic():
            conflict = _find(conflict_id)
            store.lock_dimensions([conflict.dim_id])
            rebase(conflict.slot, fill=False)
        raise
    extra = {"conflict": conflict_id, "kind": verdict.decision, "decision": decision.pk}
    logger.info("conflict.decided", extra=extra)
    return decision


def _decide(conflict_id: int, actor: Actor, verdict: Verdict, seen: Conflict | None) -> Decision:
    conflict = _find(conflict_id)
    dim_ids = store.ensure_tokens(verdict.dimensions)
    # First the locks of all dimensions that may be written, then the rows: so no two decisions can deadlock.
    store.lock_dimensions([conflict.dim_id, *dim_ids.values()])
    conflict = _lock(conflict_id, seen)
    existing, is_placed = _lock_existing(conflict)
    dispute = Dispute(conflict, existing, is_placed, verdict, actor, dim_ids)
    _refuse_unfit(dispute)

    concepts = {conflict.concept_id} | ({existing.concept_id} if existing is not None else set())
    before = take_surroundings(concepts, dim_ids.values())
    CHANGES[verdict.decision](dispute)
    is_dismissed = verdict.decision == "dismiss"
    Conflict.objects.filter(id=conflict.pk).update(
        status=Conflict.Status.DISMISSED if is_dismissed else Conflict.Status.RESOLVED,
        resolved_at=timezone.now(),
        run=actor.run,
        claimed_until=None,
    )
    # Whatever else is open in a slot that changed is against another fact now, or has room.
    for slot in find_changed_slots(before, take_surroundings(concepts, dim_ids.values())):
        rebase(slot, fill=True)
    after = take_surroundings(concepts, dim_ids.values(), map(int, before["conflicts"]))
    return _record(dispute, *find_differences(before, after))


# --- what it is about ---


def _find(conflict_id: int, *, is_locked: bool = False) -> Conflict:
    """Raises UnknownId."""
    # Without a lock only its concept, dimension and incoming parent are sure: they never change.
    rows = Conflict.objects.select_related("concept", "dim", "incoming_parent")
    if is_locked:
        rows = rows.select_for_update(of=("self",))
    conflict = rows.filter(id=conflict_id).first()
    if conflict is None:
        raise UnknownId(f"There is no conflict {conflict_id}.")
    return conflict


def _lock(conflict_id: int, seen: Conflict | None) -> Conflict:
    """Raises DecisionError if it was decided, or is no longer what was ``seen``."""
    conflict = _find(conflict_id, is_locked=True)
    if conflict.status not in OPEN:
        last = Decision.objects.filter(conflict=conflict).exclude(kind=Decision.Kind.UNDO).order_by("-id").first()
        if last is None:
            raise DecisionError(f"Conflict {conflict.pk} is closed: {conflict.status}.")
        raise DecisionError(f"Conflict {conflict.pk} was already decided by {last.actor}: {last.get_kind_display()}.")
    if seen is not None and seen.against != conflict.against:
        raise DecisionError(f"Conflict {conflict.pk} has changed meanwhile: it is now {conflict}.")
    return conflict


def _lock_existing(conflict: Conflict) -> tuple[Edge | None, bool]:
    """The fact that the conflict is against, and whether the incoming one is in the graph already. Raises Outdated."""
    edge = store.lock_edge(conflict.slot)
    if edge is not None and edge.parent_id == conflict.incoming_parent_id:
        return None, True
    if edge is not None and edge.parent_id != conflict.existing_parent_id:
        raise Outdated(f"Conflict {conflict.pk} has changed meanwhile: the graph now says {edge}.")
    if edge is not None or conflict.existing_parent_id is not None:
        return edge, False
    closing = store.lock_closing_edge(conflict.incoming)
    if closing is not None and closing.concept_id != conflict.blocking_concept_id:
        raise Outdated(
            f"Conflict {conflict.pk} has changed meanwhile: now {closing} closes the cycle. Look at it again."
        )
    return closing, False


def _refuse_unfit(dispute: Dispute) -> None:
    conflict, verdict = dispute.conflict, dispute.verdict
    if dispute.actor.source != Source.OPERATOR and verdict.decision not in ALLOWED[conflict.collision_type]:
        collision_type = CollisionType(conflict.collision_type)
        raise DecisionError(
            f"{verdict.decision!r} of {collision_type.label} ({collision_type}) is for an operator to decide."
        )
    disputed = {conflict.concept_id, conflict.incoming_parent_id}
    if dispute.existing is not None:
        disputed |= {dispute.existing.concept_id, dispute.existing.parent_id}
    for name, dim_id in dispute.dim_ids.items():
        if dim_id in disputed:
            raise InvalidDecision(f"{name!r} cannot be the dimension: the dispute is about it.")


# --- what each decision changes ---


def _decompose(dispute: Dispute) -> None:
    """Both are right: the existing fact moves to one dimension, the incoming one goes to the other."""
    _refuse_placed(dispute)
    conflict, existing, verdict = dispute.conflict, dispute.existing, dispute.verdict
    if existing is None:
        raise DecisionError(f"Nothing contradicts {conflict.incoming_text} any more: an update puts it in the graph.")
    # One of the two may be the dimension that they dispute: then that fact has it to itself.
    flavours = {verdict.existing_dimension: existing.is_isa, verdict.new_dimension: conflict.incoming_is_isa}
    # By their ids, as every writer of several dimensions makes them: so no two decisions can deadlock.
    for name in sorted(flavours, key=dispute.dim_ids.__getitem__):
        _ensure_dimension(dispute.dim_ids[name], is_isa=flavours[name], split_from_id=conflict.dim_id)

    speakers = rulings.find_speakers([existing])  # before it moves: the history names its slot
    existing_id, new_id = dispute.dim_ids[verdict.existing_dimension], dispute.dim_ids[verdict.new_dimension]
    if existing_id != conflict.dim_id and _move(dispute, existing, verdict.existing_dimension):
        rulings.remember(speakers, DecidedTriple.Kind.DECOMPOSED, moved_to_id=existing_id)
    if new_id == conflict.dim_id:
        _insert_incoming(dispute)
    else:
        _restate_incoming(dispute, verdict.new_dimension, is_isa=conflict.incoming_is_isa)
        _remember_incoming(dispute, DecidedTriple.Kind.DECOMPOSED, moved_to_id=new_id)


def _update(dispute: Dispute) -> None:
    """The incoming fact is right: what it is against is retired, and it takes its slot."""
    _refuse_placed(dispute)
    if dispute.existing is not None:
        rulings.remember(rulings.find_speakers([dispute.existing]), DecidedTriple.Kind.RETIRED)
        store.retire(dispute.existing, dispute.attribution)
    _insert_incoming(dispute)


def _relocate(dispute: Dispute) -> None:
    """The incoming fact is right, but in another dimension."""
    _refuse_placed(dispute)
    conflict, verdict = dispute.conflict, dispute.verdict
    dim_id = dispute.dim_ids[verdict.dimension]
    if dim_id == conflict.dim_id:
        raise InvalidDecision(f"{conflict.dim} is where it collided: name another dimension.")
    there = store.lock_edge((conflict.concept_id, dim_id))
    if there is not None and there.parent_id != conflict.incoming_parent_id:
        raise DecisionError(f"That place is taken: {there}.")
    is_isa = conflict.incoming_is_isa if verdict.is_isa is None else verdict.is_isa
    _ensure_dimension(dim_id, is_isa=is_isa)
    _restate_incoming(dispute, verdict.dimension, is_isa=is_isa)
    _remember_incoming(dispute, DecidedTriple.Kind.RELOCATED, moved_to_id=dim_id)


def _dismiss(dispute: Dispute) -> None:
    """The incoming fact is dropped, the graph stays."""
    if not dispute.is_placed:
        _remember_incoming(dispute, DecidedTriple.Kind.DISMISSED)


CHANGES: Final[dict[str, Callable[[Dispute], None]]] = {
    "decompose": _decompose,
    "update": _update,
    "relocate": _relocate,
    "dismiss": _dismiss,
}


def _refuse_placed(dispute: Dispute) -> None:
    if dispute.is_placed:
        raise DecisionError(f"{dispute.conflict.incoming_text} is in the graph already; the conflict can be dismissed.")


def _refuse_cycle(ids: TripleIds, error: type[DecisionError] = DecisionError) -> None:
    if (closing := store.find_closing_edge(ids)) is not None:
        raise error(f"That would close a cycle: {closing}.")


def _ensure_dimension(dim_id: int, *, is_isa: bool, split_from_id: int | None = None) -> None:
    if not Dimension.objects.filter(soas_id=dim_id).exists():  # one that exists keeps the lineage it has
        store.ensure_dimension(dim_id, is_isa=is_isa)
        Dimension.objects.filter(soas_id=dim_id).update(split_from_id=split_from_id)


def _move(dispute: Dispute, edge: Edge, dimension: str) -> bool:
    """Whether the existing fact left its slot: it does not if the new one is taken by another."""
    ids = TripleIds(edge.concept_id, dispute.dim_ids[dimension], edge.parent_id)
    if store.lock_edge(ids.slot) is None:
        _refuse_cycle(ids)
        rulings.forget(ids)
        store.move(edge, ids.dim_id, dispute.attribution)
        return True
    # A collision there is queued, and the fact stays where it is until that is decided.
    attribution = Attribution(edge.agent, Source(edge.source), edge.confidence, edge.said_at, channel=edge.channel)
    _restate(ids, Triple(edge.concept.token, edge.parent.token, dimension, edge.is_isa), attribution)
    there = store.lock_edge(ids.slot)
    if there is None or there.parent_id != edge.parent_id:
        return False
    store.retire(edge, dispute.attribution)
    return True


def _insert_incoming(dispute: Dispute) -> None:
    """Into the slot that it disputed."""
    conflict = dispute.conflict
    if (there := store.lock_edge(conflict.slot)) is not None:
        raise DecisionError(f"That place is still taken: {there}.")
    # Where nothing was in the way any more, another edge has come to close a cycle.
    _refuse_cycle(conflict.incoming, DecisionError if dispute.existing is not None else Outdated)
    rulings.forget(conflict.incoming)
    edge = store.new_edge(conflict.incoming, conflict.incoming_is_isa, conflict.attribution)
    store.insert(edge, conflict.attribution)


def _restate_incoming(dispute: Dispute, dimension: str, *, is_isa: bool) -> None:
    conflict = dispute.conflict
    ids = conflict.incoming._replace(dim_id=dispute.dim_ids[dimension])
    triple = Triple(conflict.concept.token, conflict.incoming_parent.token, dimension, is_isa)
    _restate(ids, triple, conflict.attribution)


def _restate(ids: TripleIds, triple: Triple, attribution: Attribution) -> None:
    """Places the fact in a dimension where it was decided to belong, as if it were said now, or queues its collision
    there."""
    rulings.forget(ids)  # an earlier ruling would keep out what is decided to belong here now
    (outcome,) = settle([Assertion(triple, attribution)])
    if outcome.status == "invalid":
        raise InvalidDecision(f"{triple} cannot be: {outcome.reason}.")
    if outcome.status in ("superseded", "outdated"):  # whichever is newer, nobody decided about that one
        raise DecisionError(f"That place is taken: {outcome.existing}.")
    if outcome.conflict is not None and outcome.conflict.collision_type == CollisionType.CYCLE:
        raise DecisionError(f"That would close a cycle: {outcome.existing}.")


def _remember_incoming(dispute: Dispute, kind: DecidedTriple.Kind, *, moved_to_id: int | None = None) -> None:
    conflict = dispute.conflict
    agents = {conflict.incoming: rulings.find_disputants(conflict)}
    rulings.remember(agents, kind, conversation=bytes(conflict.conversation), moved_to_id=moved_to_id)


def _record(dispute: Dispute, before: Surroundings, after: Surroundings) -> Decision:
    actor, verdict = dispute.actor, dispute.verdict
    decision = Decision.objects.create(
        kind=verdict.decision,
        conflict=dispute.conflict,
        run=actor.run,
        actor=actor.signature,
        source=actor.source,
        reason=verdict.reason,
        arguments=verdict.arguments,
        before=before,
        after=after,
    )
    about = {"decision": decision.pk, "kind": verdict.decision, "actor": actor.signature, "reason": verdict.reason}
    Conflict.objects.filter(id=dispute.conflict.pk).update(resolution=about | verdict.arguments)
    others = Conflict.objects.filter(id__in=map(int, after["conflicts"]), status=Conflict.Status.RESOLVED)
    others.exclude(id=dispute.conflict.pk).update(resolution=about | {"conflict": dispute.conflict.pk})
    rulings.link(map(read_triple, after["triples"]), decision)
    return decision
