"""Facts that hold for their own speaker alone: what long messages state beyond their first paragraph."""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from memory.attribution.client_names import GROUP, is_registered
from memory.types import EdgeRow

Holder = tuple[str, str]  # an agent, and the person behind it
Facts = Mapping[int, list[EdgeRow]]  # by concept
NONE: Final[Facts] = {}


@dataclass(slots=True)
class OwnFacts:
    """Facts by holder. ``words``: how many of them each word's id is in."""

    words: Counter[int] = field(default_factory=Counter)
    _of: dict[Holder, dict[int, dict[int, EdgeRow]]] = field(default_factory=dict)  # by concept, by row
    _rows: dict[int, tuple[Holder, int]] = field(default_factory=dict)

    @property
    def ids(self) -> Set[int]:
        return self._rows.keys()

    def put(self, row_id: int, holder: Holder, edge: EdgeRow) -> None:
        self.drop(row_id)
        self._of.setdefault(holder, {}).setdefault(edge.concept_id, {})[row_id] = edge
        self._rows[row_id] = holder, edge.concept_id
        self.words.update(_words_of(edge))

    def drop(self, row_id: int) -> None:
        if (place := self._rows.pop(row_id, None)) is None:
            return
        holder, concept = place
        of_holder = self._of[holder]
        edge = of_holder[concept].pop(row_id)
        for word in _words_of(edge):
            self.words[word] -= 1
            if not self.words[word]:
                del self.words[word]
        if not of_holder[concept]:
            del of_holder[concept]
            if not of_holder:
                del self._of[holder]

    def of(self, holder: Holder, share: str) -> Facts:
        """Return the facts for this speaker: their own, and those that their agent was told without a person; none for
        a group.
        ``share``: a value of the setting ``share_unsure``."""
        holders = [one for one in ((holder[0], ""), holder) if one in self._of and holder[1] != GROUP]
        if share != "speaker" and is_registered(holder[0]):
            holders = [one for one in self._of if is_registered(one[0])]
        if not holders:
            return NONE
        found: dict[int, list[EdgeRow]] = {}
        for one in dict.fromkeys(holders):
            for concept, edges in self._of[one].items():
                found.setdefault(concept, []).extend(edges.values())
        return found


def _words_of(edge: EdgeRow) -> Iterator[int]:
    yield from (edge.concept_id, edge.parent_id, edge.dim_id)
