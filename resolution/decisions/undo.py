"""Undoing decisions, singly or a whole run, from what their rows keep.

What was confirmed since keeps that: a fact that more have said is still the same fact. Anything else that changed since
in a slot that the decision touched keeps it from being undone.
"""

import logging
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction

from memory.db.transactions import constraint_of, run_transaction
from memory.domain.formatting import format_fact
from memory.graph import store
from memory.models import Edge, Soas
from resolution.actors import Actor
from resolution.decisions import snapshots
from resolution.decisions.locking import DecisionError, Unknown, edge_in, rebase
from resolution.decisions.snapshots import Difference, Picture, ids
from resolution.domain.verdicts import read_reason
from resolution.intake.conflict_queue import OPEN
from resolution.models import Conflict, DecidedTriple, Decision, Run

__all__ = ["DecisionError", "UndoReport", "undo", "undo_run"]

logger = logging.getLogger(__name__)

# What statements that confirm an edge change of it.
CONFIRMED_FIELDS = ("confidence", "source", "agent", "said_at", "last_confirmed")


@dataclass(slots=True)
class UndoReport:
    """What became of a run's decisions: how they were undone, newest first, which could not be, and why, and how many
    are left because the time was over."""

    undone: list[Decision] = field(default_factory=list)
    refused: list[tuple[Decision, str]] = field(default_factory=list)
    left: int = 0


def undo(decision_id: int, actor: Actor, reason: str = "") -> Decision:
    """Puts the graph and the queue back as they were before the decision; new words stay in the vocabulary.

    Raises DecisionError, saying what is in the way."""
    done = run_transaction(lambda: _transact(decision_id, actor, read_reason(reason)))
    logger.info("decision.undone", extra={"decision": decision_id, "undo": done.pk})
    return done


def undo_run(run_id: int, actor: Actor, reason: str = "", *, within_s: float = math.inf) -> UndoReport:
    """Undoes what the run decided, newest first, each in a transaction of its own; what cannot be put back is skipped.
    After ``within_s`` the rest is left as it is. Raises DecisionError if there is no such run."""
    if not Run.objects.filter(id=run_id).exists():
        raise Unknown(f"There is no run {run_id}.")
    report = UndoReport()
    decided = Decision.objects.filter(run_id=run_id, undone_by=None).exclude(kind=Decision.Kind.UNDO)
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


def _transact(decision_id: int, actor: Actor, reason: str) -> Decision:
    decision = _find(decision_id)
    after = decision.after
    own_slot = (decision.conflict.concept_id, decision.conflict.dim_id)
    dim_ids = _dimensions_of(decision)
    store.lock_dimensions(dim_ids)
    Conflict.objects.select_for_update().get(id=decision.conflict_id)
    _refuse_undone(decision)
    now = {key: edge_in(*ids(key)) for key in after["edges"]}
    _refuse_changed(now, after)
    concepts = {own_slot[0], *(ids(key)[0] for key in after["edges"])}
    old = snapshots.take(concepts, dim_ids, map(int, after["conflicts"]))
    back = _Return(actor, reason, decision)
    back.edges(now)
    back.triples()
    back.conflicts()
    for slot in {own_slot, *snapshots.changed_slots(old, snapshots.take(concepts, dim_ids))}:
        rebase(*slot, fill=False)
    back.dimensions(dim_ids)
    new = snapshots.take(concepts, dim_ids, map(int, after["conflicts"]))
    return _record(decision, actor, reason, *snapshots.difference(old, new))


def _find(decision_id: int) -> Decision:
    decision = Decision.objects.select_related("conflict").filter(id=decision_id).first()
    if decision is None:
        raise Unknown(f"There is no decision {decision_id}.")
    if decision.kind == Decision.Kind.UNDO:
        raise DecisionError("An undoing is not undone: decide the conflict again.")
    return decision


def _dimensions_of(decision: Decision) -> set[int]:
    """All in which it touched an edge or a row of the queue, or which it made."""
    after = decision.after
    disputed = Conflict.objects.filter(id__in=map(int, after["conflicts"])).values_list("dim_id", flat=True)
    return {
        decision.conflict.dim_id,
        *disputed,
        *(ids(key)[1] for key in after["edges"]),
        *map(int, after["dimensions"]),
    }


def _refuse_undone(decision: Decision) -> None:
    undone_by = Decision.objects.filter(undoes=decision).first()
    if undone_by is not None:
        raise DecisionError(f"Decision {decision.pk} was already undone by {undone_by.actor}.")


def _refuse_changed(now: dict[str, Edge | None], after: Difference) -> None:
    """Compare and set: each slot must hold what the decision left there."""
    for key, left in after["edges"].items():
        edge = now[key]
        if (edge and (edge.parent_id, edge.is_isa)) == (left and (left["parent_id"], left["is_isa"])):
            continue
        concept_id, dim_id = ids(key)
        stands = f"{edge.parent} stands there" if edge is not None else "nothing stands there"
        words = Soas.objects.in_bulk([concept_id, dim_id])
        raise DecisionError(f"{words[concept_id]} [{words[dim_id]}] has changed since: now {stands}.")


