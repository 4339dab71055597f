"""Which facts and questions go into a block: chosen by priority, within a budget, printed in order of id."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

from memory.domain.recall.rendering import block_length, fact_line, question
from memory.domain.types import EdgeRow, SoasRow

Reason = Literal["recalled", "asked", "too many concepts", "no room", "no facts in force"]
ShownFact = tuple[str, str, bool]  # dimension, parent, disputed


@dataclass(frozen=True, slots=True)
class Candidate:
    """A salient concept of a prompt, with the facts about it that are in force, dimensions descending."""

    row: SoasRow
    token: str
    priority: float
    edges: Sequence[EdgeRow] = ()


@dataclass(slots=True)
class Selection:
    """Lines in the order they are printed, and for every candidate why it is in or out."""

    lines: list[str] = field(default_factory=list)
    asked: list[Candidate] = field(default_factory=list)
    reasons: dict[str, Reason] = field(default_factory=dict)


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
    show: Callable[[EdgeRow], ShownFact],
    max_concepts: int,
    max_questions: int,
    max_characters: int,
) -> Selection:
    """Facts take the budget first, questions what is left. If one concept alone exceeds it, its most
    recently confirmed edges stay."""
    selection = Selection()
    room = max_characters - block_length([])
    room = _choose_facts(selection, by_priority(known), show, max_concepts, room)
    _choose_questions(selection, by_priority(unknown), max_questions, room)
    return selection


def by_priority(candidates: Sequence[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: (-candidate.priority, candidate.row.id))


def _choose_facts(
    selection: Selection,
    candidates: Sequence[Candidate],
    show: Callable[[EdgeRow], ShownFact],
    max_concepts: int,
    room: int,
) -> int:
    chosen: list[tuple[int, str]] = []
    for candidate in candidates:
        if len(chosen) == max_concepts:
            selection.reasons[candidate.token] = "too many concepts"
            continue
        line = fact_line(candidate.token, [show(edge) for edge in candidate.edges])
        if len(line) >= room and not chosen:
            line = _longest_line_that_fits(candidate, show, room)
        if not line or len(line) >= room:
            selection.reasons[candidate.token] = "no room"
            continue
        room -= len(line) + 1
        chosen.append((candidate.row.id, line))
        selection.reasons[candidate.token] = "recalled"
    selection.lines += [line for _, line in sorted(chosen)]
    return room


def _longest_line_that_fits(candidate: Candidate, show: Callable[[EdgeRow], ShownFact], room: int) -> str:
    """The line with as many of the most recently confirmed edges as there is room for; empty for none."""
    newest = sorted(
        candidate.edges,
        key=lambda edge: float("inf") if edge.last_confirmed is None else edge.last_confirmed,
        reverse=True,
    )
    line = ""
    for count in range(1, len(newest)):
        kept = {edge.dim_id for edge in newest[:count]}
        longer = fact_line(candidate.token, [show(edge) for edge in candidate.edges if edge.dim_id in kept])
        if len(longer) >= room:
            break
        line = longer
    return line


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
    selection.lines += [question(candidate.token) for candidate in selection.asked]
