"""Changes by prompts to this process's copy of the graph, ahead of the rows that the workers will write."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field, replace

from memory.domain.types import EdgeRow, Place

# A change seen in a prompt counts for this long; by then its row has arrived or never will.
PROVISIONAL_S = 60.0


@dataclass(frozen=True, slots=True)
class Expected:
    """The edge that is going to take a place (``Cache.put_edge``). ``parents``: those that were there before;
    ``stored``: the edge that Postgres has there."""

    edge: EdgeRow | None
    parents: frozenset[str]
    stored: EdgeRow | None
    until: float  # seconds since the epoch


@dataclass(slots=True)
class Expectations:
    """The expected changes; false if there are none. ``words`` are the cache's, by id. ``labels``: how words that
    Postgres does not have yet are typed."""

    _by_place: dict[Place, Expected] = field(default_factory=dict)
    _made_up: list[int] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._by_place)

    def copy(self) -> "Expectations":
        return Expectations(dict(self._by_place), list(self._made_up), dict(self.labels))

    def make_up(self, word: str, label: str, words: MutableMapping[int, str]) -> int:
        """Return an id for a word that has none in Postgres yet, valid as long as anything is expected."""
        self.labels[word] = label
        self._made_up.append(-1 - len(self._made_up))
        words[self._made_up[-1]] = word
        return self._made_up[-1]

    def note(self, place: Place, edge: EdgeRow | None, standing: EdgeRow, parent: str, now: float) -> None:
        """Note that ``edge`` is going to take the place, which ``standing`` with this ``parent`` holds now."""
        known = self._by_place.get(place)
        stored, parents = (known.stored, known.parents) if known is not None else (standing, frozenset[str]())
        self._by_place[place] = Expected(edge, parents | {parent}, stored, now + PROVISIONAL_S)

    def keep(self, concept_id: int, edges: list[EdgeRow], words: MutableMapping[int, str]) -> list[EdgeRow]:
        """Return a concept's edges, given as Postgres has them, with what is still expected applied."""
        for place in [place for place in self._by_place if place[0] == concept_id]:
            expected = self._by_place[place]
            new, stored = expected.edge, next((edge for edge in edges if edge.place == place), None)
            is_beside = new is not None and new.place != place and any(edge.place == new.place for edge in edges)
            if stored is None or is_beside or words.get(stored.parent_id) not in expected.parents:
                self._drop(place, words)  # it has arrived, or somebody else was faster
                continue
            self._by_place[place] = replace(expected, stored=stored)
            edges = [edge for edge in edges if edge.place != place] + ([new] if new is not None else [])
        return edges

    def pop_old(self, now: float, words: MutableMapping[int, str]) -> list[tuple[Place, EdgeRow | None]]:
        """Drop expired expectations; return their places and what Postgres has there."""
        old = [(place, expected) for place, expected in self._by_place.items() if expected.until <= now]
        for place, _ in old:
            self._drop(place, words)
        return [(one.edge.place if one.edge is not None else place, one.stored) for place, one in old]

    def _drop(self, place: Place, words: MutableMapping[int, str]) -> None:
        del self._by_place[place]
        if not self._by_place:
            for word_id in self._made_up:
                del words[word_id]
            self._made_up.clear()
            self.labels.clear()
