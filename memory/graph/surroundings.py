"""What is above a concept and a parent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memory.domain.judging import climb
from memory.domain.types import Slot
from memory.models import Edge


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The graph around a concept (memory.domain.judging.Graph): ``edges`` by their slots, there by parent, and
    ``words`` with their ids."""

    edges: Mapping[Slot, Mapping[int, Edge]]
    concept_id: int
    words: Mapping[str, int]

    def is_above(self, dim_id: int, upper: str, lower: str) -> bool:
        return self.words[upper] in self._climb(dim_id, lower)

    def closes_cycle(self, dim_id: int, parent: str) -> bool:
        return self.concept_id in self._climb(dim_id, parent)

    def _climb(self, dim_id: int, word: str) -> Iterator[int]:
        return climb(lambda word_id: self.edges.get((word_id, dim_id), {}), self.words[word])
