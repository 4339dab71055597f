"""What is above a concept and a parent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memory.domain.types import Slot
from memory.models import Edge


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The graph around a concept (memory.domain.judging.Graph): ``edges`` by their slots, ``words`` with their ids."""

    edges: Mapping[Slot, Edge]
    concept_id: int
    words: Mapping[str, int]

    def is_above(self, dim_id: int, upper: str, lower: str) -> bool:
        return self.words[upper] in self._climb(dim_id, lower)

    def closes_cycle(self, dim_id: int, parent: str) -> bool:
        return self.concept_id in self._climb(dim_id, parent)

    def _climb(self, dim_id: int, word: str) -> Iterator[int]:
        """All that is above the word."""
        at, passed = self.words[word], set[int]()
        while (edge := self.edges.get((at, dim_id))) is not None and at not in passed and not edge.is_root:
            passed.add(at)
            at = edge.parent_id
            yield at
