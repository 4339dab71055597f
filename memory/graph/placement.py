"""The rules of placing: what becomes of facts in the slots that they are about.

Many facts are placed for the price of one: their slots are read and locked together, the rules are applied in memory,
one fact after the other, and what changed is written together.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db.models import Max, Q, QuerySet
from django.db.models.fields.json import KT
from django.utils import timezone

from memory.db.transactions import GraphChanged
from memory.domain.types import Slot, Triple, TripleIds
from memory.graph.store import (
    DELIBERATE,
    IMPORTED,
    Attribution,
    SlotTaken,
    delete_edges,
    ensure_dimension,
    ensure_tokens,
    insert_edges,
    lock_dimensions,
    make_novel,
    note,
    picture,
    update_edges,
    write_history,
)
from memory.models import Dimension, Edge, EdgeHistory, Soas

# Another voice that says the same closes this share of the doubt that is left.
CORROBORATION = 0.05
CONFIRMATION_IS_NOTED_EVERY = timedelta(days=1)

Action = EdgeHistory.Action
Voice = tuple[str, str]  # agent, role


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of a fact. ``edge`` is the one that stands now, in the fact's slot or where the fact was moved to;
    None for a ring, which ``blocking`` closes. ``replaced`` is how the superseded edge was."""

    outcome: Literal["inserted", "confirmed", "occupied", "ring", "reserved", "superseded", "outdated"]
    triple: TripleIds
    edge: Edge | None = None
    blocking: Edge | None = None
    replaced: Edge | None = None


@dataclass(slots=True)
class _Changes:
    """What is to be written. An edge that takes another's place is a new one: were rows changed one after the other,
    a ring could show between two of them that is there neither before nor after."""

    gone: set[int] = field(default_factory=set)  # keys of edges
    new: dict[Slot, Edge] = field(default_factory=dict)
    changed: dict[int, Edge] = field(default_factory=dict)
    history: list[EdgeHistory] = field(default_factory=list)


