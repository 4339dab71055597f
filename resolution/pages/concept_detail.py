"""Everything known about one concept or one fact, in few queries and bounded sizes. Each part is read when a page asks
for it, and pages only ask for what the account may view."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any, Final, TypeVar

from django.contrib.postgres.search import SearchQuery
from django.db.models import Case, F, IntegerField, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from memory.english.tokenizer import tokenise
from memory.graph.store import IMPORTED, select_support
from memory.models import Alias, Edge, EdgeHistory, Evidence, Memory, Soas, Support
from resolution.conflicts.queue import IN_ORDER, OPEN
from resolution.models import Claim, Conflict, ConflictMember, DecisionChange
from resolution.pages.timeline import (
    TimelineEvent,
    describe_events,
    in_order,
    tell_claims,
    tell_facts,
    tell_names,
    words_of,
)
from resolution.pages.words import STATING, Origin, find_origins, format_speaker, percent

FACTS_MAX: Final = 100
MEMBERS_MAX: Final = 25
NAMES_MAX: Final = 50
HISTORY_MAX: Final = 15
CONFLICTS_MAX: Final = 10
SENTENCES_MAX: Final = 5
SUPPORTERS_MAX: Final = 20
COUNTED_MAX: Final = 10_000  # facts
MEMORIES_MAX: Final = 8
MEMORIES_READ: Final = 200  # matching by stem: "university" also finds "universal", which is filtered out afterwards
PLACING: Final = (EdgeHistory.Action.INSERT, EdgeHistory.Action.SUPERSEDE)

MEMBERS: Final = """
    SELECT count(*) FROM (SELECT FROM urd AS member WHERE parent_id = %s AND id <> parent_id LIMIT %s) AS counted
"""

Listed = TypeVar("Listed")


class TruncatedList(list[Listed]):
    """The first of many rows."""

    has_more: bool = False

    @classmethod
    def read(cls, rows: Sequence[Listed] | QuerySet[Any], most: int) -> "TruncatedList[Listed]":
        found = cls(rows[: most + 1])
        found.has_more = len(found) > most
        del found[most:]
        return found


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact. ``edge.open_conflict`` is the open conflict in its slot."""

    edge: Any

    @property
    def by(self) -> str:
        return format_speaker(self.edge.agent, self.edge.source)

    @property
    def confidence(self) -> str:
        return percent(self.edge.confidence)

    @property
    def is_imported(self) -> bool:
        """True if the named agent stated it elsewhere, if at all: a file can name anybody."""
        return bool(self.edge.placed_as == IMPORTED)


