"""Undoes decisions, one by one or a whole run, from the log of what they changed."""

import logging
import math
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.db import IntegrityError
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from memory.attribution.client_names import Supporter
from memory.db.transactions import constraint_of, in_transaction
from memory.english.phrases import as_compact
from memory.graph import store
from memory.graph.snapshots import EDGE_FIELDS, Snapshot, read_snapshot, take_snapshot
from memory.graph.store import Attribution
from memory.memories import merging, project_state
from memory.memories.store import Change as MemoryChange
from memory.memories.store import draft_of, lock_places
from memory.models import (
    Alias,
    Dimension,
    Edge,
    Evidence,
    Memory,
    MemoryHistory,
    MemoryLineage,
    ProjectState,
    Soas,
    Support,
)
from memory.types import Place, TripleIds
from resolution.actors import Actor
from resolution.conflicts.change_log import RowChange, find_changed_slots, read_changes, recording
from resolution.conflicts.detection import close_changed
from resolution.conflicts.members import change_of, put_state_back, recheck_disputes
from resolution.conflicts.opening import close_moot, close_moot_of, find_open, unite_conflicts_of
from resolution.conflicts.queue import OPEN, recheck_claims
from resolution.conflicts.verdict import read_reason
from resolution.errors import DecisionError, UnknownId
from resolution.intake import candidates
from resolution.models import Candidate, Claim, Conflict, ConflictMember, DecidedTriple, Decision, DecisionChange, Run

logger = logging.getLogger(__name__)

MEMORY: Final = ConflictMember.Kind.MEMORY
TIERS: Final = (Conflict.Tier.OPPOSITION, Conflict.Tier.MODEL)  # of conflicts that consolidations open
Changes = Mapping[type[Model], Sequence[RowChange]]
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
    found = read_changes(decision_id)
    changes: dict[type[Model], list[RowChange]] = defaultdict(list)
    for one in found:
        changes[one.model].append(one)
    facts, claim = changes[Edge], decision.claim
    # The dimensions in which the decision touched an edge or a claim, and those that it made.
    slots = {one.slot for one in Claim.objects.filter(pk__in=_keys(changes[Claim]))}
    slots |= {(place[0], place[1]) for one in facts for place in one.places if place is not None}
    own = {claim.slot} if claim is not None else set()
    dim_ids = {dim_id for _, dim_id in slots | own} | _keys(changes[Dimension])
    joined = _find_caused_members(facts)
    memory_ids = {one.left["memory_id"] for one in changes[MemoryHistory]} | _keys(changes[Memory])
    memory_ids |= {one.object_id for one in joined if one.kind == MEMORY}
    memories = Memory.objects.filter(pk__in=memory_ids).defer("lexemes")
    was = {one.key: one.was for one in changes[Memory]}
    lock_places(draft_of(memory, **former) for memory in memories for former in ({}, was.get(memory.pk, {})))
    store.lock_dimensions(dim_ids)
    # Lock dimensions, then rows, as all writers do. The lock on the conflict's row blocks other decisions about it.
    if claim is not None:
        Claim.objects.select_for_update().get(id=claim.pk)
    if decision.conflict_id is not None:
        Conflict.objects.select_for_update(of=("self",)).get(pk=decision.conflict_id)
    if decision.candidate_id is not None:
        Candidate.objects.select_for_update().filter(pk=decision.candidate_id).first()
    # Check this under the locks: of two who undo the same decision, the second sees the first's undo.
    if (undone_by := Decision.objects.filter(undoes=decision).first()) is not None:
        raise DecisionError(f"Decision {decision.pk} was already undone by {undone_by.actor}.")
    if any(one.is_forgotten for one in facts):
        raise DecisionError("What it changed was forgotten since, or was not recorded in a form that can be undone.")
    standing = _lock_facts(facts)
    _refuse_changed(facts, standing)
    if decision.candidate_id is not None:
        _refuse_decided(changes)

    forgotten = [f"{one.model._meta.verbose_name} {one.key}" for one in found if one.is_forgotten]
    arguments = {"forgotten": forgotten} if forgotten else {}
    about = {"claim": claim, "conflict": decision.conflict, "candidate": decision.candidate, "undoes": decision}
    with recording(Decision.Kind.UNDO, actor, reason, **about, arguments=arguments) as done:
        by = replace(change_of(actor, reason), run=decision.run_id)
        again = [*_put_memories_back(changes, by), *_put_states_back(changes[ProjectState]), *_remove_members(joined)]
        _put_aliases_back(changes[Alias])  # an alias has no facts, a fact has a dimension
        _refuse_aliases(changes)
        _put_dimensions_back(changes[Dimension])
        _put_rows_back(changes[Support])  # first: a fact without supporters would get its author
        _put_facts_back(facts, standing, actor.attribute(reason))
        supported = {side["object_id"] for one in changes[Support] for side in (one.before, one.after) if side}
        _end_corroboration(_keys(facts) | supported)
        for model in (Candidate, Evidence, DecidedTriple):
            _put_rows_back(changes[model])
        _put_claims_back(changes[Claim], decision)
        _close_opened(changes)
        _reopen_conflict(decision.conflict)
        conflict = decision.conflict or (claim.conflict if claim is not None else None)
        if conflict is not None and not conflict.question:  # another may have been opened about the slot meanwhile
            unite_conflicts_of(conflict)
        recheck_disputes(again, actor, reason)  # after reopening, so that disputes go into the same conflict
        close_changed(find_open(MEMORY, _keys(changes[Memory])))  # with their texts of before they may agree
        # Include the conflict's own slot even if nothing changed there, so that its open claims are rebased, too.
        for slot in own | find_changed_slots(done.pk):
            recheck_claims(slot, place_first=False)
        if decision.kind == Decision.Kind.QUARANTINE:
            candidates.close_known({concept_id for concept_id, _ in slots}, actor)
        _drop_dimensions(decision, dim_ids)
    return done