class Slots:
    """The slots of some facts, as those placed so far leave them. Nobody else can fill them until the end of the
    transaction. Call ``read`` before anything is placed, and ``write`` after it; then other ``Slots`` may be made."""

    def __init__(self, facts: Iterable[Triple]) -> None:
        """Adds the words and the dimensions that are new."""
        facts = list(facts)
        self._count = len(facts)
        self._ids = ensure_tokens(word for fact in facts for word in (fact.concept, fact.parent, fact.dimension))
        self.triples = {fact: self._triple(fact) for fact in facts}
        is_isa = {self.triples[fact].dim_id: fact.is_isa for fact in reversed(facts)}  # by the first fact of each
        lock_dimensions(is_isa)
        self._dimensions = {row.pk: row for row in _with_splits(is_isa)}
        for dim_id in sorted(is_isa.keys() - self._dimensions.keys()):
            self._dimensions[dim_id] = ensure_dimension(dim_id, is_isa=is_isa[dim_id])
        self._splits: dict[int, list[int]] = {dim_id: list(self._split(dim_id)) for dim_id in is_isa}
        self._edges: dict[Slot, Edge] = {}
        self._voices: dict[TripleIds, dict[Voice, datetime | None]] = defaultdict(dict)
        self._changes = _Changes()

    def _triple(self, fact: Triple) -> TripleIds:
        return TripleIds(self._ids[fact.concept], self._ids[fact.dimension], self._ids[fact.parent])

    def _split(self, dim_id: int) -> Iterator[int]:
        """The dimensions that were decomposed from this one, and from those."""
        for split in sorted(pk for pk, row in self._dimensions.items() if row.split_from_id == dim_id):
            yield split
            yield from self._split(split)

    def supersedes(self, dim_id: int) -> bool:
        return self._dimensions[dim_id].on_collision == Dimension.OnCollision.SUPERSEDE

    # --- reading ---

    def read(self, elsewhere: Iterable[int] = ()) -> None:
        """``elsewhere``: dimensions to which facts were moved, beside those that were split."""
        dim_ids = {*self._dimensions, *elsewhere}
        concepts = {triple.concept_id for triple in self.triples.values()}
        found = list(_edges(concepts, dim_ids).select_for_update(of=("self",)).order_by("edge_id"))
        self._edges = {(edge.concept_id, edge.dim_id): edge for edge in found}
        self._read_ancestors(concepts, dim_ids)
        if found or len(concepts) < self._count:  # else nothing can be confirmed
            self._read_voices(concepts, dim_ids)

    def _read_ancestors(self, concepts: set[int], dim_ids: set[int]) -> None:
        """What a ring could be closed with: all that is above the parents, level by level."""
        known = concepts
        above = {triple.parent_id for triple in self.triples.values()}
        above |= {edge.parent_id for edge in self._edges.values()}
        while unknown := above - known:
            level = list(_edges(unknown, dim_ids))
            self._edges |= {(edge.concept_id, edge.dim_id): edge for edge in level}
            known = known | unknown
            above = {edge.parent_id for edge in level}

    def _read_voices(self, concepts: set[int], dim_ids: set[int]) -> None:
        """Who has said what stands, or may come to stand, in the slots, and when that was last noted."""
        told = EdgeHistory.objects.filter(
            concept_id__in=concepts, dim_id__in=dim_ids, action__in=[Action.INSERT, Action.SUPERSEDE, Action.CONFIRM]
        ).exclude(role=IMPORTED)
        rows = told.values_list("concept_id", "dim_id", KT("after__parent_id"), "actor", "role")
        for concept_id, dim_id, parent_id, agent, role, noted in rows.annotate(
            noted=Max("at", filter=Q(action=Action.CONFIRM))
        ).order_by():
            self._voices[TripleIds(concept_id, dim_id, int(parent_id))][agent, role] = noted

    # --- the rules ---

    def place(self, fact: Triple, said: Attribution, moved_to: int | None = None) -> Placement:
        """Puts the fact where it belongs, or says what stands against it; then nothing changes."""
        triple = self.triples[fact]
        standing = self._edges.get(triple.slot)
        if standing is not None and standing.is_root:
            return Placement("reserved", triple, standing)
        if (confirmed := self.confirm(fact, said, moved_to)) is not None:
            return confirmed
        if standing is not None and not self.supersedes(triple.dim_id):
            return Placement("occupied", triple, standing)
        if standing is not None and said.at < standing.said_at:
            return Placement("outdated", triple, standing)
        if (blocking := self._blocking(triple)) is not None:
            return Placement("ring", triple, blocking=blocking)
        return self._put(fact, said, standing)

    def standing(self, fact: Triple) -> Edge | None:
        """What the fact's slot holds."""
        return self._edges.get(self.triples[fact].slot)

    def confirm(self, fact: Triple, said: Attribution, moved_to: int | None = None) -> Placement | None:
        """Confirms the fact where it stands: in its slot, in a dimension that was split from its own, or in the one
        to which it was moved. None where it does not stand."""
        triple = self.triples[fact]
        places = [triple.dim_id, *self._splits[triple.dim_id], *([moved_to] if moved_to is not None else [])]
        for dim_id in places:
            edge = self._edges.get((triple.concept_id, dim_id))
            if edge is not None and edge.parent_id == triple.parent_id and not edge.is_root:
                self._confirm(edge, triple, said)
                return Placement("confirmed", triple, edge)
        return None

    def _blocking(self, triple: TripleIds) -> Edge | None:
        """The edge that the fact would close to a ring: the last step up from its parent to its concept. What a
        newcomer would take the place of is no such step."""
        step = triple.parent_id
        for _ in range(len(self._edges)):  # a ring that was stored without the trigger would have no end
            edge = self._edges.get((step, triple.dim_id))
            if edge is None or edge.is_root:
                return None
            if edge.parent_id == triple.concept_id:
                return edge
            step = edge.parent_id
        return None

    def _put(self, fact: Triple, said: Attribution, replaced: Edge | None) -> Placement:
        triple = self.triples[fact]
        edge = Edge(
            concept=Soas(pk=triple.concept_id, token=fact.concept),
            parent=Soas(pk=triple.parent_id, token=fact.parent),
            dim=Soas(pk=triple.dim_id, token=fact.dimension),
            is_isa=fact.is_isa,
            confidence=said.confidence,
            source=said.source,
            agent=said.agent,
            said_at=said.at,
            last_confirmed=said.at,
        )
        if replaced is not None and replaced.pk is not None:
            self._changes.gone.add(replaced.pk)
            self._changes.changed.pop(replaced.pk, None)
        self._edges[triple.slot] = self._changes.new[triple.slot] = edge
        action = Action.INSERT if replaced is None else Action.SUPERSEDE
        before = picture(replaced) if replaced is not None else None
        self._note(action, edge, said, before)
        self._voices[triple].setdefault((said.agent, said.role), None)
        outcome: Literal["inserted", "superseded"] = "inserted" if replaced is None else "superseded"
        return Placement(outcome, triple, edge, replaced=replaced)

    def _confirm(self, edge: Edge, triple: TripleIds, said: Attribution) -> None:
        """The same voice only moves the times; another one also raises the confidence, once. A fact that was read
        somewhere and is now stated on purpose becomes a stated one."""
        before = picture(edge)
        here = self._voices[TripleIds(edge.concept_id, edge.dim_id, edge.parent_id)]
        voice = (said.agent, said.role)
        noted = here.get(voice)
        edge.last_confirmed = max(edge.last_confirmed, said.at)
        edge.said_at = max(edge.said_at, said.at)
        if voice not in here and voice not in self._voices[triple] and not _is_author(edge, said, here):
            raised = edge.confidence + CORROBORATION * (1 - edge.confidence)
            edge.confidence = max(raised, said.confidence)
        if said.source in DELIBERATE and edge.source not in DELIBERATE:
            edge.source, edge.agent, edge.confidence = said.source, said.agent, max(edge.confidence, said.confidence)
        if edge.pk is not None:
            self._changes.changed[edge.pk] = edge
        now = timezone.now()
        is_old_news = noted is not None and noted > now - CONFIRMATION_IS_NOTED_EVERY
        if is_old_news and (edge.confidence, edge.source) == (before["confidence"], before["source"]):
            return
        self._note(Action.CONFIRM, edge, said, before)
        here[voice] = now

    def _note(self, action: EdgeHistory.Action, edge: Edge, said: Attribution, before: dict[str, Any] | None) -> None:
        self._changes.history.append(note(action, edge, said, before=before, after=picture(edge)))

    # --- writing ---

    def write(self) -> None:
        """Raises GraphChanged where a slot was filled meanwhile, and IntegrityError (``urd_acyclic``)."""
        changes, self._changes = self._changes, _Changes()
        if changes.gone:
            delete_edges(changes.gone)
        if changes.new:
            try:
                insert_edges(changes.new.values())
            except SlotTaken as error:
                raise GraphChanged(str(error)) from error
        if changes.changed:
            update_edges(changes.changed.values())
        if changes.history:
            write_history(changes.history)
        if changes.new:
            make_novel(concept_id for concept_id, _ in changes.new)


def _with_splits(dim_ids: Iterable[int]) -> Iterable[Dimension]:
    """The dimensions that exist, and all that were split from them, and from those."""
    return Dimension.objects.raw(
        "WITH RECURSIVE lineage AS (SELECT id FROM unnest(%s::int[]) AS id"
        " UNION SELECT dimension.id FROM dimension JOIN lineage ON dimension.split_from_id = lineage.id)"
        " SELECT * FROM dimension WHERE id IN (SELECT id FROM lineage)",
        [list(dim_ids)],
    )


def _edges(concept_ids: set[int], dim_ids: set[int]) -> QuerySet[Edge]:
    """Of these concepts in these dimensions: more than the slots asked for, in one look."""
    edges = Edge.objects.filter(concept_id__in=concept_ids, dim_id__in=dim_ids)
    return edges.select_related("concept", "parent", "dim")


def _is_author(edge: Edge, said: Attribution, voices: dict[Voice, datetime | None]) -> bool:
    """Whether the voice placed an edge of which the history does not tell, as after a bulk load."""
    return not voices and edge.agent == said.agent
