"""The four decisions about a conflict, used by the resolver, the API and the admin alike.

Each is one transaction: it takes the locks of all dimensions it may write, in the order of their ids, then that of the
conflict, and looks whether the world is still as the conflict says. What else is open in a slot that changes is put
against what stands there now. The decision's row holds what it changed, before and after: resolution/decisions/undo.py
needs no more.
"""

import logging
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils import timezone

from memory.db.transactions import run_transaction
from memory.graph import store
from memory.models import Source
from resolution.actors import Actor
from resolution.decisions import snapshots
from resolution.decisions.actions import Case, Plan, apply_decompose, apply_dismiss, apply_relocate, apply_update
from resolution.decisions.locking import DecisionError, Outdated, Unfit, enter, find, rebase
from resolution.decisions.snapshots import Difference, ids
from resolution.domain.verdicts import ALLOWED, Verdict, VerdictMistake, read_dimension, read_dimensions, read_reason
from resolution.models import CollisionType, Conflict, DecidedTriple, Decision

__all__ = ["Actor", "DecisionError", "decide", "decompose", "dismiss", "relocate", "update"]

logger = logging.getLogger(__name__)

Apply = Callable[[Case], None]


def decide(conflict_id: int, actor: Actor, verdict: Verdict, *, seen: Conflict | None = None) -> Decision:
    """Does what the verdict says. Raises DecisionError.

    ``seen`` is the conflict as the decider read it: if it stands against something else by now, nothing is done."""
    if verdict.decision == "decompose":
        names = {"existing_dimension": verdict.existing_dimension, "new_dimension": verdict.new_dimension}
        return decompose(conflict_id, actor, verdict.reason, seen=seen, **names)
    if verdict.decision == "relocate":
        return relocate(
            conflict_id, actor, verdict.reason, dimension=verdict.dimension, is_isa=verdict.is_isa, seen=seen
        )
    return (update if verdict.decision == "update" else dismiss)(conflict_id, actor, verdict.reason, seen=seen)


def decompose(
    conflict_id: int,
    actor: Actor,
    reason: str,
    *,
    existing_dimension: str,
    new_dimension: str,
    seen: Conflict | None = None,
) -> Decision:
    """Both are right: the standing fact moves to ``existing_dimension``, the newcomer goes to ``new_dimension``.

    One of the two may be the dimension they dispute: then that fact has it to itself. A fact whose new slot is taken
    is a collision there: it is queued, and a standing fact stays where it is until that is decided. Raises
    DecisionError."""
    existing, new = _read(read_dimensions, existing_dimension, new_dimension)
    arguments = {"existing_dimension": existing, "new_dimension": new}
    plan = Plan("decompose", actor, _read(read_reason, reason), arguments, (existing, new))
    return _take(conflict_id, plan, apply_decompose, seen)


def update(conflict_id: int, actor: Actor, reason: str, *, seen: Conflict | None = None) -> Decision:
    """The newcomer is right: what stands against it is retired, and it takes its slot. Raises DecisionError."""
    return _take(conflict_id, Plan("update", actor, _read(read_reason, reason), {}), apply_update, seen)


def relocate(
    conflict_id: int,
    actor: Actor,
    reason: str,
    *,
    dimension: str,
    is_isa: bool | None = None,
    seen: Conflict | None = None,
) -> Decision:
    """The newcomer is right, but in another dimension; ``is_isa`` of None keeps what was said. Raises DecisionError,
    also where something else stands there."""
    name = _read(read_dimension, dimension, "dimension")
    plan = Plan("relocate", actor, _read(read_reason, reason), {"dimension": name, "is_isa": is_isa}, (name,))
    return _take(conflict_id, plan, apply_relocate, seen)


def dismiss(conflict_id: int, actor: Actor, reason: str, *, seen: Conflict | None = None) -> Decision:
    """The newcomer is dropped, the world stays. Raises DecisionError."""
    return _take(conflict_id, Plan("dismiss", actor, _read(read_reason, reason), {}), apply_dismiss, seen)


