"""Undoes decisions, one by one or a whole run, from what their rows store."""

import logging
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db import IntegrityError
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from memory.db.transactions import constraint_of, in_transaction
from memory.english.phrases import format_fact
from memory.graph import store
from memory.graph.snapshots import Snapshot, read_snapshot, take_snapshot
from memory.graph.store import Attribution
from memory.memories.store import draft_of, lock_places
from memory.models import Alias, Dimension, Edge, Evidence, Memory, ProjectState, Soas
from memory.types import TripleIds
from resolution import rulings
from resolution.actors import Actor
from resolution.decisions import sides
from resolution.decisions.snapshots import (
    FIELDS,
    Surroundings,
    find_changed_slots,
    find_differences,
    read_key,
    read_slot,
    read_triple,
    take_surroundings,
)
from resolution.domain.verdicts import read_reason
from resolution.errors import DecisionError, UnknownId
from resolution.intake import candidates
from resolution.intake.open_claims import OPEN, rebase
from resolution.layers.conflicts import unite_conflicts_of
from resolution.models import Candidate, Claim, Conflict, ConflictMember, Decision, Run

logger = logging.getLogger(__name__)

MEMORY: Final = ConflictMember.Kind.MEMORY
# The fields of an edge that a confirming statement changes.
CONFIRMED_FIELDS = ("confidence", "source", "channel", "agent", "is_corroborated", "said_at", "last_confirmed")


@dataclass(slots=True)
class UndoReport:
    """The outcome for several decisions, newest first: the undo of each, those refused with the reason, and the number
    left when time ran out."""

    undone: list[Decision] = field(default_factory=list)
    refused: list[tuple[Decision, str]] = field(default_factory=list)
    left: int = 0


def undo(decision_id: int, actor: Actor, reason: str = "") -> Decision:
    """Restore the graph and the queue as they were before the decision; new words stay in the vocabulary. Raises
    DecisionError, which says what prevents it."""
    done = _undo(decision_id, actor, read_reason(reason))
    logger.info("decision.undone", extra={"decision": decision_id, "undo": done.pk})
    return done


def undo_run(run_id: int, actor: Actor, reason: str = "", *, within_s: float = math.inf) -> UndoReport:
    """Undo the run's decisions, newest first, each in its own transaction; those that cannot be undone are skipped.
    Stops after ``within_s`` seconds. Raises DecisionError if there is no such run."""
    if not Run.objects.filter(id=run_id).exists():
        raise UnknownId(f"There is no run {run_id}.")
    return _undo_each(Decision.objects.filter(run_id=run_id), actor, reason, within_s)


def undo_all(decision_ids: Collection[int], actor: Actor, *, within_s: float = math.inf) -> UndoReport:
    """Undo these decisions in the same way as ``undo_run``."""
    return _undo_each(Decision.objects.filter(pk__in=decision_ids), actor, "", within_s)


def _undo_each(decisions: QuerySet[Decision], actor: Actor, reason: str, within_s: float) -> UndoReport:
    report = UndoReport()
    decided = decisions.filter(undone_by=None).exclude(kind=Decision.Kind.UNDO)
    end = time.monotonic() + within_s
    for decision in decided.select_related(*Decision.NAMES).order_by("-id"):
        if time.monotonic() >= end:
            report.left += 1
            continue
        try:
            report.undone.append(undo(decision.pk, actor, reason))
        except DecisionError as error:
            report.refused.append((decision, str(error)))
    return report