def _keys(changes: Iterable[RowChange]) -> set[int]:
    return {one.key for one in changes}


def _find(decision_id: int) -> Decision:
    decision = Decision.objects.select_related("claim", "conflict", "candidate").filter(id=decision_id).first()
    if decision is None:
        raise UnknownId(f"There is no decision {decision_id}.")
    if decision.kind == Decision.Kind.UNDO:
        raise DecisionError("An undo cannot be undone: decide the conflict again.")
    return decision


def _lock_facts(facts: Iterable[RowChange]) -> dict[Place, Edge | None]:
    """Return the facts that are now in the places that the decision touched, locked."""
    found = dict[Place, Edge | None]()
    for one in facts:
        for place, fact in zip(one.places, (one.before, one.after), strict=True):
            if place is not None and fact is not None:
                found[place] = store.lock_edge(TripleIds(fact["concept_id"], fact["dim_id"], fact["parent_id"]))
    return found


def _refuse_changed(facts: Sequence[RowChange], standing: Mapping[Place, Edge | None]) -> None:
    """Raise DecisionError if a place no longer holds the fact that the decision left there."""
    # Compare the fact, not its confidence: one that was confirmed since is still the same fact.
    left = {one.places[1]: one.after for one in facts if one.after is not None}
    for place, edge in standing.items():
        fact = left.get(place)
        if (edge and (edge.parent_id, edge.is_isa)) == (fact and (fact["parent_id"], fact["is_isa"])):
            continue
        concept_id, dim_id, *_ = place
        now = f"it is now {edge.parent}" if edge is not None else "it is now empty"
        words = Soas.objects.in_bulk([concept_id, dim_id])
        raise DecisionError(f"{words[concept_id]} [{words[dim_id]}] has changed since: {now}.")


def _refuse_decided(changes: Changes) -> None:
    """Raise DecisionError if somebody has decided a conflict that the decision opened, or the candidate again."""
    opened = _keys(one for one in changes[Claim] if one.before is None)
    decided = Claim.objects.filter(pk__in=opened).exclude(status__in=OPEN).first()
    if decided is not None:
        raise DecisionError(f"Conflict {decided.conflict_id}, which it opened, was decided since: undo that first.")
    for row, one in _lock(changes[Candidate]):
        if row.state != one.left["state"]:
            raise DecisionError(f"The candidate has changed since: it is {row.get_state_display()}.")


