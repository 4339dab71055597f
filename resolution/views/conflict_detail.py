"""One conflict with all that an operator needs to decide it, in few queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, Q, QuerySet, Subquery, Value, When

from memory.models import Edge, EdgeHistory, Evidence
from resolution.intake.conflict_queue import IN_ORDER, OPEN
from resolution.models import Conflict, Decision
from resolution.views import conflict_facts
from resolution.views.conflict_list import RELATED, Row
from resolution.views.phrases import (
    STATING,
    Quote,
    Side,
    by_whom,
    describe_decision,
    describe_history,
    describe_proposal,
    edge_side,
    existing_side,
    incoming_side,
    names_in,
)

NAMES_MAX = 40  # dimensions offered for a decision
HISTORY_MAX = 20
STATEMENTS_MAX = 5
FACTS_MAX = 100
RIVALS_MAX = 20
DECISIONS_MAX = 20
SENTENCES_MAX = 5


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A line of a slot's history."""

    at: datetime
    what: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision on the conflict, in words."""

    decision: Decision
    what: str

    @property
    def is_undone(self) -> bool:
        return hasattr(self.decision, "undone_by")

    @property
    def may_be_undone(self) -> bool:
        return self.decision.kind != Decision.Kind.UNDO and not self.is_undone


@dataclass(frozen=True, slots=True)
class Names:
    """The dimensions that the fields of a decision begin with, and those that are offered."""

    existing: str = ""
    new: str = ""
    other: str = ""
    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dossier:
    """All that an operator needs to decide."""

    row: Row
    ring: list[str]
    history: list[TimelineEntry]
    known: list[Side]
    rivals: list[Row]
    decided: list[Decided]
    sentences: list[Evidence]
    names: Names

    @property
    def conflict(self) -> Conflict:
        return self.row.conflict


def dossier(conflict_id: int) -> Dossier | None:
    """In eight queries; None where there is no such conflict."""
    found = _with_rivals(conflict_id)
    if not found:
        return None
    conflict, *rivals = found
    # What is in its slot comes first: of many facts that one must not be cut off.
    is_other = Case(When(dim_id=conflict.dim_id, then=Value(0)), default=Value(1))
    about = Edge.objects.filter(concept_id=conflict.concept_id).exclude(parent_id=conflict.concept_id)
    edges = list(about.select_related(*conflict_facts.EDGE).order_by(is_other, "-last_confirmed")[: FACTS_MAX + 1])
    ring = conflict_facts.ring(conflict) if conflict.existing_parent is None else []
    slots = {(edge.concept_id, edge.dim_id): edge for edge in (*ring, *edges)}
    standing = conflict_facts.in_the_way(conflict, slots)
    history, statements = _history(conflict, standing)
    row = Row(
        conflict, existing_side(conflict, standing, statements), incoming_side(conflict), describe_proposal(conflict)
    )
    facts = [edge for edge in edges if edge.dim_id != conflict.dim_id]
    sentences = Evidence.objects.filter(concept_id=conflict.concept_id).order_by("-said_at", "-id")
    return Dossier(
        row=row,
        ring=[str(edge) for edge in ring],
        history=history,
        known=[edge_side(edge) for edge in facts],
        rivals=[Row(rival, row.existing, incoming_side(rival)) for rival in rivals],
        decided=[Decided(row, describe_decision(row.kind, row.arguments, conflict)) for row in _decisions(conflict)],
        sentences=list(sentences[:SENTENCES_MAX]),
        names=_names(conflict, facts),
    )


def _decisions(conflict: Conflict) -> QuerySet[Decision]:
    """The newest first."""
    rows = Decision.objects.filter(conflict=conflict).select_related("undone_by").defer(*Decision.SNAPSHOTS)
    return rows.order_by("-id")[:DECISIONS_MAX]


def _with_rivals(conflict_id: int) -> list[Conflict]:
    """The conflict, and after it what else is open in its slot."""
    own = Conflict.objects.filter(pk=conflict_id)
    slot = {name: Subquery(own.values(name)) for name in ("concept_id", "dim_id")}
    in_slot = Q(**slot, status__in=OPEN)
    rows = Conflict.objects.filter(Q(pk=conflict_id) | in_slot).select_related(*RELATED, "run")
    is_other = Case(When(pk=conflict_id, then=Value(0)), default=Value(1))
    found = list(rows.order_by(is_other, *IN_ORDER)[: RIVALS_MAX + 1])
    return found if found and found[0].pk == conflict_id else []


def _history(conflict: Conflict, standing: Edge | None) -> tuple[list[TimelineEntry], tuple[Quote, ...]]:
    """What happened in the slot, and who stated the fact that stands; both the newest first."""
    moved_away = Q(action=EdgeHistory.Action.MOVE, before__dim_id=conflict.dim_id)
    slot = Q(dim_id=conflict.dim_id) | moved_away
    rows = EdgeHistory.objects.filter(slot, concept_id=conflict.concept_id).order_by("-at", "-id")[:HISTORY_MAX]
    if standing is not None:
        about = {"concept_id": standing.concept_id, "after__parent_id": standing.parent_id, "action__in": STATING}
        rows = rows.union(EdgeHistory.objects.filter(**about).order_by("-at", "-id")[:STATEMENTS_MAX])
    found = sorted(rows, key=lambda row: (row.at, row.pk), reverse=True)  # a union comes in no order
    tokens = names_in(picture for row in found for picture in (row.before, row.after))
    timeline: list[TimelineEntry] = []
    stated: list[Quote] = []
    for row in found:
        by = by_whom(row.actor, row.source)
        places = {row.dim_id, *(picture["dim_id"] for picture in (row.before, row.after) if picture)}
        if row.concept_id == conflict.concept_id and conflict.dim_id in places:
            timeline.append(TimelineEntry(row.at, describe_history(row, tokens), by, row.reason))
        said = (row.concept_id, row.after["parent_id"]) if row.after and row.action in STATING else None
        if standing is not None and said == (standing.concept_id, standing.parent_id):
            stated.append(Quote(by, row.role, row.at, row.reason, row.action))
    return timeline[:HISTORY_MAX], tuple(stated[:STATEMENTS_MAX])


def _names(conflict: Conflict, facts: Iterable[Edge]) -> Names:
    """The proposal's names, then the splits of this dimension, then the most used; none that the concept has a fact
    in already."""
    taken = {edge.dim_id for edge in facts} | {conflict.dim_id}
    free = list(conflict_facts.dimensions(split_from_id=conflict.dim_id).exclude(pk__in=taken)[:NAMES_MAX])
    splits = [row.soas.token for row in free if row.split_from_id == conflict.dim_id]
    proposal = conflict.proposal if isinstance(conflict.proposal, dict) else {}
    wanted = [proposal.get(key, "") for key in ("existing_dimension", "new_dimension", "dimension")]
    existing, new = splits[:2] if len(splits) > 1 else (conflict.dim.token, "".join(splits))
    offered = dict.fromkeys(filter(None, (*wanted, *(row.soas.token for row in free), conflict.dim.token)))
    return Names(wanted[0] or existing, wanted[1] or new, wanted[2], tuple(offered))
