"""Which facts and questions go into a block: chosen by priority, within a budget, printed in order of id."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter, itemgetter
from typing import Literal

from memory.domain.recall.rendering import Block, ShownFact, block_length, fact_line, question, render_block
from memory.domain.types import EdgeRow, SoasRow

Show = Callable[[EdgeRow], ShownFact]
SelectionReason = Literal["recalled", "asked", "too many concepts", "no room", "no facts in force"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A salient concept of a prompt, with the facts about it that are in force, dimensions descending."""

    row: SoasRow
    token: str
    priority: float
    edges: Sequence[EdgeRow] = ()


@dataclass(slots=True)
class Selection:
    """What goes into a block, in the order it is printed: each concept's facts, then the candidates to ask about; and
    for every candidate why it is in or out."""

    facts: list[list[ShownFact]] = field(default_factory=list)
    asked: list[Candidate] = field(default_factory=list)
    reasons: dict[str, SelectionReason] = field(default_factory=dict)

    def block(self) -> Block:
        """Empty where nothing was selected."""
        questions = tuple(candidate.token for candidate in self.asked)
        lines = [*map(fact_line, self.facts), *map(question, questions)]
        return Block(render_block(lines), tuple(fact for line in self.facts for fact in line), questions)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is recalled: edges of at least the confidence ``floor``, confirmed since ``cutoff`` (seconds since the
    epoch) unless their source is ``exempt``."""

    floor: float
    cutoff: float
    exempt: frozenset[str]


def is_in_force(edge: EdgeRow, bounds: Bounds) -> bool:
    """Whether the canonical recollection query returns the edge; one without a time counts as just confirmed."""
    return (
        edge.confidence >= bounds.floor
        and (edge.last_confirmed is None or edge.last_confirmed >= bounds.cutoff or edge.source in bounds.exempt)
        and not edge.is_root
    )


def in_force(edges: Iterable[EdgeRow], bounds: Bounds) -> list[EdgeRow]:
    """The edges the canonical recollection query returns, roots left out, in order of descending dimension."""
    kept = [edge for edge in edges if is_in_force(edge, bounds)]
    kept.sort(key=attrgetter("dim_id"), reverse=True)
    return kept


def select(
    known: Sequence[Candidate],
    unknown: Sequence[Candidate],
    *,
    show: Show,
    max_concepts: int,
    max_questions: int,
    max_characters: int,
) -> Selection:
    """Facts take the budget first, questions what is left."""
    selection = Selection()
    room = max_characters - block_length([])
    room = _choose_facts(selection, by_priority(known), show, max_concepts, room)
    _choose_questions(selection, by_priority(unknown), max_questions, room)
    return selection


def by_priority(candidates: Sequence[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: (-candidate.priority, candidate.row.id))


def _choose_facts(
    selection: Selection, candidates: Sequence[Candidate], show: Show, max_concepts: int, room: int
) -> int:
    chosen: list[tuple[int, list[ShownFact]]] = []
    for candidate in candidates:
        if len(chosen) == max_concepts:
            selection.reasons[candidate.token] = "too many concepts"
            continue
        facts = [show(edge) for edge in candidate.edges]
        length = len(fact_line(facts))
        # A concept that alone exceeds the budget is not left out: its most recently confirmed facts stay.
        if length >= room and not chosen:
            facts = _newest_facts_that_fit(candidate, show, room)
            length = len(fact_line(facts)) if facts else room
        if length >= room:
            selection.reasons[candidate.token] = "no room"
            continue
        room -= length + 1
        chosen.append((candidate.row.id, facts))
        selection.reasons[candidate.token] = "recalled"
    # In an order that no count changes: the same facts give the same bytes, which a model's prompt cache needs.
    selection.facts = [facts for _, facts in sorted(chosen, key=itemgetter(0))]
    return room


def _newest_facts_that_fit(candidate: Candidate, show: Show, room: int) -> list[ShownFact]:
    """As many of the most recently confirmed facts as there is room for in one line, dimensions descending."""
    newest = sorted(candidate.edges, key=lambda e: inf if e.last_confirmed is None else e.last_confirmed, reverse=True)
    facts: list[ShownFact] = []
    for count in range(1, len(newest)):
        kept = {edge.dim_id for edge in newest[:count]}
        more = [show(edge) for edge in candidate.edges if edge.dim_id in kept]
        if len(fact_line(more)) >= room:
            break
        facts = more
    return facts


def _choose_questions(selection: Selection, candidates: Sequence[Candidate], max_questions: int, room: int) -> None:
    for candidate in candidates:
        if len(selection.asked) == max_questions:
            selection.reasons[candidate.token] = "too many concepts"
            continue
        length = len(question(candidate.token))
        if length >= room:
            selection.reasons[candidate.token] = "no room"
            continue
        room -= length + 1
        selection.asked.append(candidate)
        selection.reasons[candidate.token] = "asked"
    selection.asked.sort(key=lambda candidate: candidate.row.id)