def _find_caused_members(facts: Iterable[RowChange]) -> Sequence[ConflictMember]:
    """Return the members of open conflicts that exist because of facts that the decision made."""
    made = [one.key for one in facts if one.after is not None and one.is_moved]
    open_ones = ConflictMember.objects.filter(conflict__status=Conflict.Status.OPEN, conflict__tier=Conflict.Tier.SLOT)
    members = open_ones.filter(kind=ConflictMember.Kind.EDGE, object_id__in=made)
    by_them = Q(conflicts_with__in=members) | Q(pk__in=members.values("conflicts_with"))
    return list(open_ones.filter(Q(pk__in=members) | by_them))


def _remove_members(joined: Sequence[ConflictMember]) -> list[Memory | ProjectState]:
    """Take memories and project state out of conflicts and return them. The caller checks again if they contradict the
    restored facts. A conflict that is about nothing else closes, so that the one that was decided opens again."""
    ConflictMember.objects.filter(pk__in=[member.pk for member in joined]).delete()
    emptied = Conflict.objects.filter(pk__in={member.conflict_id for member in joined}, members=None)
    emptied.update(status=Conflict.Status.DISMISSED, resolved_at=timezone.now())
    still_open = ConflictMember.objects.filter(object_id=OuterRef("pk"), conflict__status=Conflict.Status.OPEN)
    released: list[Memory | ProjectState] = []
    for model, kind in ((Memory, MEMORY), (ProjectState, ConflictMember.Kind.PROJECT_STATE)):
        rows = model.objects.filter(pk__in=[member.object_id for member in joined if member.kind == kind])
        released += rows.select_for_update(of=("self",)).order_by("pk")
        rows.update(is_disputed=Exists(still_open.filter(kind=kind)))
    return released


def _refuse_aliases(changes: Changes) -> None:
    """Raise DecisionError if the undo would restore something about words that are aliases by now."""
    facts = [one.before for one in changes[Edge] if one.before is not None]
    ids = {fact[name] for fact in facts for name in ("concept_id", "dim_id", "parent_id")}
    claims = Claim.objects.filter(pk__in=_keys(changes[Claim]))
    for incoming in claims.values_list("concept_id", "dim_id", "incoming_parent_id"):
        ids |= set(incoming)
    alias = Alias.objects.select_related("soas", "concept").filter(pk__in=ids).first()
    if alias is not None:
        raise DecisionError(f"{alias.soas} is another name of {alias.concept} by now: undo that first.")


# --- putting rows back ---


def _put_memories_back(changes: Changes, by: MemoryChange) -> list[Memory]:
    """Restore memories with their lineage, and return those that hold again. A memory that did not exist becomes
    invalid and keeps its lineage. Raises DecisionError if one has changed since."""
    again, new = [], set()
    for memory, one in _lock(changes[Memory]):
        was, left = (read_snapshot(Memory, side) for side in (one.differing, one.left))
        if one.before is None:
            was = {"status": Memory.Status.INVALID}
            new.add(memory.pk)
            if memory.channel != left["channel"]:
                raise DecisionError(f"“{memory}” has changed since: a person has said it.")
        if not merging.put_back(memory, was, left, by):
            is_same = memory.status == left["status"]
            now = "its text is another" if is_same else f"it is {memory.get_status_display()}"
            raise DecisionError(f"“{memory}” has changed since: {now}.")
        if memory.status == Memory.Status.ACTIVE and was.keys() & {"status", "text", "category", "project_id"}:
            again.append(memory)
    _put_rows_back([one for one in changes[MemoryLineage] if one.left["memory_id"] not in new])
    told = {one.left["memory_id"] for one in changes[MemoryHistory]} - _keys(changes[Memory])
    for memory in Memory.objects.filter(pk__in=told).select_for_update(of=("self",)).order_by("pk"):
        merging.put_back(memory, {}, {}, by)  # it was only kept beside another
    close_moot_of(MEMORY, _keys(changes[Memory]))
    return again


