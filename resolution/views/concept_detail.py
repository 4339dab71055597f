"""All that is known of one concept, or of one fact: bounded, in few queries however much it is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Case, Count, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.expressions import RawSQL

from memory.models import Edge, EdgeHistory, Evidence, Soas
from resolution.intake.conflict_queue import IN_ORDER, OPEN
from resolution.models import Conflict
from resolution.views.phrases import by_whom, describe_history, percent

FACTS_MAX: Final = 100
MEMBERS_MAX: Final = 25
HISTORY_MAX: Final = 15
CONFLICTS_MAX: Final = 10
SENTENCES_MAX: Final = 5
VOICES_MAX: Final = 20
COUNTED_MAX: Final = 10_000  # facts

# The words of a conflict, and of an edge as the history keeps it.
NAMED: Final = ("concept", "dim", "existing_parent", "incoming_parent")
PICTURED: Final = ("concept_id", "parent_id", "dim_id")
STATING: Final = (EdgeHistory.Action.INSERT, EdgeHistory.Action.CONFIRM, EdgeHistory.Action.SUPERSEDE)

MEMBERS: Final = "SELECT 1 FROM urd WHERE urd.parent_id = soas.id AND urd.id <> soas.id"
IN_DIMENSION: Final = "SELECT 1 FROM urd WHERE urd.dim_id = soas.id AND urd.id <> soas.id"


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A row of the history, and what it tells in words. ``can_return``: it took a fact out whose place is free."""

    row: EdgeHistory
    what: str
    can_return: bool


@dataclass(frozen=True, slots=True)
class Number:
    """A number in words, of what is not counted beyond COUNTED_MAX."""

    value: int
    is_least: bool

    def __str__(self) -> str:
        return f"more than {self.value:,}" if self.is_least else f"{self.value:,}"

    def __bool__(self) -> bool:
        return self.value > 0


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact. ``conflict_id``: what is open in its slot, the first to be decided; None also where that is not shown."""

    edge: Edge

    @property
    def conflict_id(self) -> int | None:
        return getattr(self.edge, "open_conflict", None)

    @property
    def by(self) -> str:
        return by_whom(self.edge.agent, self.edge.source)

    @property
    def sureness(self) -> str:
        return percent(self.edge.confidence)


@dataclass(frozen=True, slots=True)
class Sees:
    """What somebody may look at. What is not shown is not even looked for."""

    facts: bool = True
    conflicts: bool = True
    history: bool = True
    evidence: bool = True


EVERYTHING: Final = Sees()


@dataclass(frozen=True, slots=True)
class Portrait:
    """``facts`` are about the concept, ``members`` is what is in it, of which ``further`` are not shown. ``has_more``:
    the other parts of which there is more than is shown. What ``sees`` leaves out is empty."""

    concept: Soas
    sees: Sees
    facts: list[KnownFact]
    members: list[KnownFact]
    further: Number
    in_dimension: Number
    sentences: list[Evidence]
    conflicts: list[Conflict]
    history: list[HistoryEntry]
    has_more: frozenset[str]

    @property
    def is_dimension(self) -> bool:
        return hasattr(self.concept, "dimension")

    @property
    def is_disputed(self) -> bool:
        return any(row.status in OPEN and row.concept_id == self.concept.pk for row in self.conflicts)

    @property
    def is_unknown(self) -> bool:
        return self.sees.facts and not (self.facts or self.members or self.is_dimension)


def portrait(concept_id: int, sees: Sees = EVERYTHING) -> Portrait | None:
    """None where there is no such concept."""
    concept = _count_to(sees).filter(pk=concept_id).first()
    if concept is None:
        return None
    facts = list(_facts(sees).filter(concept=concept).order_by("-dim_id")[: FACTS_MAX + 1])
    members = list(_facts(sees).filter(parent=concept).order_by("-last_confirmed", "pk")[:MEMBERS_MAX])
    conflicts = list(_conflicts(concept, sees)[: CONFLICTS_MAX + 1])
    rows = list(_history(sees).filter(concept=concept)[: HISTORY_MAX + 1])
    sentences = Evidence.objects.filter(concept=concept).order_by("-said_at", "-pk") if sees.evidence else ()
    bounded = (("facts", facts, FACTS_MAX), ("conflicts", conflicts, CONFLICTS_MAX), ("history", rows, HISTORY_MAX))
    taken = {edge.dim_id for edge in facts} if sees.facts and len(facts) <= FACTS_MAX else None
    return Portrait(
        concept=concept,
        sees=sees,
        facts=[KnownFact(edge) for edge in facts[:FACTS_MAX]],
        members=[KnownFact(edge) for edge in members],
        further=_limit(getattr(concept, "members", 0), shown=len(members)),
        in_dimension=_limit(getattr(concept, "in_dimension", 0)),
        sentences=list(sentences[:SENTENCES_MAX]),
        conflicts=conflicts[:CONFLICTS_MAX],
        history=_events(rows[:HISTORY_MAX], _words(conflicts, rows), taken),
        has_more=frozenset(name for name, found, shown in bounded if len(found) > shown),
    )


@dataclass(frozen=True, slots=True)
class Voice:
    """Who stated a fact, how often that was noted, and when last."""

    agent: str
    role: str
    times: int
    last: datetime


@dataclass(frozen=True, slots=True)
class Sheet:
    """All that is known of one fact."""

    known: KnownFact
    voices: list[Voice]
    history: list[HistoryEntry]
    has_more_history: bool
    conflicts: list[Conflict]


def sheet(edge_id: int, sees: Sees = EVERYTHING) -> Sheet | None:
    """None where there is no such fact."""
    edge = _edges(sees).filter(pk=edge_id).first()
    if edge is None:
        return None
    slot = {"concept_id": edge.concept_id, "dim_id": edge.dim_id}
    rows = list(_history(sees).filter(**slot)[: HISTORY_MAX + 1])
    conflicts = list(_in_order(_disputes(sees).filter(**slot))[:CONFLICTS_MAX])
    return Sheet(
        known=KnownFact(edge),
        voices=_voices(edge, sees),
        history=_events(rows[:HISTORY_MAX], _words(conflicts, rows), {edge.dim_id}),
        has_more_history=len(rows) > HISTORY_MAX,
        conflicts=conflicts,
    )


def _voices(edge: Edge, sees: Sees) -> list[Voice]:
    said = _history(sees).filter(
        concept_id=edge.concept_id, dim_id=edge.dim_id, action__in=STATING, after__parent_id=edge.parent_id
    )
    counted = said.values_list("actor", "role").annotate(times=Count("pk"), last=Max("at")).order_by("-last")
    return [Voice(*row) for row in counted[:VOICES_MAX]]


def open_conflict() -> Subquery:
    """The key of what is open in an edge's slot, the first to be decided."""
    same_slot = Conflict.objects.filter(concept=OuterRef("concept"), dim=OuterRef("dim"), status__in=OPEN)
    return Subquery(same_slot.order_by(*IN_ORDER).values("pk")[:1])