@in_transaction
def _undo(decision_id: int, actor: Actor, reason: str) -> Decision:
    decision = _find(decision_id)
    before, after = decision.before, decision.after
    # The dimensions in which the decision touched an edge or a claim, and those that it made.
    disputed = Claim.objects.filter(id__in=map(int, after["conflicts"])).values_list("dim_id", flat=True)
    of_edges = (read_slot(key)[1] for key in after["edges"])
    claim = decision.claim
    of_conflict = {claim.slot} if claim is not None else set()
    dim_ids = {*disputed, *of_edges, *map(int, after.get("dimensions", ())), *(dim_id for _, dim_id in of_conflict)}
    joined = _find_joined(before["edges"], after["edges"])
    memory_ids = {*map(int, after.get("memories", ())), *(one.object_id for one in joined if one.kind == MEMORY)}
    lock_places(map(draft_of, Memory.objects.filter(pk__in=memory_ids).defer("lexemes")))
    store.lock_dimensions(dim_ids)
    # Lock dimensions, then rows, as all writers do. The lock on the conflict's row blocks other decisions about it.
    if claim is not None:
        Claim.objects.select_for_update().get(id=claim.pk)
    if decision.conflict_id is not None:
        Conflict.objects.select_for_update(of=("self",)).get(pk=decision.conflict_id)
    # Check this under the locks: of two who undo the same decision, the second sees the first's undo.
    if (undone_by := Decision.objects.filter(undoes=decision).first()) is not None:
        raise DecisionError(f"Decision {decision.pk} was already undone by {undone_by.actor}.")
    edges: dict[str, Edge | None] = {}
    for key in after["edges"]:  # the fact that the decision left in this place or, if none, took out of it
        fact = after["edges"][key] or decision.before["edges"][key]
        edges[key] = store.lock_edge(TripleIds(fact["concept_id"], fact["dim_id"], fact["parent_id"]))
    _refuse_changed(edges, after)
    again = [*sides.put_back(decision, actor, reason), *_release(joined)]

    # Include the conflict's own slot even if nothing changed there, so that its open claims are rebased, too.
    concepts = {concept_id for concept_id, _ in (*of_conflict, *map(read_slot, after["edges"]))}
    old = take_surroundings(concepts, dim_ids, map(int, after["conflicts"]))
    _put_aliases_back(decision)  # an alias has no facts, a fact has a dimension
    _refuse_aliases(decision)
    _put_dimensions_back(decision)
    _put_edges_back(decision, edges, actor.attribute(reason))
    for model in (Candidate, Evidence):
        _put_rows_back(model, decision)
    for key, ruling in before["triples"].items():
        rulings.take_back(read_triple(key), decision, ruling, after["triples"][key])
    _put_conflicts_back(decision)
    _reopen(decision)
    about = decision.conflict or (claim.conflict if claim is not None else None)
    if about is not None and not about.question:  # another conflict may have been opened about the slot meanwhile
        unite_conflicts_of(about)
    sides.look_again(again, actor, reason)  # after reopening, so that disputes go into the same conflict
    for slot in {*of_conflict, *find_changed_slots(old, take_surroundings(concepts, dim_ids))}:
        rebase(slot, fill=False)
    if decision.kind == Decision.Kind.QUARANTINE:
        candidates.close_known(concepts, actor)
    _drop_dimensions(decision, dim_ids)
    # Store what the undo itself changed in the same form, for readers of its row.
    new = take_surroundings(concepts, dim_ids, map(int, after["conflicts"]))
    return _record(decision, actor, reason, *find_differences(old, new))


def _find(decision_id: int) -> Decision:
    decision = Decision.objects.select_related("claim", "conflict").filter(id=decision_id).first()
    if decision is None:
        raise UnknownId(f"There is no decision {decision_id}.")
    if decision.kind == Decision.Kind.UNDO:
        raise DecisionError("An undo cannot be undone: decide the conflict again.")
    return decision


def _refuse_changed(edges: Mapping[str, Edge | None], after: Surroundings) -> None:
    """Raise DecisionError if a slot no longer holds the fact that the decision left there."""
    # Compare the fact, not its confidence: one that was confirmed since is still the same fact.
    for key, left in after["edges"].items():
        edge = edges[key]
        if (edge and (edge.parent_id, edge.is_isa)) == (left and (left["parent_id"], left["is_isa"])):
            continue
        concept_id, dim_id = read_slot(key)
        now = f"it is now {edge.parent}" if edge is not None else "it is now empty"
        words = Soas.objects.in_bulk([concept_id, dim_id])
        raise DecisionError(f"{words[concept_id]} [{words[dim_id]}] has changed since: {now}.")


def _find_joined(
    before: Mapping[str, Snapshot | None], after: Mapping[str, Snapshot | None]
) -> Sequence[ConflictMember]:
    """Return the members of open conflicts that exist because of facts that the decision made."""
    made = [left.get("edge_id") for key, left in after.items() if left and not _is_same_fact(left, before[key])]
    open_ones = ConflictMember.objects.filter(conflict__status=Conflict.Status.OPEN, conflict__tier=Conflict.Tier.SLOT)
    facts = open_ones.filter(kind=ConflictMember.Kind.EDGE, object_id__in=filter(None, made))
    return list(open_ones.filter(Q(conflicts_with__in=facts) | Q(pk__in=facts.values("conflicts_with"))))