class ConceptPage:
    """A concept. ``facts`` are about it, ``members`` are in it."""

    def __init__(self, concept: Soas) -> None:
        self.concept = concept
        self.is_dimension = hasattr(concept, "dimension")

    @cached_property
    def names(self) -> list[Alias]:
        """Its aliases or, if it is an alias itself, the row that leads to its concept."""
        merges = DecisionChange.objects.filter(table_name=Alias._meta.db_table, key=OuterRef("pk")).order_by("-pk")
        rows = Alias.objects.filter(Q(pk=self.concept.pk) | Q(concept=self.concept))
        rows = rows.annotate(decision=Subquery(merges.values("decision")[:1]))
        return list(rows.select_related("soas", "concept").order_by("soas__token")[:NAMES_MAX])

    @property
    def canonical(self) -> Soas | None:
        """The concept, if this is an alias."""
        return next((row.concept for row in self.names if row.pk == self.concept.pk), None)

    @cached_property
    def facts(self) -> TruncatedList[KnownFact]:
        return _read_facts(_facts().filter(concept=self.concept).order_by("-dim_id"), FACTS_MAX)

    @cached_property
    def members(self) -> TruncatedList[KnownFact]:
        # Annotate the count, so that the page needs no separate query.
        counted = RawSQL(MEMBERS, [self.concept.pk, COUNTED_MAX + 1], IntegerField())
        members = _facts().filter(parent=self.concept).annotate(counted=counted)
        return _read_facts(members.order_by("-last_confirmed", "pk"), MEMBERS_MAX)

    @cached_property
    def further(self) -> str:
        """The number of members that are not shown, in words; "" if there are none."""
        return _in_words(self.members[0].edge.counted, MEMBERS_MAX) if self.members.has_more else ""

    @cached_property
    def in_dimension(self) -> str:
        facts = Edge.objects.filter(dim=self.concept).exclude(concept=self.concept)
        return _in_words(facts[: COUNTED_MAX + 1].count())

    @cached_property
    def sentences(self) -> list[Evidence]:
        return list(Evidence.objects.filter(concept=self.concept).order_by("-said_at", "-pk")[:SENTENCES_MAX])

    @cached_property
    def memories(self) -> TruncatedList[Memory]:
        """The newest active and candidate memories that contain any of its names."""
        names = {self.concept.token, *(row.soas.token for row in self.names)}
        phrases = (SearchQuery(name.replace("_", " "), config="english", search_type="phrase") for name in names)
        rows = Memory.objects.select_related("project").defer("lexemes").order_by("-pk")
        rows = rows.filter(status__in=(Memory.Status.ACTIVE, Memory.Status.CANDIDATE), lexemes=reduce(or_, phrases))
        return TruncatedList.read([row for row in rows[:MEMORIES_READ] if _names(row.text, names)], MEMORIES_MAX)

    @cached_property
    def claims(self) -> TruncatedList[Claim]:
        """The claims that it is part of."""
        here = self.concept
        part = Q(concept=here) | Q(existing_parent=here) | Q(incoming_parent=here) | Q(blocking_concept=here)
        return _read_claims(part)

    @cached_property
    def history(self) -> TruncatedList[EdgeHistory]:
        return _read_history(EdgeHistory.objects.filter(concept=self.concept))

    @property
    def open_claims(self) -> list[Claim]:
        return [row for row in self.claims if row.status in OPEN]

    @property
    def is_disputed(self) -> bool:
        return any(row.concept_id == self.concept.pk for row in self.open_claims)

    @property
    def is_unknown(self) -> bool:
        return not (self.facts or self.members or self.is_dimension)


class FactPage:
    def __init__(self, edge: Edge) -> None:
        self.known = KnownFact(edge)
        self._slot = {"concept_id": edge.concept_id, "dim_id": edge.dim_id}

    @cached_property
    def supporters(self) -> list[Support]:
        return list(select_support([self.known.edge]).order_by("-said_at")[:SUPPORTERS_MAX])

    @cached_property
    def origins(self) -> list[Origin]:
        return find_origins(self.known.edge)

    @property
    def facts(self) -> TruncatedList[KnownFact]:
        return TruncatedList([self.known])

    @cached_property
    def history(self) -> TruncatedList[EdgeHistory]:
        return _read_history(EdgeHistory.objects.filter(**self._slot))

    @cached_property
    def claims(self) -> TruncatedList[Claim]:
        return _read_claims(Q(**self._slot))

    @property
    def open_claims(self) -> list[Claim]:
        return [row for row in self.claims if row.status in OPEN]


def tell_timeline(page: ConceptPage | FactPage, may: Callable[[str], bool]) -> list[TimelineEvent]:
    """Return what happened, newest first, as far as the account may view it."""
    events: list[TimelineEvent] = []
    claims = page.claims if may("resolution.view_conflict") else []
    if may("memory.view_edgehistory"):
        edges = [known.edge for known in page.facts]
        taken = None if page.facts.has_more else {edge.place for edge in edges}
        words = [edge.parent for edge in edges] + [word for row in claims for word in words_of(row)]
        events += tell_facts(describe_events(page.history, taken, words))
        events += tell_names(page.names if isinstance(page, ConceptPage) else ())
    return in_order([*events, *tell_claims(claims)])


