"""One conflict with everything an operator needs to decide it, in few queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, F, Q, QuerySet, Value, When

from memory.models import Edge, EdgeHistory, Evidence
from resolution.conflicts.members import find_opponent
from resolution.conflicts.queue import IN_ORDER, OPEN
from resolution.models import Claim, Decision
from resolution.pages import conflict_facts
from resolution.pages.conflict_list import RELATED, ConflictRow, with_support
from resolution.pages.origins import find_origins
from resolution.pages.words import (
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
    why_it_waits,
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
    at: datetime
    what: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class DecisionInWords:
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
    """The initial values of a decision's dimension fields, and the names offered."""

    existing: str = ""
    new: str = ""
    other: str = ""
    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dossier:
    """Everything an operator needs to decide a conflict."""

    row: ConflictRow
    ring: list[str]
    history: list[TimelineEntry]
    known: list[Side]
    rivals: list[ConflictRow]
    decided: list[DecisionInWords]
    sentences: list[Evidence]
    names: Names
    why_it_waits: str

    @property
    def claim(self) -> Claim:
        return self.row.claim


def dossier(conflict_id: int, member: int | None = None) -> Dossier | None:
    """Return what is known around a claim, in nine queries, or None if the conflict has no claims. ``member`` is the
    claim in view; by default the first to be decided, or the last that was."""
    found = _find_claims(conflict_id, member)
    if not found:
        return None
    claim, *others = found
    # The fact in the claim's place comes first, so that it is not cut off if there are many.
    own = When(dim_id=claim.dim_id, parent_id=claim.incoming_parent_id, then=Value(0))
    is_other = Case(own, When(dim_id=claim.dim_id, then=Value(1)), default=Value(2))
    about = Edge.objects.filter(concept_id=claim.concept_id).exclude(parent_id=claim.concept_id)
    edges = list(about.select_related(*conflict_facts.EDGE).order_by(is_other, "-last_confirmed")[: FACTS_MAX + 1])
    ring = conflict_facts.ring(claim) if claim.existing_parent is None else []
    standing = find_opponent(claim, (*ring, *edges))
    history, statements = _history(claim, standing)
    row = ConflictRow(
        claim,
        existing_side(claim, standing, statements),
        incoming_side(claim),
        describe_proposal(claim),
    )
    facts = [edge for edge in edges if edge.dim_id != claim.dim_id or (edge.is_additive and edge is not standing)]
    sentences = Evidence.objects.filter(concept_id=claim.concept_id).order_by("-said_at", "-id")
    return Dossier(
        row=row,
        ring=[str(edge) for edge in ring],
        history=history,
        known=[edge_side(edge) for edge in facts],
        rivals=[ConflictRow(rival, row.existing, incoming_side(rival)) for rival in others if rival.status in OPEN],
        decided=[DecisionInWords(row, describe_decision(row.kind, row.arguments, claim)) for row in _decisions(claim)],
        sentences=list(sentences[:SENTENCES_MAX]),
        names=_names(claim, facts),
        why_it_waits=why_it_waits(claim, standing),
    )


def _decisions(claim: Claim) -> QuerySet[Decision]:
    """Return the decisions about the claim or its conflict, newest first."""
    about = Q(claim=claim) | Q(conflict=claim.conflict_id)
    rows = Decision.objects.filter(about).select_related("undone_by")
    return rows.order_by("-id")[:DECISIONS_MAX]


def _find_claims(conflict_id: int, member: int | None) -> list[Claim]:
    """Return the claim in view first, then the others in the order in which they are decided."""
    place = Case(When(pk=member, then=Value(0)), When(status__in=OPEN, then=Value(1)), default=Value(2))
    rows = with_support(Claim.objects.filter(conflict_id=conflict_id).select_related(*RELATED, "run"))
    return list(rows.order_by(place, F("resolved_at").desc(nulls_first=True), *IN_ORDER)[: RIVALS_MAX + 1])


def _history(claim: Claim, standing: Edge | None) -> tuple[list[TimelineEntry], tuple[Quote, ...]]:
    """Return the slot's timeline, and the statements of the current fact; both newest first."""
    moved_away = Q(action=EdgeHistory.Action.MOVE, before__dim_id=claim.dim_id)
    slot = Q(dim_id=claim.dim_id) | moved_away
    rows = EdgeHistory.objects.filter(slot, concept_id=claim.concept_id).order_by("-at", "-id")[:HISTORY_MAX]
    if standing is not None:
        about = {"concept_id": standing.concept_id, "after__parent_id": standing.parent_id, "action__in": STATING}
        rows = rows.union(EdgeHistory.objects.filter(**about).order_by("-at", "-id")[:STATEMENTS_MAX])
    found = sorted(rows, key=lambda row: (row.at, row.pk), reverse=True)  # unions are unordered
    tokens = names_in(picture for row in found for picture in (row.before, row.after))
    origins = find_origins(standing) if standing is not None else []
    timeline: list[TimelineEntry] = []
    stated: list[Quote] = []
    for row in found:
        by = by_whom(row.actor, row.source)
        places = {row.dim_id, *(picture["dim_id"] for picture in (row.before, row.after) if picture)}
        if row.concept_id == claim.concept_id and claim.dim_id in places:
            timeline.append(TimelineEntry(row.at, describe_history(row, tokens), by, row.reason))
        said = (row.concept_id, row.after["parent_id"]) if row.after and row.action in STATING else None
        if standing is not None and said == (standing.concept_id, standing.parent_id):
            same = (one for one in origins if row.reason and (one.sentence, one.agent) == (row.reason, row.actor))
            origin = next(same, None)
            stated.append(Quote(by, row.role, row.at, row.reason, row.action, origin))
    return timeline[:HISTORY_MAX], tuple(stated[:STATEMENTS_MAX])


def _names(claim: Claim, facts: Iterable[Edge]) -> Names:
    """Offer the proposal's names, then the splits of this dimension, then the most used, except those in which the
    concept already has a fact."""
    taken = {edge.dim_id for edge in facts} | {claim.dim_id}
    free = list(conflict_facts.dimensions(split_from_id=claim.dim_id).exclude(pk__in=taken)[:NAMES_MAX])
    splits = [row.soas.token for row in free if row.split_from_id == claim.dim_id]
    proposal = claim.proposal if isinstance(claim.proposal, dict) else {}
    wanted = [proposal.get(key, "") for key in ("existing_dimension", "new_dimension", "dimension")]
    existing, new = splits[:2] if len(splits) > 1 else (claim.dim.token, "".join(splits))
    offered = dict.fromkeys(filter(None, (*wanted, *(row.soas.token for row in free), claim.dim.token)))
    return Names(wanted[0] or existing, wanted[1] or new, wanted[2], tuple(offered))