def _release(joined: Sequence[ConflictMember]) -> list[Memory | ProjectState]:
    """Take memories and project state out of conflicts and return them. The caller checks again if they contradict the
    restored facts."""
    ConflictMember.objects.filter(pk__in=[member.pk for member in joined]).delete()
    still_open = ConflictMember.objects.filter(object_id=OuterRef("pk"), conflict__status=Conflict.Status.OPEN)
    released: list[Memory | ProjectState] = []
    for model, kind in ((Memory, MEMORY), (ProjectState, ConflictMember.Kind.PROJECT_STATE)):
        rows = model.objects.filter(pk__in=[member.object_id for member in joined if member.kind == kind])
        released += rows.select_for_update(of=("self",)).order_by("pk")
        rows.update(is_disputed=Exists(still_open.filter(kind=kind)))
    return released


def _refuse_aliases(decision: Decision) -> None:
    """Raise DecisionError if the undo would restore something about words that are aliases by now."""
    edges = [snapshot for snapshot in decision.before["edges"].values() if snapshot is not None]
    ids = {snapshot[name] for snapshot in edges for name in ("concept_id", "dim_id", "parent_id")}
    claims = Claim.objects.filter(pk__in=map(int, decision.after["conflicts"]))
    for incoming in claims.values_list("concept_id", "dim_id", "incoming_parent_id"):
        ids |= set(incoming)
    alias = Alias.objects.select_related("soas", "concept").filter(pk__in=ids).first()
    if alias is not None:
        raise DecisionError(f"{alias.soas} is another name of {alias.concept} by now: undo that first.")


# --- restoring the surroundings ---


def _put_edges_back(decision: Decision, edges: Mapping[str, Edge | None], attribution: Attribution) -> None:
    """Restore the edges. ``edges`` are the current ones in the slots that the decision touched."""
    before = decision.before["edges"]
    wanted = [_with_confirmations(decision, key, was, edges) for key, was in before.items() if was is not None]
    # Retire all edges before restoring any: in between, the trigger could find a cycle that exists neither before nor
    # after.
    for edge in edges.values():
        if edge is not None:
            store.retire(edge, attribution, store.Action.UNDO)
    for snapshot in sorted(wanted, key=lambda snapshot: snapshot["dim_id"]):
        try:
            store.put_back(snapshot, attribution)
        except IntegrityError as error:
            if constraint_of(error) != "urd_acyclic":
                raise
            names = ("concept_id", "parent_id", "dim_id")
            words = Soas.objects.in_bulk([snapshot[name] for name in names])
            concept, parent, dimension = (words[snapshot[name]].token for name in names)
            fact = format_fact(concept, parent, dimension, is_isa=snapshot["is_isa"])
            raise DecisionError(f"{fact} would now close a cycle.") from error


def _with_confirmations(decision: Decision, slot: str, was: Snapshot, edges: Mapping[str, Edge | None]) -> Snapshot:
    """Return the edge's old snapshot, updated with what confirming statements have changed since the decision."""
    # The decision may have moved the edge: statements that confirmed it there confirmed the same fact.
    before, after = decision.before["edges"], decision.after["edges"]
    moved = (key for key in after if not _is_same_fact(was, before[key]))
    place = next((key for key in (slot, *moved) if _is_same_fact(was, after[key])), None)
    edge = edges[place] if place is not None else None
    if place is None or edge is None:
        return was
    left, present = after[place], take_snapshot(edge)
    return was | {name: present[name] for name in CONFIRMED_FIELDS if present[name] != left.get(name, present[name])}


def _is_same_fact(one: Snapshot, other: Snapshot | None) -> bool:
    return other is not None and all(one[name] == other[name] for name in ("concept_id", "parent_id"))


def _put_aliases_back(decision: Decision) -> None:
    before, after = (side.get("aliases", {}) for side in (decision.before, decision.after))
    standing = Alias.objects.select_for_update().in_bulk(map(int, after))
    for key, left in after.items():
        now = standing.get(int(key))
        if (now and now.concept_id) != (left and left["concept_id"]):
            raise DecisionError(f"The alias {Soas.objects.get(pk=key)} has changed since.")
    Alias.objects.filter(pk__in=[int(key) for key, was in before.items() if was is None]).delete()
    for key, was in before.items():
        if was is not None:
            used = Edge.objects.filter(Q(concept=key) | Q(parent=key) | Q(dim=key)).first()
            if used is not None and after[key] is None:
                raise DecisionError(f"It can be no name again, for it has facts by now: {used}.")
            Alias.objects.update_or_create(pk=int(key), defaults=read_snapshot(Alias, was))


def _put_dimensions_back(decision: Decision) -> None:
    """Restore the dimensions that the decision deleted or changed. Those that it made are dropped last, once they are
    empty."""
    gone = {int(key): was for key, was in decision.before["dimensions"].items() if was is not None}
    for dim_id, was in sorted(gone.items()):
        store.ensure_dimension(dim_id, is_isa=was["is_isa"])
    for dim_id, was in gone.items():  # once all exist that others were split from
        Dimension.objects.filter(pk=dim_id).update(**was)


