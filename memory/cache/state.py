"""This process's copy of the graph: plain dicts, read by the hot path without a query.

The app (memory/apps.py) has the process's one instance. memory/cache/sync.py fills it and keeps it in step with
Postgres; tests fill the dicts directly. Only the event loop's thread touches it."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Final

from memory.access.switches import Switch
from memory.cache.own_facts import OwnFacts
from memory.cache.project_states import ProjectStates
from memory.channels import Channel, channel_of
from memory.english.tokenizer import find_known_words
from memory.graph.saliency import is_salient, saliency
from memory.settings.registry import Tuning
from memory.types import GEOGRAPHY, EdgeRow, Ended, NoteKey, NoteState, Place, SoasRow, TripleIds

RISEN_MAX: Final = 10_000  # words
SLOT_MAX: Final = 4  # facts of one slot that holds many that come before the concept's other facts
_STRENGTHS: Final[dict[str, int]] = {Channel.OPERATOR: 3, Channel.GUTASK: 2}


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent. ``off``: what its settings switch off. ``project``: the id of its own; ``projects``: those that its
    requests may name, None for all. ``episodes``: on, off or default."""

    name: str
    scope: str
    off: frozenset[Switch] = frozenset()
    episodes: str = "default"
    project: int | None = None
    projects: frozenset[int] | None = frozenset()


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project. ``is_open``: requests without a token may name it, too."""

    id: int
    is_open: bool = False


@dataclass(slots=True)
class Audience:
    """The agents that can be asked. ``decided``: always or never, where operators have said so, by name; ``teachers``:
    the names of those who have taught by gutask."""

    decided: dict[str, str] = field(default_factory=dict)
    teachers: set[str] = field(default_factory=set)

    def can_answer(self, agent: str, *, has_tools: bool) -> bool:
        """True if the agent can be expected to run gutask."""
        decided = self.decided.get(agent, "auto")
        return decided == "always" or (decided == "auto" and (has_tools or agent in self.teachers))


@dataclass(slots=True)
class RecentlySalient:
    """The words that became salient last, in order."""

    # After all names of a long conversation were checked once, the next turn need only check these.
    count: int = 0  # all since the process started
    _last: deque[str] = field(default_factory=lambda: deque(maxlen=RISEN_MAX))

    def note(self, word: str) -> None:
        self._last.append(word)
        self.count += 1

    def since(self, count: int) -> list[str] | None:
        """Return the words after the first ``count``; None if they are not known any more."""
        new = self.count - count
        return list(islice(reversed(self._last), new)) if new <= len(self._last) else None


@dataclass(slots=True)
class Cache:
    """The copy. All ids come from Postgres."""

    soas_by_token: dict[str, SoasRow] = field(default_factory=dict)
    soas_by_id: dict[int, str] = field(default_factory=dict)
    words_from: float = 0.0  # the saliency from which words are loaded; before the first load, all that are announced
    nameless: set[str] = field(default_factory=set)  # the common words that no fact was ever placed about
    # An alias is in ``soas_by_token`` with the row of its concept: looking it up finds the concept.
    aliases: dict[int, int] = field(default_factory=dict)  # the concept, by the alias's own id
    alias_rows: dict[str, SoasRow] = field(default_factory=dict)  # their own rows, by token
    spellings: dict[int, list[str]] = field(default_factory=dict)  # the aliases of a concept
    urd_by_concept: dict[int, list[EdgeRow]] = field(default_factory=dict)  # the strongest first
    urd_by_concept_dim: dict[Place, EdgeRow] = field(default_factory=dict)
    fact_count: int = 0  # edges without roots
    children: dict[int, set[int]] = field(default_factory=dict)  # the concepts with facts that have this parent
    ended: dict[int, Sequence[Ended]] = field(default_factory=dict)  # by concept: facts and claims that hold no more
    rarity: Mapping[str, float] = field(default_factory=dict)  # of English lexemes: the weight of one in a query
    # By concept, by dimension: the parents that open claims name, the newest first.
    pending_conflicts: dict[int, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)
    decided: dict[int, Set[TripleIds]] = field(default_factory=dict)  # by concept
    superseding_dims: set[int] = field(default_factory=set)
    additive_dims: set[int] = field(default_factory=set)
    split_dims: dict[int, set[int]] = field(default_factory=dict)  # by the dimension they were split from
    referenced: Counter[int] = field(default_factory=Counter)  # edges that use a concept as parent or dimension
    places: Counter[int] = field(default_factory=Counter)  # facts in the dimension `geography`, by parent
    agents: dict[str, AgentRow] = field(default_factory=dict)  # by token hash
    agents_by_name: dict[str, AgentRow] = field(default_factory=dict, init=False)  # in lower case
    audience: Audience = field(default_factory=Audience)
    projects: dict[str, ProjectRow] = field(default_factory=dict)  # by slug
    states: ProjectStates = field(default_factory=ProjectStates)
    templates: dict[tuple[str, ...], set[bytes]] = field(default_factory=dict)  # openings of programs, by speaker
    own_facts: OwnFacts = field(default_factory=OwnFacts)
    mutes: re.Pattern[str] | None = None  # the patterns by which operators have muted names
    # Memories and episodes that were shown and have changed since; None for those that no longer hold.
    changed_notes: dict[NoteKey, NoteState | None] = field(default_factory=dict)
    tuning: Tuning = field(default_factory=Tuning)
    config_mistakes: list[str] = field(default_factory=list)
    ignored_settings: list[str] = field(default_factory=list)
    loads: int = 0  # begun so far
    loaded_at: float | None = None  # seconds since the epoch
    edition: int = 0  # changes with ``nameless``
    risen: RecentlySalient = field(default_factory=RecentlySalient)

    def __post_init__(self) -> None:
        self.put_agents(self.agents)

    def put_agents(self, agents: dict[str, AgentRow]) -> None:
        """Replace all agents, by token hash."""
        self.agents = agents
        self.agents_by_name = {row.name.casefold(): row for row in agents.values()}

    # --- the vocabulary ---

    def put_soas(self, token: str, row: SoasRow) -> None:
        if row.id in self.aliases:
            self.alias_rows[token] = row
            return
        if self.soas_by_id.get(row.id, token) != token:  # the word was renamed
            self.drop_soas(row.id)
        was_nameless = token in self.nameless
        if row.is_common and row.novelty == 0:
            self.nameless.add(token)
        else:
            self.nameless.discard(token)
        if was_nameless != (token in self.nameless):
            self.edition += 1
        threshold, old = self.tuning.saliency_read_threshold, self.soas_by_token.get(token)
        has_risen = is_salient(row, threshold) and not (old is not None and is_salient(old, threshold))
        self.soas_by_id[row.id] = token
        for name in (token, *self.spellings.get(row.id, ())):
            self.soas_by_token[name] = row
            if has_risen:
                self.risen.note(name)

    def put_aliases(self, found: Iterable[tuple[str, SoasRow, int]]) -> None:
        """Replace all aliases. Each comes with its word's own row and its concept, whose row is here already."""
        was, self.spellings = self.alias_rows, {}
        for name in was:
            self.soas_by_token.pop(name, None)
        self.aliases, self.alias_rows = {}, {}
        for token, row, concept_id in found:
            self.drop_soas(row.id)
            self.aliases[row.id], self.alias_rows[token] = concept_id, row
            self.spellings.setdefault(concept_id, []).append(token)
        for name in was.keys() - self.alias_rows.keys():  # words of their own again
            self.put_soas(name, was[name])
        for concept in filter(None, map(self.soas_by_id.get, self.spellings)):
            self.put_soas(concept, self.soas_by_token[concept])
        for name in self.alias_rows.keys() - was.keys():
            self.risen.note(name)  # also if its concept was salient before
        self.edition += was.keys() != self.alias_rows.keys()  # a word of the dictionary may have become a name

    def canonical(self, token: str) -> str:
        """Return the concept's own name for one of its aliases; any other token unchanged."""
        row = self.soas_by_token.get(token) if token in self.alias_rows else None
        return self.soas_by_id[row.id] if row is not None else token

    def label_of(self, token: str) -> str:
        """Return the token as it is typed."""
        row = self.soas_by_token.get(token)
        return (row.label if row is not None else "") or token

    def is_kept(self, row: SoasRow) -> bool:
        """True if every process has the word. Mirrors the loader's condition, as far as this process knows."""
        return (
            row.is_common
            or row.is_muted
            or row.novelty > 0
            or row.asked_count > 0
            or row.saliency >= self.words_from
            or row.id in self.urd_by_concept
            or row.id in self.referenced
            or row.id in self.spellings
            or row.id in self.own_facts.words
        )

    @property
    def least_threshold(self) -> float:
        """The saliency below which a number of encounters means nothing."""
        return min(self.tuning.saliency_read_threshold, self.tuning.saliency_write_threshold)

    @property
    def lacks_words(self) -> bool:
        """True if a threshold was lowered since the words were loaded."""
        return self.least_threshold < self.words_from

    def replace_soas(self, token: str, row: SoasRow) -> None:
        """Replace a row that was read again; what this process knows ahead of Postgres stays."""
        if row.id in self.aliases:
            self.alias_rows[token] = row
            return
        old = self.soas_by_token.get(token)
        if old is not None:
            row.keep_ahead(old)
            if old.id != row.id:  # it was pruned, and met again
                self.drop_soas(old.id)
        self.put_soas(token, row)

    def drop_soas(self, row_id: int) -> None:
        token = self.soas_by_id.pop(row_id, "")
        row = self.soas_by_token.get(token)
        if row is not None and row.id == row_id:  # otherwise the word came back with another id
            for name in (token, *self.spellings.get(row_id, ())):
                self.soas_by_token.pop(name, None)
            self.nameless.discard(token)

    def is_common(self, token: str) -> bool:
        row = self.soas_by_token.get(token)
        return row is not None and row.is_common

    def is_concept(self, token: str) -> bool:
        """True if the token is the subject of a fact other than the root of a dimension."""
        row = self.soas_by_token.get(token)
        edges = self.urd_by_concept.get(row.id) if row is not None else None
        return edges is not None and not edges[0].is_root  # the weakest edge

    def is_location(self, token: str) -> bool:
        """True if something is in it, in the dimension `geography`."""
        row = self.soas_by_token.get(token)
        return row is not None and self.places[row.id] > 0

    def find_dimension(self, concept: str, parent: str) -> str | None:
        """Implements ``Vocabulary.find_dimension``."""
        row, above = self.soas_by_token.get(concept), self.soas_by_token.get(parent)
        edges = [e for e in self.urd_by_concept.get(row.id, ()) if e.parent_id != e.concept_id] if row else []
        found = [e for e in edges if (e.parent_id == above.id if above else e.is_isa and not parent)]
        return self.soas_by_id.get(found[0].dim_id) if len(found) == 1 or (found and parent) else None

    def is_muted(self, token: str, row: SoasRow | None = None) -> bool:
        """True if operators have muted the word itself, or a pattern that it matches."""
        return (row is not None and row.is_muted) or (self.mutes is not None and self.mutes.match(token) is not None)

    def set_count(self, token: str, row: SoasRow, count: int) -> None:
        threshold, before = self.tuning.saliency_read_threshold, row.saliency
        row.encounter_count = count
        row.saliency = 0.0 if row.is_common else saliency(count)
        if before < threshold <= row.saliency:
            self.risen.note(token)

    # --- the graph ---

    def put_edges(self, concept_id: int, edges: Iterable[EdgeRow]) -> None:
        """Replace all edges of one concept; none removes it."""
        for edge in self.urd_by_concept.pop(concept_id, ()):
            del self.urd_by_concept_dim[edge.place]
            self._count_references(edge, -1)
            if (children := self.children.get(edge.parent_id)) is not None:
                children.discard(concept_id)
                if not children:
                    del self.children[edge.parent_id]
        if fresh := order_by_rank(edges):
            self.urd_by_concept[concept_id] = fresh
        for edge in fresh:
            self.urd_by_concept_dim[edge.place] = edge
            self._count_references(edge, 1)
            if not edge.is_root:
                self.children.setdefault(edge.parent_id, set()).add(concept_id)

    def _count_references(self, edge: EdgeRow, change: int) -> None:
        self.fact_count += change * (not edge.is_root)
        for used in (edge.parent_id, edge.dim_id):
            self.referenced[used] += change
            if not self.referenced[used]:
                del self.referenced[used]
        geography = self.soas_by_token.get(GEOGRAPHY)
        if geography is not None and edge.dim_id == geography.id and not edge.is_root:
            self.places[edge.parent_id] += change
            if not self.places[edge.parent_id]:
                del self.places[edge.parent_id]

    def find_edge(self, ids: TripleIds) -> EdgeRow | None:
        """Return the edge in the place of this triple: the fact in its slot or, where all is kept, its own."""
        edges = self.urd_by_concept_dim
        return edges.get((ids.concept_id, ids.dim_id)) or edges.get(ids)

    def list_edges(self, concept_id: int, dim_id: int) -> list[EdgeRow]:
        """Return all edges in the slot."""
        edge = self.urd_by_concept_dim.get((concept_id, dim_id))
        if edge is not None or dim_id not in self.additive_dims:
            return [edge] if edge is not None else []
        return [edge for edge in self.urd_by_concept.get(concept_id, ()) if edge.dim_id == dim_id]

    def keeps_all(self, dimension: str) -> bool:
        row = self.soas_by_token.get(dimension)
        return row is not None and row.id in self.additive_dims

    def find_ended(self, text: str) -> list[Ended]:
        """Return what ended of the concepts that a text names."""
        names = find_known_words(text, self.soas_by_token).tokens if self.ended else ()
        return [each for name in names for each in self.ended.get(self.soas_by_token[name].id, ())]

    # --- what is disputed ---

    def splits_of(self, dim_id: int) -> set[int]:
        """Return the dimensions that were split from this one, directly or through others."""
        found: set[int] = set()
        waiting = {dim_id}
        while waiting:
            waiting = set().union(*(self.split_dims.get(dim, ()) for dim in waiting)) - found
            found |= waiting
        return found