def _put_states_back(changes: Sequence[RowChange]) -> list[ProjectState]:
    """Restore project state, and return what holds again. Raises DecisionError if some has changed since."""
    again = []
    # Archive the values that the decision put in force first: a category and key has one active value.
    for state, one in sorted(_lock(changes), key=lambda pair: pair[1].was["status"] == "active"):
        if one.was["status"] == one.left["status"]:
            continue  # conflicts mark it as disputed
        if state.status != one.left["status"]:
            raise DecisionError(f"“{state}” has changed since: it is {state.get_status_display()}.")
        if one.was["status"] == "active":
            put_state_back(state)
            again.append(state)
        else:
            project_state.archive(state, ProjectState.objects.filter(pk=one.was["superseded_by_id"]).first())
    return again


def _lock(changes: Sequence[RowChange]) -> list[tuple[Any, RowChange]]:
    """Return the rows that are still there, with their changes."""
    of_key = {one.key: one for one in changes if not one.is_forgotten}
    if not of_key:
        return []
    rows = changes[0].model._base_manager.select_for_update(of=("self",)).filter(pk__in=of_key).order_by("pk")
    return [(row, of_key[row.pk]) for row in rows]


def _put_facts_back(
    facts: Sequence[RowChange], standing: Mapping[Place, Edge | None], attribution: Attribution
) -> None:
    wanted = [_with_confirmations(one, facts, standing) for one in facts if one.before is not None]
    # Retire all edges before restoring any: in between, the trigger could find a cycle that exists neither before nor
    # after.
    for edge in standing.values():
        if edge is not None:
            store.retire(edge, attribution, store.Action.UNDO)
    for fact in sorted(wanted, key=lambda fact: fact["dim_id"]):
        try:
            store.put_back({name: fact[name] for name in ("edge_id", *EDGE_FIELDS)}, attribution)
        except IntegrityError as error:
            if constraint_of(error) != "urd_acyclic":
                raise
            names = ("concept_id", "parent_id", "dim_id")
            words = Soas.objects.in_bulk([fact[name] for name in names])
            concept, parent, dimension = (words[fact[name]].token for name in names)
            text = as_compact(concept, parent, dimension, is_isa=fact["is_isa"])
            raise DecisionError(f"{text} would now close a cycle.") from error


def _end_corroboration(keys: Collection[int]) -> None:
    """Facts whose supporters may all be one by now are not corroborated."""
    corroborated = Edge.objects.filter(pk__in=keys, is_corroborated=True).in_bulk()
    supporters: dict[int, list[Supporter]] = defaultdict(list)
    for row in Support.objects.filter(kind=Support.Kind.EDGE, object_id__in=corroborated):
        supporters[row.object_id].append(row.supporter)
    alone = [key for key, known in supporters.items() if all(one.may_be(known[0]) for one in known)]
    Edge.objects.filter(pk__in=alone).update(is_corroborated=False)


def _with_confirmations(
    change: RowChange, facts: Iterable[RowChange], standing: Mapping[Place, Edge | None]
) -> Snapshot:
    """Return the old fact, updated with what confirming statements have changed since the decision."""
    assert change.before is not None
    was = change.before
    # If the decision stated the fact anew in another place, statements that confirmed it there confirmed the same fact.
    heirs = (one for one in (change, *facts) if one.after is not None and (one is change or one.before is None))
    heir = next((one for one in heirs if _is_same_fact(was, one.after)), None)
    edge = standing[heir.places[1]] if heir is not None and heir.places[1] is not None else None
    if heir is None or heir.after is None or edge is None:
        return was
    left = read_snapshot(Edge, heir.after)
    now = {name: value for name in CONFIRMED_FIELDS if (value := getattr(edge, name)) != left[name]}
    return was | take_snapshot(edge, now)


def _is_same_fact(one: Snapshot, other: Snapshot | None) -> bool:
    return other is not None and all(one[name] == other[name] for name in ("concept_id", "parent_id"))