def _put_rows_back(model: type[Candidate] | type[Evidence], decision: Decision) -> None:
    """Restore the rows that nobody has changed since."""
    part = "candidates" if model is Candidate else "evidence"
    before, after = decision.before.get(part, {}), decision.after.get(part, {})
    for row in model._default_manager.select_for_update().filter(pk__in=map(int, after)).order_by("pk"):
        if take_snapshot(row, FIELDS[part]) == after[str(row.pk)] and (was := before[str(row.pk)]) is not None:
            model._default_manager.filter(pk=row.pk).update(**read_snapshot(model, was))


def _put_conflicts_back(decision: Decision) -> None:
    """Restore the claims that nobody has changed since."""
    before, after = decision.before["conflicts"], decision.after["conflicts"]
    rows = Claim.objects.select_for_update().filter(id__in=map(int, after))
    for row in rows.order_by("id"):
        was, left = before[str(row.pk)], after[str(row.pk)]
        if was is None:
            _withdraw(row, decision)
        elif row.status == left["status"] and not (was["status"] in OPEN and _stays_closed(row)):
            restored = read_snapshot(Claim, was)
            Claim.objects.filter(id=row.pk).update(**restored, claimed_until=None)


def _reopen(decision: Decision) -> None:
    """Reopen the conflict that the decision closed as a whole. Its members get the new keys of facts that were put
    back."""
    for key, was in decision.before["edges"].items():
        place = dict(zip(("concept", "dim", "parent"), read_key(key), strict=False))
        edge = Edge.objects.filter(**place).exclude(parent=F("concept")).first()
        if was is not None and edge is not None and edge.pk != was.get("edge_id"):
            members = ConflictMember.objects.filter(kind=ConflictMember.Kind.EDGE, object_id=was.get("edge_id"))
            members.update(object_id=edge.pk)
    closed = decision.conflict
    if closed is None:
        return
    again = Conflict.objects.filter(owner=closed.owner, key=closed.key, status="open").exclude(pk=closed.pk).first()
    if again is None:
        Conflict.objects.filter(pk=closed.pk).update(status=Conflict.Status.OPEN, resolved_at=None, resolution=None)
        return
    # The slot has another open conflict meanwhile, and can have only one: all members join that.
    for member in closed.members.all():
        ConflictMember.objects.get_or_create(
            conflict=again, kind=member.kind, object_id=member.object_id,
            defaults={"trust": member.trust, "support": member.support, "text": member.text},
        )  # fmt: skip


def _withdraw(row: Claim, decision: Decision) -> None:
    """Delete a collision that the decision caused, or dismiss it if there are decisions about it."""
    if row.status not in OPEN:
        return
    if not row.decisions.exists():
        row.delete()
        return
    row.status, row.resolution = Claim.Status.DISMISSED, {"reason": f"decision {decision.pk} was undone"}
    row.save(update_fields=["status", "resolution"])


def _stays_closed(row: Claim) -> bool:
    """True if the same collision is open again in another row, or was caused by a decision that is undone by now."""
    # The constraint conflict_open_once allows one open row for a triple.
    same = Claim.objects.filter(
        concept_id=row.concept_id, dim_id=row.dim_id, incoming_parent_id=row.incoming_parent_id, status__in=OPEN
    )
    causes = Decision.objects.filter(undone_by__isnull=False, **{f"before__conflicts__{row.pk}": None})
    return same.exclude(id=row.pk).exists() or causes.exists()


def _drop_dimensions(decision: Decision, dim_ids: Iterable[int]) -> None:
    """Drop unused dimensions that this decision made, or another one that is undone by now."""
    for dim_id in sorted(dim_ids):
        undone = Decision.objects.filter(undone_by__isnull=False, before__dimensions__contains={str(dim_id): None})
        is_made = decision.before["dimensions"].get(str(dim_id), {}) is None or undone.exists()
        if is_made and not Claim.objects.filter(dim_id=dim_id, status__in=OPEN).exists():
            store.drop_dimension(dim_id)


def _record(decision: Decision, actor: Actor, reason: str, before: Surroundings, after: Surroundings) -> Decision:
    return Decision.objects.create(
        kind=Decision.Kind.UNDO,
        claim=decision.claim,
        conflict=decision.conflict,
        run=actor.run,
        undoes=decision,
        actor=actor.signature,
        source=actor.source,
        reason=reason,
        before=before,
        after=after,
    )
