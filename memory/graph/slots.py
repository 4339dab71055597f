"""Slots in memory: their edges, everything above a concept and a parent, and the changes that one transaction's
statements make to them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from memory.attribution.client_names import Supporter
from memory.db.connections import Write, run_together
from memory.db.transactions import GraphChanged
from memory.graph import store
from memory.graph.judging import ancestors
from memory.graph.store import SlotTaken
from memory.models import Dimension, Edge, EdgeHistory, Support
from memory.types import Place, Slot, TripleIds


class EdgesBySlot:
    """Edges in memory by slot. A slot holds one edge or, where all is kept, many."""

    def __init__(self) -> None:
        self._by_parent: dict[Slot, dict[int, Edge]] = defaultdict(dict)

    def add(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            self._by_parent[edge.concept_id, edge.dim_id][edge.parent_id] = edge

    def drop(self, edge: Edge) -> None:
        del self._by_parent[edge.concept_id, edge.dim_id][edge.parent_id]

    def in_slot(self, slot: Slot) -> Mapping[int, Edge]:
        """Return the edges in the slot, by their parents."""
        return self._by_parent.get(slot, {})

    def has_concept(self, concept_id: int) -> bool:
        """True if there is a fact about the concept."""
        found = (edges.values() for slot, edges in self._by_parent.items() if slot[0] == concept_id)
        return any(not edge.is_root for edges in found for edge in edges)

    def in_place(self, ids: TripleIds) -> Edge | None:
        """Return any fact in the slot of this triple or, where all is kept, its own. A root always has its slot
        alone."""
        edges = self.in_slot(ids.slot)
        others = (edge for edge in edges.values() if not edge.is_additive or edge.is_root)
        return edges.get(ids.parent_id) or next(others, None)


@dataclass(frozen=True, slots=True)
class ConceptSurroundings:
    """The graph around a concept (memory.graph.judging.Graph): edges, and ``words`` with their ids."""

    edges: EdgesBySlot
    concept_id: int
    words: Mapping[str, int]

    def is_above(self, dim_id: int, upper: str, lower: str) -> bool:
        return self.words[upper] in self._climb(dim_id, lower)

    def closes_cycle(self, dim_id: int, parent: str) -> bool:
        return self.concept_id in self._climb(dim_id, parent)

    def _climb(self, dim_id: int, word: str) -> Iterator[int]:
        return ancestors(lambda word_id: self.edges.in_slot((word_id, dim_id)), self.words[word])


@dataclass(slots=True)
class Changes:
    """Changes of the graph, written together at the end of their transaction."""

    gone: set[int] = field(default_factory=set)  # keys of edges
    # An edge that takes another's place is a new one. If rows were changed one after the other, the trigger could find
    # a cycle between two of them that exists neither before nor after.
    new: dict[Place, Edge] = field(default_factory=dict)
    changed: dict[int, Edge] = field(default_factory=dict)
    history: list[EdgeHistory] = field(default_factory=list)
    support: dict[tuple[TripleIds, Supporter], tuple[Edge, Support]] = field(default_factory=dict)

    def drop(self, edge: Edge) -> None:
        """Remove the edge, stored or not, from the graph."""
        self.new.pop(edge.place, None)
        if edge.pk is not None:
            self.gone.add(edge.pk)
            self.changed.pop(edge.pk, None)

    def write(self, *also: Write) -> None:
        """Write the changes, and with them what others write. Raises GraphChanged if a slot was filled meanwhile, and
        IntegrityError (``urd_acyclic``)."""
        if self.gone:
            store.delete_edges(self.gone)
        if self.new:
            try:
                store.insert_edges(self.new.values())
            except SlotTaken as error:
                raise GraphChanged(str(error)) from error
        # An edge that was made and replaced together was never stored.
        support = [one for one in self.support.values() if one[0].pk is not None]
        changed = [store.updated(self.changed.values())] if self.changed else []
        supported = [store.supported(support)] if support else []
        noted = [store.noted(self.history)] if self.history else []
        run_together(*changed, *supported, *noted, *also)


def with_splits(dim_ids: Iterable[int]) -> Iterable[Dimension]:
    """Return the existing dimensions, and all that were split from them, directly or through others."""
    # Django has no recursive queries.
    return Dimension.objects.raw(
        "WITH RECURSIVE lineage AS (SELECT id FROM unnest(%s::int[]) AS id"
        " UNION SELECT dimension.id FROM dimension JOIN lineage ON dimension.split_from_id = lineage.id)"
        " SELECT * FROM dimension WHERE id IN (SELECT id FROM lineage)",
        [list(dim_ids)],
    )