@dataclass(frozen=True, slots=True)
class _Return:
    """Puts the parts of a decision's surroundings back."""

    actor: Actor
    reason: str
    decision: Decision

    @property
    def by(self) -> dict[str, Any]:
        return {"actor": self.actor.signature, "source": self.actor.source, "reason": self.reason}

    def edges(self, now: dict[str, Edge | None]) -> None:
        """All are taken out before one is put back: no ring can show that was there neither before nor after."""
        before = self.decision.before["edges"]
        wanted = [self._with_confirmations(key, was, now) for key, was in before.items() if was is not None]
        for edge in now.values():
            if edge is not None:
                store.take_back(edge, **self.by)
        for picture in sorted(wanted, key=lambda picture: picture["dim_id"]):
            try:
                with transaction.atomic():
                    store.put_back(picture, **self.by)
            except IntegrityError as error:
                if constraint_of(error) != "urd_acyclic":
                    raise
                raise DecisionError(f"{_sentence(picture)} would now close a ring.") from error

    def _with_confirmations(self, slot: str, was: Picture, now: dict[str, Edge | None]) -> Picture:
        """The edge as it was, with what statements have changed of it since the decision, also where that had moved
        it."""
        before, after = self.decision.before["edges"], self.decision.after["edges"]
        moved = (key for key in after if not _is_same_fact(was, before[key]))
        place = next((key for key in (slot, *moved) if _is_same_fact(was, after[key])), None)
        edge = now[place] if place is not None else None
        if place is None or edge is None:
            return was
        left, present = after[place], store.picture(edge)
        return was | {name: present[name] for name in CONFIRMED_FIELDS if present[name] != left[name]}

    def triples(self) -> None:
        """Those that this decision has written; what was decided later, or reopened, stays."""
        before, after = self.decision.before["triples"], self.decision.after["triples"]
        for key, was in before.items():
            concept_id, dim_id, parent_id = ids(key)
            rows = DecidedTriple.objects.filter(concept_id=concept_id, dim_id=dim_id, parent_id=parent_id)
            if after[key] is not None and not rows.filter(decision=self.decision).delete()[0]:
                continue
            if was is not None and not rows.exists():
                snapshots.triple_of(was).save(force_insert=True)

    def conflicts(self) -> None:
        before, after = self.decision.before["conflicts"], self.decision.after["conflicts"]
        rows = Conflict.objects.select_for_update().filter(id__in=map(int, after))
        for row in rows.order_by("id"):
            was, left = before[str(row.pk)], after[str(row.pk)]
            if was is None:
                self._withdraw(row)
            elif row.status == left["status"] and not (was["status"] in OPEN and _stays_closed(row)):
                fields = snapshots.conflict_fields(was)
                Conflict.objects.filter(id=row.pk).update(**fields, claimed_until=None)

    def _withdraw(self, row: Conflict) -> None:
        """A collision that the decision caused goes with it, unless it was decided about."""
        if row.status not in OPEN:
            return
        if not row.decisions.exists():
            row.delete()
            return
        row.status, row.resolution = Conflict.Status.DISMISSED, {"reason": f"decision {self.decision.pk} was undone"}
        row.save(update_fields=["status", "resolution"])

    def dimensions(self, dim_ids: Iterable[int]) -> None:
        """Those that this decision made, or one that is undone by now, and that nobody uses."""
        made = {int(key) for key in self.decision.before["dimensions"]}
        for dim_id in sorted(dim_ids):
            if dim_id in made or _was_made_by_an_undone_decision(dim_id):
                _drop(dim_id)


def _is_same_fact(picture: Picture, other: Picture | None) -> bool:
    same = ("concept_id", "parent_id")
    return other is not None and all(picture[name] == other[name] for name in same)


def _stays_closed(row: Conflict) -> bool:
    """Whether the same collision is open again in another row (it is open once), or was caused by a decision that is
    undone by now."""
    same = Conflict.objects.filter(
        concept_id=row.concept_id, dim_id=row.dim_id, incoming_parent_id=row.incoming_parent_id, status__in=OPEN
    )
    causes = Decision.objects.filter(undone_by__isnull=False, **{f"before__conflicts__{row.pk}": None})
    return same.exclude(id=row.pk).exists() or causes.exists()


def _was_made_by_an_undone_decision(dim_id: int) -> bool:
    return Decision.objects.filter(undone_by__isnull=False, before__dimensions__has_key=str(dim_id)).exists()


def _drop(dim_id: int) -> None:
    if not Conflict.objects.filter(dim_id=dim_id, status__in=OPEN).exists():
        store.drop_dimension(dim_id)


def _sentence(picture: Picture) -> str:
    keys = [picture[name] for name in ("concept_id", "parent_id", "dim_id")]
    words = Soas.objects.in_bulk(keys)
    concept, parent, dimension = (words[key].token for key in keys)
    return format_fact(concept, parent, dimension, is_isa=picture["is_isa"])


def _record(decision: Decision, actor: Actor, reason: str, before: Difference, after: Difference) -> Decision:
    return Decision.objects.create(
        kind=Decision.Kind.UNDO,
        conflict=decision.conflict,
        run=actor.run,
        undoes=decision,
        actor=actor.signature,
        source=actor.source,
        reason=reason,
        before=before,
        after=after,
    )
