"""Decides conflicts, for the resolver, the API and the admin. A layer's trust orders what people see and decides
nothing. Language models only decide claims."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Case, Q, Value, When
from django.utils import timezone

from memory.db.transactions import in_transaction
from memory.graph import store as graph
from memory.memories import store as memories
from memory.models import Edge, Source
from resolution.actors import Actor
from resolution.conflicts.change_log import find_changed_slots, recording
from resolution.conflicts.detection import close_agreed, disagree, refresh_facts
from resolution.conflicts.members import (
    OF_FACTS,
    ClaimRow,
    FactRow,
    Kind,
    MemberRow,
    MemoryRow,
    change_of,
    describe_seen,
    is_rival,
    lock_rows,
    says_same,
)
from resolution.conflicts.moves import Move, decompose, relocate
from resolution.conflicts.queue import IN_ORDER, OPEN, recheck_claims
from resolution.conflicts.verdict import ALLOWED, MemberKey, Verdict
from resolution.errors import DecisionError, InvalidDecision, Outdated, UnknownId
from resolution.models import Claim, CollisionType, Conflict, ConflictMember, Decision

logger = logging.getLogger(__name__)

KINDS: Final = {
    "update": Decision.Kind.UPDATE,
    "decompose": Decision.Kind.DECOMPOSE,
    "relocate": Decision.Kind.RELOCATE,
    "dismiss": Decision.Kind.DISMISS,
    "supersede_others": Decision.Kind.SUPERSEDE,
    "no_action": Decision.Kind.ACCEPT,
    "yes": Decision.Kind.ANSWER,
    "no": Decision.Kind.ANSWER,
}
MOVES: Final[Mapping[str, Callable[[Move], None]]] = {"decompose": decompose, "relocate": relocate}


def decide(conflict_id: int, verdict: Verdict, actor: Actor, *, seen: str | None = None) -> Decision:
    """Carry out the verdict and return the decision. Raises DecisionError.

    ``seen`` is what the decider read (``describe_seen``): the conflict or, if the actor is a model, the claim alone. If
    that has changed, nothing is done. Members that the decider did not see stay open.
    """
    try:
        decision = _decide(conflict_id, verdict, actor, seen)
    except Outdated:
        # That transaction was rolled back. Record what the claim is against now, so that the next reader sees it.
        assert verdict.member is not None
        claim = Claim.objects.get(pk=verdict.member.id)
        with transaction.atomic():
            graph.lock_dimensions([claim.dim_id])
            recheck_claims(claim.slot, place_first=False)
        raise
    extra = {"conflict": conflict_id, "kind": decision.kind, "decision": decision.pk}
    logger.info("conflict.decided", extra=extra)
    return decision


def find_claim(conflict_id: int, claim_id: int | None) -> MemberKey:
    """Return the claim to decide: the one that is named, else the only open one, else the one resolved last. Raises
    DecisionError."""
    rows = Claim.objects.filter(conflict_id=conflict_id)
    if claim_id is not None:
        if not rows.filter(pk=claim_id).exists():
            raise UnknownId(f"Conflict {conflict_id} has no claim {claim_id}.")
        return MemberKey(claim_id, Kind.CLAIM)
    waiting = list(rows.filter(status__in=OPEN).order_by(*IN_ORDER).values_list("pk", flat=True))
    if len(waiting) > 1:
        raise InvalidDecision(f"Name the claim as member_id: {', '.join(map(str, waiting))} are open.")
    found = waiting or rows.order_by("-resolved_at", "-pk").values_list("pk", flat=True)[:1]
    if found:
        return MemberKey(found[0], Kind.CLAIM)
    if (conflict := Conflict.objects.filter(pk=conflict_id).first()) is not None:
        raise InvalidDecision(f"Conflict {conflict_id} is of the kind {conflict.slot_kind}: decide it by an action.")
    raise UnknownId(f"There is no conflict {conflict_id}.")


@dataclass(frozen=True, slots=True)
class Plan:
    """The effect of a verdict on the locked members: ``target`` is the one that it names, ``winner`` the one that is
    right, ``losers`` are retired or, if they are claims, decided against. ``existing`` is the fact that a named claim
    is against. If not ``is_whole``, the decision is about that claim alone."""

    conflict: Conflict
    rows: Sequence[MemberRow]
    verdict: Verdict
    actor: Actor
    target: MemberRow | None
    existing: FactRow | None
    winner: MemberRow | None
    losers: Sequence[MemberRow]
    is_whole: bool

    @property
    def keeps_all(self) -> bool:
        return self.winner is None and self.verdict.decision in ("no_action", "dismiss")

    @property
    def accepted(self) -> list[MemberRow]:
        """The open claims that are right: the winner, and what says the same."""
        return [one for one in self.rows if one.is_open_claim and self.agrees(one)]

    def agrees(self, one: MemberRow) -> bool:
        return self.winner is not None and (one is self.winner or says_same(one, self.winner))

    @property
    def undecided(self) -> list[MemberRow]:
        """The current members and open claims that neither win nor lose."""
        if self.winner is None or self.verdict.decision == "no":
            return []
        others = (one for one in self.rows if one.is_current or one.is_open_claim)
        return [one for one in others if one not in self.losers and not self.agrees(one)]

    @property
    def slots(self) -> set[tuple[int, int]]:
        """The slots of facts that go, and of those that become current."""
        gone = [one for one in self.losers if not one.is_open_claim]
        return {slot for one in (*gone, *self.accepted, self.winner) if one is not None for slot in one.slots}

    @property
    def arguments(self) -> dict[str, Any]:
        """The decision's arguments. Those of a whole decision link it to all members."""
        lost = [] if self.keeps_all else self.losers
        dismissed = [one.reference for one in lost if one.is_open_claim and one is not self.target]
        rejected = {"dismissed": dismissed} if dismissed else {}
        if not self.is_whole:
            return self.verdict.arguments | rejected
        decision = self.verdict.decision
        answer = {"answer": decision} if decision in ("yes", "no") else {}
        named = {
            "winner": self.winner.reference if self.winner is not None else None,
            "superseded": [one.reference for one in lost if not one.is_open_claim],
            "others": [one.reference for one in self.rows if one is not self.winner and one not in lost],
        }
        return answer | named | rejected