def _put_aliases_back(changes: Sequence[RowChange]) -> None:
    standing = Alias.objects.select_for_update().in_bulk(_keys(changes))
    for one in changes:
        alias = standing.get(one.key)
        if (alias and alias.concept_id) != (one.after and one.after["concept_id"]):
            raise DecisionError(f"The alias {Soas.objects.get(pk=one.key)} has changed since.")
    Alias.objects.filter(pk__in=[one.key for one in changes if one.before is None]).delete()
    for one in changes:
        if one.before is not None:
            used = Edge.objects.filter(Q(concept=one.key) | Q(parent=one.key) | Q(dim=one.key)).first()
            if used is not None and one.after is None:
                raise DecisionError(f"It can be no name again, for it has facts by now: {used}.")
            Alias.objects.update_or_create(pk=one.key, defaults=read_snapshot(Alias, one.before))


def _put_dimensions_back(changes: Sequence[RowChange]) -> None:
    """Restore the dimensions that the decision deleted or changed. Those that it made are dropped last, once they are
    empty."""
    gone = {one.key: one.before for one in changes if one.before is not None}
    for dim_id, was in sorted(gone.items()):
        store.ensure_dimension(dim_id, is_isa=was["is_isa"])
    for dim_id, was in gone.items():  # once all exist that others were split from
        Dimension.objects.filter(pk=dim_id).update(**was)


def _put_rows_back(changes: Sequence[RowChange]) -> None:
    """Restore the fields that the decision changed where nobody has changed them since, and delete the rows that it
    made."""
    for row, one in _lock(changes):
        left = read_snapshot(one.model, one.left)
        names = left if one.before is None else one.differing
        if any(getattr(row, name) != left[name] for name in names):
            continue
        if one.before is None:
            row.delete()
        else:
            one.model._base_manager.filter(pk=row.pk).update(**read_snapshot(one.model, one.differing))
    gone = {
        one.key: one.model(**read_snapshot(one.model, one.before)) for one in changes if one.before and not one.after
    }
    if gone:  # if their places are not taken by now, and what made them is not undone
        model = changes[0].model
        unmade = set(_find_made(model, gone).filter(decision__undone_by__isnull=False).values_list("key", flat=True))
        again = [row for key, row in gone.items() if key not in unmade]
        model._base_manager.bulk_create(again, ignore_conflicts=True)


def _put_claims_back(changes: Sequence[RowChange], decision: Decision) -> None:
    """Restore the claims that nobody has changed since."""
    for row, one in _lock(changes):
        if one.before is None or one.after is None:
            _withdraw(row, decision)
        elif row.status == one.left["status"] and not (one.was["status"] in OPEN and _stays_closed(row)):
            Claim.objects.filter(id=row.pk).update(**read_snapshot(Claim, one.differing), claimed_until=None)


def _close_opened(changes: Changes) -> None:
    """Close the conflicts that a consolidation opened, which rules for current rows may not find moot."""
    opened = Conflict.objects.filter(pk__in=[one.key for one in changes[Conflict] if one.before is None], question="")
    close_moot(opened.filter(tier__in=TIERS).values_list("pk", flat=True))


def _reopen_conflict(closed: Conflict | None) -> None:
    """Reopen the conflict that the decision closed as a whole."""
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
    return (
        same.exclude(id=row.pk).exists()
        or _find_made(Claim, [row.pk]).filter(decision__undone_by__isnull=False).exists()
    )


def _find_made(model: type[Model], keys: Iterable[int]) -> QuerySet[DecisionChange]:
    """Return the changes by which decisions made these rows."""
    rows = DecisionChange.objects.filter(table_name=model._meta.db_table, key__in=list(keys))
    return rows.filter(before__isnull=True, after__isnull=False)


def _drop_dimensions(decision: Decision, dim_ids: Iterable[int]) -> None:
    """Drop unused dimensions that this decision made, or another one that is undone by now."""
    made = _find_made(Dimension, dim_ids).filter(Q(decision=decision) | Q(decision__undone_by__isnull=False))
    for dim_id in sorted(set(made.values_list("key", flat=True))):
        if not Claim.objects.filter(dim_id=dim_id, status__in=OPEN).exists():
            store.drop_dimension(dim_id)