def _read(reader: Callable[..., Any], *written: object) -> Any:
    try:
        return reader(*written)
    except VerdictMistake as mistake:
        text = str(mistake)
        raise Unfit(f"{text[0].upper()}{text[1:]}.") from mistake


def _take(conflict_id: int, plan: Plan, apply: Apply, seen: Conflict | None) -> Decision:
    try:
        decision = run_transaction(lambda: _transact(conflict_id, plan, apply, seen))
    except Outdated:
        _look_again(conflict_id)
        raise
    logger.info("conflict.decided", extra={"conflict": conflict_id, "kind": plan.kind, "decision": decision.pk})
    return decision


@transaction.atomic
def _look_again(conflict_id: int) -> None:
    conflict = find(conflict_id)
    store.lock_dimensions([conflict.dim_id])
    rebase(conflict.concept_id, conflict.dim_id, fill=False)


def _transact(conflict_id: int, plan: Plan, apply: Apply, seen: Conflict | None) -> Decision:
    conflict = find(conflict_id)
    dims = store.ensure_tokens(plan.dimensions)
    store.lock_dimensions([conflict.dim_id, *dims.values()])
    case = Case(enter(conflict, seen), plan, dims)
    _refuse_what_is_not_theirs(case)
    _refuse_names_in_dispute(case)
    concepts = {conflict.concept_id}
    if (standing := case.contest.standing) is not None:
        concepts.add(standing.concept_id)
    before = snapshots.take(concepts, dims.values())
    apply(case)
    _close(case)
    for slot in snapshots.changed_slots(before, snapshots.take(concepts, dims.values())):
        rebase(*slot, fill=True)
    after = snapshots.take(concepts, dims.values(), map(int, before["conflicts"]))
    return _record(case, *snapshots.difference(before, after))


def _refuse_what_is_not_theirs(case: Case) -> None:
    plan, collision_type = case.plan, case.conflict.collision_type
    if plan.actor.source != Source.OPERATOR and plan.kind not in ALLOWED[collision_type]:
        label = CollisionType(collision_type).label
        raise DecisionError(f"{plan.kind!r} of {label} ({collision_type}) is for an operator to decide.")


def _refuse_names_in_dispute(case: Case) -> None:
    standing = case.contest.standing
    facts = {case.conflict.concept_id, case.conflict.incoming_parent_id}
    if standing is not None:
        facts |= {standing.concept_id, standing.parent_id}
    for name, dim_id in case.dims.items():
        if dim_id in facts:
            raise Unfit(f"{name!r} cannot be the dimension: the dispute is about it.")


def _close(case: Case) -> None:
    is_dismissed = case.plan.kind == "dismiss"
    Conflict.objects.filter(id=case.conflict.pk).update(
        status=Conflict.Status.DISMISSED if is_dismissed else Conflict.Status.RESOLVED,
        resolved_at=timezone.now(),
        run=case.plan.actor.run,
        claimed_until=None,
    )


def _record(case: Case, before: Difference, after: Difference) -> Decision:
    plan = case.plan
    decision = Decision.objects.create(
        kind=plan.kind,
        conflict=case.conflict,
        run=plan.actor.run,
        actor=plan.actor.signature,
        source=plan.actor.source,
        reason=plan.reason,
        arguments=plan.arguments,
        before=before,
        after=after,
    )
    about = {"decision": decision.pk, "kind": plan.kind, "actor": plan.actor.signature, "reason": plan.reason}
    Conflict.objects.filter(id=case.conflict.pk).update(resolution=about | plan.arguments)
    Conflict.objects.filter(id__in=map(int, after["conflicts"]), status=Conflict.Status.RESOLVED).exclude(
        id=case.conflict.pk
    ).update(resolution=about | {"conflict": case.conflict.pk})
    for concept_id, dim_id, parent_id in map(ids, after["triples"]):
        rows = DecidedTriple.objects.filter(concept_id=concept_id, dim_id=dim_id, parent_id=parent_id)
        rows.update(decision=decision)
    return decision