def find_concept_page(concept_id: int) -> ConceptPage | None:
    """Return the concept, or None if there is none with this id."""
    concept = Soas.objects.select_related("dimension").filter(pk=concept_id).first()
    return ConceptPage(concept) if concept is not None else None


def find_fact_page(edge_id: int) -> FactPage | None:
    """Return the fact, or None if there is none with this id."""
    edge = _edges().filter(pk=edge_id).first()
    return FactPage(edge) if edge is not None else None


def open_conflict() -> Coalesce:
    """Return an expression for the key of an edge's open conflict: one in its slot (if the dimension keeps all, about
    the same parent), else one with another layer."""
    claims = Claim.objects.filter(concept=OuterRef("concept"), dim=OuterRef("dim"), status__in=OPEN)
    about = claims.filter(Q(incoming_parent=OuterRef("parent")) | Q(dim__dimension__is_additive=False))
    members = ConflictMember.objects.filter(kind=ConflictMember.Kind.EDGE, object_id=OuterRef("pk"))
    between = members.filter(conflict__status=Conflict.Status.OPEN).order_by("conflict")
    return Coalesce(Subquery(about.values("conflict")[:1]), Subquery(between.values("conflict")[:1]))


def last_sentence() -> Subquery:
    """Return an expression for the words in which an edge was last stated, if the history has them."""
    slot = EdgeHistory.objects.filter(concept=OuterRef("concept"), dim=OuterRef("dim"), action__in=STATING)
    parent = Cast(KT("after__parent_id"), IntegerField())
    said = slot.annotate(of=parent).filter(of=OuterRef("parent")).exclude(reason="")
    return Subquery(said.order_by("-at", "-pk").values("reason")[:1])


def _edges() -> QuerySet[Edge]:
    slot = EdgeHistory.objects.filter(concept=OuterRef("concept"), dim=OuterRef("dim"))
    placed = slot.filter(action__in=PLACING).annotate(by=KT("after__agent")).filter(by=OuterRef("agent"))
    placed_as = Subquery(placed.order_by("-at", "-pk").values("role")[:1])
    return Edge.objects.select_related("concept", "parent", "dim").annotate(
        open_conflict=open_conflict(), placed_as=placed_as
    )


def _facts() -> QuerySet[Edge]:
    return _edges().exclude(concept=F("parent"))  # without roots


def _names(text: str, names: Collection[str]) -> bool:
    """True if the text contains one of the names, spelled as one word or as several."""
    words = f"_{'_'.join(token.text for token in tokenise(text))}_"
    return any(f"_{name}_" in words for name in names)


def _in_words(counted: int, shown: int = 0) -> str:
    """Format how many of the counted rows are not shown."""
    return f"more than {COUNTED_MAX - shown:,}" if counted > COUNTED_MAX else f"{counted - shown:,}"


def _read_facts(edges: QuerySet[Any], most: int) -> TruncatedList[KnownFact]:
    facts = TruncatedList[KnownFact].read(edges, most)
    facts[:] = map(KnownFact, facts)
    return facts


def _read_claims(which: Q) -> TruncatedList[Claim]:
    """Return open claims in the order in which they are decided, then closed ones, newest first."""
    closed = Case(When(~Q(status__in=OPEN), then=F("pk")))
    order = (closed.desc(nulls_first=True), *IN_ORDER)
    # Join the words to the few rows that are shown, not to all that are sorted.
    keys = Claim.objects.filter(which).order_by(*order).values("pk")[: CONFLICTS_MAX + 1]
    rows = Claim.objects.filter(pk__in=keys).select_related("concept", "dim", "existing_parent", "incoming_parent")
    return TruncatedList.read(rows.order_by(*order), CONFLICTS_MAX)


def _read_history(rows: QuerySet[EdgeHistory]) -> TruncatedList[EdgeHistory]:
    return TruncatedList.read(rows.select_related("concept", "dim").order_by("-at", "-pk"), HISTORY_MAX)