@in_transaction
def _decide(conflict_id: int, verdict: Verdict, actor: Actor, seen: str | None) -> Decision:
    # Lock all dimensions that may be written first, then the rows, so that no two decisions can deadlock.
    dim_ids = graph.ensure_tokens(verdict.dimensions) if verdict.dimensions else {}
    plan = _make_plan(*lock_rows(conflict_id, dim_ids.values()), verdict, actor, seen)
    conflict, claim = plan.conflict, plan.target.row if plan.target is not None and not plan.is_whole else None
    is_mixed = claim is not None and conflict.slot_kind != Conflict.Kind.EDGE_SLOT
    kind = Decision.Kind.SUPERSEDE if plan.is_whole and verdict.decision == "update" else KINDS[verdict.decision]
    arguments = plan.arguments
    about = {"conflict": conflict if plan.is_whole else None, "claim": claim, "arguments": arguments}
    with recording(kind, actor, verdict.reason, **about) as decision:
        why = {"decision": decision.pk, "kind": kind, "actor": actor.signature, "reason": verdict.reason}
        _change_facts(plan, dim_ids)
        if claim is not None and is_mixed:
            # Keep what other layers dispute in this conflict, which would close once it has no claim.
            concepts = {claim.concept_id, *([plan.existing.row.concept_id] if plan.existing is not None else [])}
            refresh_facts(Edge.objects.filter(concept_id__in=concepts).values_list("pk", flat=True))
        _close_claims(plan, why | ({"conflict": conflict.pk} if plan.is_whole else arguments))
        if plan.is_whole:
            _change_others(plan, why | arguments)
        # Other open claims in a changed slot are against another fact now. A free slot stays free: nobody chose a
        # claim.
        for slot in find_changed_slots(decision.pk) if verdict.decision in MOVES else plan.slots:
            recheck_claims(slot, place_first=False)
        if waiting := [one.row.pk for one in plan.undecided if one.is_open_claim]:  # a retraction of what is gone
            gone = Claim.objects.filter(pk__in=waiting, status=Claim.Status.RESOLVED)
            gone.update(resolution=why | {"conflict": conflict.pk})
    if is_mixed:  # the remaining members may agree by now
        close_agreed([conflict.pk])
    return decision


# --- what to do ---