def _count_to(sees: Sees) -> QuerySet[Soas]:
    concepts = Soas.objects.select_related("dimension")
    return concepts.annotate(members=_count(MEMBERS), in_dimension=_count(IN_DIMENSION)) if sees.facts else concepts


def _edges(sees: Sees) -> QuerySet[Edge]:
    """Here and below: what is not shown is an empty set, for which Postgres is not asked."""
    edges = Edge.objects.select_related("concept", "parent", "dim") if sees.facts else Edge.objects.none()
    return edges.annotate(open_conflict=open_conflict()) if sees.conflicts else edges


def _facts(sees: Sees) -> QuerySet[Edge]:
    """Without roots."""
    return _edges(sees).exclude(concept=F("parent"))


def _history(sees: Sees) -> QuerySet[EdgeHistory]:
    """The newest first."""
    return EdgeHistory.objects.order_by("-at", "-pk") if sees.history else EdgeHistory.objects.none()


def _disputes(sees: Sees) -> QuerySet[Conflict]:
    return Conflict.objects.all() if sees.conflicts else Conflict.objects.none()


def _conflicts(concept: Soas, sees: Sees) -> QuerySet[Conflict]:
    """In which it has a part."""
    part = Q(concept=concept) | Q(existing_parent=concept) | Q(incoming_parent=concept) | Q(blocking_concept=concept)
    return _in_order(_disputes(sees).filter(part))


def _in_order(rows: QuerySet[Conflict]) -> QuerySet[Conflict]:
    """What is open as it is decided, then what is closed, the newest first."""
    closed = Case(When(~Q(status__in=OPEN), then=F("pk")))
    return rows.order_by(closed.desc(nulls_first=True), *IN_ORDER)


def _words(conflicts: list[Conflict], rows: list[EdgeHistory]) -> dict[int, str]:
    """The tokens that conflicts and rows of the history name, in one query: the conflicts have theirs then."""
    ids = {key for row in conflicts for name in NAMED if (key := getattr(row, f"{name}_id")) is not None}
    ids |= {shown[key] for row in rows for shown in (row.before, row.after) if shown for key in PICTURED}
    words = Soas.objects.only("token").in_bulk(ids) if ids else {}
    for row in conflicts:
        for name in NAMED:
            setattr(row, name, words.get(getattr(row, f"{name}_id")))
    return {key: word.token for key, word in words.items()}


def _events(rows: list[EdgeHistory], tokens: dict[int, str], taken: set[int] | None) -> list[HistoryEntry]:
    """``taken``: the dimensions in which the concept has a place; None where that is not known."""
    retire = EdgeHistory.Action.RETIRE
    return [
        HistoryEntry(
            row, describe_history(row, tokens), row.action == retire and (taken is None or row.dim_id not in taken)
        )
        for row in rows
    ]


def _limit(counted: int, shown: int = 0) -> Number:
    return Number(min(counted, COUNTED_MAX) - shown, is_least=counted > COUNTED_MAX)


def _count(sql: str) -> RawSQL:
    return RawSQL(f"SELECT count(*) FROM ({sql} LIMIT %s) AS counted", [COUNTED_MAX + 1], IntegerField())
