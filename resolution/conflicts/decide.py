"""Decides conflicts as a whole. Only people do that: a layer's trust orders what they see and decides nothing, and
language models only decide claims (claims.py)."""

import logging
from collections.abc import Sequence
from hashlib import blake2s
from typing import Final

from django.db.models import Q
from django.utils import timezone

from memory.db.transactions import in_transaction
from memory.memories import store as memories
from memory.models import Memory, Source
from resolution.actors import Actor
from resolution.conflicts import members as sides
from resolution.conflicts.change_log import find_changed_slots, read_changes, recording
from resolution.conflicts.detection import disagree
from resolution.conflicts.members import DisputedRow
from resolution.conflicts.queue import IN_ORDER, OPEN, rebase
from resolution.conflicts.verdict import MemberKey, Resolution
from resolution.errors import DecisionError, InvalidDecision, UnknownId
from resolution.models import Claim, Conflict, ConflictMember, Decision

logger = logging.getLogger(__name__)

KINDS: Final = {
    "supersede_others": Decision.Kind.SUPERSEDE,
    "no_action": Decision.Kind.ACCEPT,
    "dismiss": Decision.Kind.DISMISS,
    "yes": Decision.Kind.ANSWER,
    "no": Decision.Kind.ANSWER,
}


def resolve(conflict_id: int, actor: Actor, resolution: Resolution, *, seen: str | None = None) -> Decision:
    """Carry out the resolution and return the decision. Raises DecisionError.

    ``seen`` is the conflict as the decider read it (``describe_seen``): if it has changed, nothing is done. Members
    that only joined since stay open against the member that is right.
    """
    if actor.source != Source.OPERATOR:
        raise DecisionError("Only people decide a conflict as a whole.")
    conflict = Conflict.objects.filter(pk=conflict_id).first()
    if conflict is None:
        raise UnknownId(f"There is no conflict {conflict_id}.")
    if resolution.action in ("yes", "no") and not conflict.question:
        raise InvalidDecision(f"Conflict {conflict_id} asks nothing.")
    decision = _resolve(conflict_id, actor, resolution, seen)
    extra = {"conflict": conflict_id, "kind": decision.kind, "decision": decision.pk}
    logger.info("conflict.decided", extra=extra)
    return decision


def describe_seen(rows: Sequence[DisputedRow]) -> str:
    """Return a token of what the decider sees: the key of the member that joined last, and a digest of all members."""
    last = max((one.member.pk or 0 for one in rows), default=0)
    seen = "|".join(f"{one.member.kind}:{one.member.object_id}:{one.state}:{one.text}" for one in rows)
    return f"{last}-{blake2s(seen.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


def _changed(conflict_id: int) -> DecisionError:
    return DecisionError(f"Conflict {conflict_id} has changed meanwhile. Look at it again.")


def _find_newcomers(rows: Sequence[DisputedRow], seen: str) -> list[DisputedRow]:
    """Return the members that joined after the decider read the conflict."""
    last = seen.partition("-")[0]
    return [one for one in rows if last.isdigit() and (one.member.pk or 0) > int(last)]


def find_winner(members: Sequence[ConflictMember], key: MemberKey | None) -> ConflictMember:
    """Find the member with that key. Raises InvalidDecision, UnknownId."""
    if key is None:
        raise InvalidDecision("Name the member that is right.")
    found = [one for one in members if one.object_id == key.id and key.kind in ("", one.kind)]
    if not found:
        raise UnknownId(f"The conflict has no member {key}.")
    if len(found) > 1:
        names = " or ".join(f"{one.kind}:{one.object_id}" for one in found)
        raise InvalidDecision(f"Several members have the id {key.id}: name {names}.")
    return found[0]


def find_open(conflict_id: int) -> list[int]:
    """Return the keys of the open claims in the order in which they are decided."""
    rows = Claim.objects.filter(conflict_id=conflict_id, status__in=OPEN)
    return list(rows.order_by(*IN_ORDER).values_list("pk", flat=True))


@in_transaction
def _resolve(conflict_id: int, actor: Actor, resolution: Resolution, seen: str | None) -> Decision:
    conflict, rows = sides.lock_rows(conflict_id)
    _refuse_closed(conflict)
    newcomers = _find_newcomers(rows, seen or "") if resolution.action == "supersede_others" else []
    if seen is not None and seen != describe_seen([one for one in rows if one not in newcomers]):
        raise _changed(conflict_id)
    winner, losers = _choose(conflict, rows, resolution)
    if winner in newcomers:
        raise _changed(conflict_id)
    losers = [one for one in losers if one not in newcomers]
    arguments = _describe(resolution, rows, winner, losers)
    with recording(KINDS[resolution.action], actor, resolution.reason, conflict=conflict, arguments=arguments) as done:
        _carry_out(conflict, rows, winner, losers, actor, resolution)
        about = {"decision": done.pk, "kind": done.kind, "actor": actor.signature, "reason": resolution.reason}
        closed = Claim.objects.filter(pk__in=[one.key for one in read_changes(done.pk, [Claim])])
        closed.exclude(status__in=OPEN).update(resolution=about | {"conflict": conflict.pk})
        if conflict.status != Conflict.Status.OPEN:
            conflict.resolution = about | arguments
            conflict.save(update_fields=["resolution"])
        # Other open claims in a changed slot are against another fact now. A free slot stays free: nobody chose a
        # claim.
        for slot in find_changed_slots(done.pk):
            rebase(slot, fill=False)
    return done