def _make_plan(conflict: Conflict, rows: list[MemberRow], verdict: Verdict, actor: Actor, seen: str | None) -> Plan:
    target = _find_target(conflict, rows, verdict)
    is_person = actor.source == Source.OPERATOR
    if not is_person and not (isinstance(target, ClaimRow) and verdict.is_about_claim):
        raise DecisionError("Only people decide a conflict as a whole.")
    saw = rows
    if not is_person and target is not None:  # a model was asked about one claim
        saw = [target]
    elif seen is not None and verdict.decision in ("update", "supersede_others"):
        last = seen.partition("-")[0]
        saw = [one for one in rows if not last.isdigit() or one.member.pk <= int(last)]
    if seen is not None and (seen != describe_seen(saw) or (target is not None and target not in saw)):
        raise DecisionError(f"Conflict {conflict.pk} has changed meanwhile. Look at it again.")
    existing = None
    if isinstance(target, ClaimRow):
        existing = _find_existing(conflict, rows, target.row)
        _refuse_unfit(target, existing, verdict, is_person=is_person)
        if existing is not None and existing not in rows:
            rows = [*rows, existing]
    winner, losers = _choose(rows, target, verdict)
    losers = [one for one in losers if one in saw or one is existing]
    # A person who accepts a claim decides about all members. Where these are facts, the claim alone tells which.
    is_whole = not verdict.is_about_claim or (
        verdict.decision == "update" and is_person and conflict.slot_kind != Conflict.Kind.EDGE_SLOT
    )
    return Plan(conflict, rows, verdict, actor, target, existing, winner, losers, is_whole)


def _find_target(conflict: Conflict, rows: Sequence[MemberRow], verdict: Verdict) -> MemberRow | None:
    """Return the member that the verdict names or asks about, None if it is about no single one."""
    if verdict.decision in ("yes", "no") and not conflict.question:
        raise InvalidDecision(f"Conflict {conflict.pk} asks nothing.")
    if conflict.status != Conflict.Status.OPEN:
        about = Q(conflict=conflict) | Q(claim__conflict=conflict)
        last = Decision.objects.filter(about).exclude(kind=Decision.Kind.UNDO).order_by("-pk").first()
        if last is None:
            raise DecisionError(f"Conflict {conflict.pk} is closed: {conflict.status}.")
        raise DecisionError(f"Conflict {conflict.pk} was already decided by {last.actor}: {last.get_kind_display()}.")
    if verdict.decision in ("yes", "no"):
        target = next((one for one in rows if one.member.is_asked), None)
        if target is None:
            raise InvalidDecision(f"Conflict {conflict.pk} does not ask about one of its members: name the winner.")
        return target
    if verdict.decision == "no_action" or (verdict.decision == "dismiss" and verdict.member is None):
        return None
    if verdict.member is None:
        raise InvalidDecision("Name the member that is right.")
    target = _find_member(rows, verdict.member)
    if isinstance(target, ClaimRow) and not target.is_open_claim:
        raise DecisionError(f"“{target.text}” was decided about already: {target.row.get_status_display()}.")
    return target


def _find_member(rows: Sequence[MemberRow], key: MemberKey) -> MemberRow:
    found = [one for one in rows if one.member.object_id == key.id and key.kind in ("", one.member.kind)]
    if not found:
        raise UnknownId(f"The conflict has no member {key}.")
    if len(found) > 1:
        names = " or ".join(f"{one.member.kind}:{one.member.object_id}" for one in found)
        raise InvalidDecision(f"Several members have the id {key.id}: name {names}.")
    return found[0]


def _find_existing(conflict: Conflict, rows: Sequence[MemberRow], claim: Claim) -> FactRow | None:
    """Return the fact that the claim is against, or the one that says the same already; None if the slot is free.
    Raises Outdated if the claim is against another fact by now."""
    edge = graph.lock_edge(claim.incoming)
    if edge is None and (closing := graph.find_closing_edge(claim.incoming)) is not None:
        edge = graph.lock_edge(closing.ids)
        if edge is not None and edge.concept_id != claim.blocking_concept_id:
            raise Outdated(
                f"Conflict {conflict.pk} has changed meanwhile: now {edge} closes the cycle. Look at it again."
            )
    elif edge is not None and edge.parent_id not in (claim.existing_parent_id, claim.incoming_parent_id):
        raise Outdated(f"Conflict {conflict.pk} has changed meanwhile: the graph now says {edge}.")
    if edge is None:
        return None
    known = (one for one in rows if isinstance(one, FactRow) and one.row.pk == edge.pk)
    return next(known, FactRow(ConflictMember(conflict=conflict, kind=Kind.EDGE, object_id=edge.pk), edge))