def channel_of_edge(edge: EdgeRow) -> str:
    """Return the strongest channel through which it was said."""
    return edge.channel or channel_of(edge.source)


def rank(edge: EdgeRow) -> tuple[int, float, int]:
    """Return a sort key, highest first: operators, then gutask, several voices, one voice, and roots; within each, the
    last confirmed. An edge without a time counts as just confirmed."""
    # Written out: a concept with thousands of facts is sorted in one go.
    if edge.concept_id == edge.parent_id:
        return -1, 0.0, edge.dim_id
    strength = _STRENGTHS.get(edge.channel or channel_of(edge.source), edge.is_corroborated)
    confirmed = edge.last_confirmed
    return strength, inf if confirmed is None else confirmed, edge.dim_id


def order_by_rank(edges: Iterable[EdgeRow]) -> list[EdgeRow]:
    """Sort edges, the strongest first. All but the strongest of a slot that holds many come last: they must not hide
    the concept's other facts."""
    ordered = sorted(edges, key=rank, reverse=True)
    if not any(edge.is_additive for edge in ordered):
        return ordered
    held, first, last = Counter[int](), list[EdgeRow](), list[EdgeRow]()
    for edge in ordered:
        held[edge.dim_id] += edge.is_additive
        (last if held[edge.dim_id] > SLOT_MAX else first).append(edge)
    return first + last