def _carry_out(
    conflict: Conflict,
    rows: Sequence[DisputedRow],
    winner: DisputedRow | None,
    losers: Sequence[DisputedRow],
    actor: Actor,
    resolution: Resolution,
) -> None:
    keeps_all = resolution.action in ("no_action", "dismiss")
    if keeps_all:
        sides.dismiss_claims(rows, actor)
    sides.retire(losers, actor, resolution.reason)
    if winner is not None:
        sides.accept_claims([one for one in rows if one is winner or sides.says_same(one, winner)], actor)
    # Members of another place stay undecided and keep the conflict open. If there are none, close it after its claims
    # are decided but before the rest, so that the changes below do not settle it a second time.
    left = sides.find_undecided(rows, winner, losers) if winner is not None and resolution.action != "no" else []
    if not left:
        _close(conflict, resolution)
    sides.supersede(losers, winner, actor, resolution.reason)
    if winner is not None:
        sides.hold(winner, actor, resolution.reason)
        if resolution.action == "yes":
            sides.confirm(winner, actor, resolution.reason)
    if left and not any(one.waits for one in left) and not disagree(conflict):
        _close(conflict, resolution)
    if keeps_all:
        held = [one.row for one in rows if isinstance(one.row, Memory) and one.holds]
        memories.reconcile(held, sides.change_of(actor, resolution.reason))


def _close(conflict: Conflict, resolution: Resolution) -> None:
    is_dismissed = resolution.action == "dismiss"
    conflict.status = Conflict.Status.DISMISSED if is_dismissed else Conflict.Status.RESOLVED
    conflict.resolved_at = timezone.now()
    conflict.save(update_fields=["status", "resolved_at"])


def _refuse_closed(conflict: Conflict) -> None:
    if conflict.status == Conflict.Status.OPEN:
        return
    about = Q(conflict=conflict) | Q(claim__conflict=conflict)
    last = Decision.objects.filter(about).exclude(kind=Decision.Kind.UNDO).order_by("-pk").first()
    if last is None:
        raise DecisionError(f"Conflict {conflict.pk} is closed: {conflict.status}.")
    raise DecisionError(f"Conflict {conflict.pk} was already decided by {last.actor}: {last.get_kind_display()}.")


def _choose(
    conflict: Conflict, rows: Sequence[DisputedRow], resolution: Resolution
) -> tuple[DisputedRow | None, list[DisputedRow]]:
    """Return the member that is right, or None, and the members that lose."""
    members = [one.member for one in rows]
    holding = [one for one in rows if one.holds or one.waits]
    if resolution.action in ("no_action", "dismiss"):
        return None, []
    if resolution.action == "supersede_others":
        right = find_winner(members, resolution.winner)
    else:
        asked = next((member for member in members if member.is_asked), None)
        if asked is None:
            raise InvalidDecision(f"Conflict {conflict.pk} does not ask about one of its members: name the winner.")
        right = asked
    [winner] = [one for one in rows if one.member is right]
    if isinstance(winner.row, Claim) and not winner.waits:
        raise DecisionError(f"“{winner.text}” was decided about already: {winner.row.get_status_display()}.")
    if resolution.action == "no":  # denies the members that say the same, too
        denied = [one for one in holding if one is winner or sides.says_same(one, winner)]
        others = [one for one in holding if one not in denied]
        return (others[0] if len(others) == 1 else None), denied
    # Members that say the same as the winner are right, too.
    return winner, [one for one in holding if one is not winner and sides.is_rival(one, winner)]


def _describe(
    resolution: Resolution, rows: Sequence[DisputedRow], winner: DisputedRow | None, losers: Sequence[DisputedRow]
) -> dict[str, object]:
    """Return the decision's arguments, which link it to all members."""
    others = [one.reference for one in rows if one is not winner and one not in losers]
    dismissed = [one.reference for one in losers if one.waits]
    answer = {"answer": resolution.action} if resolution.action in ("yes", "no") else {}
    return (
        answer
        | {
            "winner": winner.reference if winner is not None else None,
            "superseded": [one.reference for one in losers if not one.waits],
            "others": others,
        }
        | ({"dismissed": dismissed} if dismissed else {})
    )