def _refuse_unfit(target: ClaimRow, existing: FactRow | None, verdict: Verdict, *, is_person: bool) -> None:
    collision_type = CollisionType(target.row.collision_type)
    if not is_person and verdict.decision not in ALLOWED[collision_type]:
        raise DecisionError(
            f"{verdict.decision!r} of {collision_type.label} ({collision_type}) is for an operator to decide."
        )
    if verdict.decision != "dismiss" and existing is not None and existing.triple == target.triple:
        raise DecisionError(f"{target.row.incoming_text} is in the graph already; the conflict can be dismissed.")


def _choose(
    rows: Sequence[MemberRow], target: MemberRow | None, verdict: Verdict
) -> tuple[MemberRow | None, list[MemberRow]]:
    """Return the member that is right, or None, and the members that lose, whether the decider saw them or not."""
    holding = [one for one in rows if one.is_current or one.is_open_claim]
    if verdict.decision in MOVES:
        return target, []
    if target is None:
        return None, [one for one in holding if one.is_open_claim]
    if verdict.decision == "dismiss":
        return None, [target]
    if verdict.decision == "no":  # denies the members that say the same, too
        denied = [one for one in holding if one is target or says_same(one, target)]
        others = [one for one in holding if one not in denied]
        return (others[0] if len(others) == 1 else None), denied
    # Members that say the same as the winner are right, too.
    return target, [one for one in holding if one is not target and is_rival(one, target)]


# --- doing it ---


def _change_facts(plan: Plan, dim_ids: dict[str, int]) -> None:
    known = {one.triple for one in plan.rows if one.is_current}
    for one in plan.losers:
        if one.member.kind in OF_FACTS and not (one.is_open_claim and one.triple in known):
            one.retire(plan.winner, plan.actor, plan.verdict.reason)
    if isinstance(plan.target, ClaimRow) and (move := MOVES.get(plan.verdict.decision)) is not None:
        existing = plan.existing.row if plan.existing is not None else None
        move(Move(plan.target, existing, plan.verdict, plan.actor, dim_ids))
        return
    for one in plan.accepted:
        one.make_current(plan.actor, plan.verdict.reason)


def _close_claims(plan: Plan, resolution: dict[str, Any]) -> None:
    dismissed = [one.row.pk for one in plan.losers if one.is_open_claim]
    status = Case(When(pk__in=dismissed, then=Value(Claim.Status.DISMISSED)), default=Value(Claim.Status.RESOLVED))
    claims = Claim.objects.filter(pk__in=[*dismissed, *(one.row.pk for one in plan.accepted)])
    claims.update(
        status=status if dismissed else Claim.Status.RESOLVED,
        resolved_at=timezone.now(),
        run=plan.actor.run,
        claimed_until=None,
        resolution=resolution,
    )


def _change_others(plan: Plan, resolution: dict[str, Any]) -> None:
    """Close the conflict, and change memories and project state."""
    conflict, winner, actor, reason = plan.conflict, plan.winner, plan.actor, plan.verdict.reason
    # Members of another place stay undecided and keep the conflict open. If there are none, close it before the rest is
    # changed, so that it is not settled a second time.
    left = plan.undecided
    if not left:
        _close(conflict, plan.verdict, resolution)
    for one in plan.losers:
        if one.member.kind not in OF_FACTS:
            one.retire(winner, actor, reason)
    if winner is not None and not isinstance(winner, ClaimRow):
        winner.make_current(actor, reason)
        if plan.verdict.decision == "yes":
            winner.confirm(actor, reason)
    if left and not any(one.is_open_claim for one in left) and not disagree(conflict):
        _close(conflict, plan.verdict, resolution)
    if plan.keeps_all:
        kept = [one.row for one in plan.rows if isinstance(one, MemoryRow) and one.is_current]
        memories.reconcile(kept, change_of(actor, reason))


def _close(conflict: Conflict, verdict: Verdict, resolution: dict[str, Any]) -> None:
    is_dismissed = verdict.decision == "dismiss"
    conflict.status = Conflict.Status.DISMISSED if is_dismissed else Conflict.Status.RESOLVED
    conflict.resolved_at, conflict.resolution = timezone.now(), resolution
    conflict.save(update_fields=["status", "resolved_at", "resolution"])
