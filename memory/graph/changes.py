"""Collects the changes that one transaction's statements make to the graph, and writes them together at its end."""

from dataclasses import dataclass, field

from memory.db.transactions import GraphChanged
from memory.graph import store
from memory.graph.store import SlotTaken
from memory.models import Edge, EdgeHistory
from memory.types import Place


@dataclass(slots=True)
class Changes:
    gone: set[int] = field(default_factory=set)  # keys of edges
    # An edge that takes another's place is a new one. If rows were changed one after the other, the trigger could find
    # a cycle between two of them that exists neither before nor after.
    new: dict[Place, Edge] = field(default_factory=dict)
    changed: dict[int, Edge] = field(default_factory=dict)
    history: list[EdgeHistory] = field(default_factory=list)

    def drop(self, edge: Edge) -> None:
        """Remove the edge, stored or not, from the graph."""
        self.new.pop(edge.place, None)
        if edge.pk is not None:
            self.gone.add(edge.pk)
            self.changed.pop(edge.pk, None)

    def write(self) -> None:
        """Write the changes. Raises GraphChanged if a slot was filled meanwhile, and IntegrityError
        (``urd_acyclic``)."""
        if self.gone:
            store.delete_edges(self.gone)
        if self.new:
            try:
                store.insert_edges(self.new.values())
            except SlotTaken as error:
                raise GraphChanged(str(error)) from error
        if self.changed:
            store.update_edges(self.changed.values())
        if self.history:
            store.write_history(self.history)
