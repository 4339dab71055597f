"""Selects the facts and questions of a block: concepts by priority, each one's facts by strength, all within a budget.
They are printed in order of id."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter, itemgetter
from typing import Final, Literal, NamedTuple

from memory.channels import Channel, channel_of
from memory.recall.lines import ShownNote, render_note, render_notes
from memory.recall.rendering import (
    Block,
    ShownFact,
    block_length,
    count_fitting,
    render_block,
    render_facts,
    render_questions,
)
from memory.recall.state_lines import ShownState, render_state
from memory.types import EdgeRow, Place, SoasRow, Style

CONCEPTS_MAX: Final = 8  # with facts, in one block
FACTS_MAX: Final = 8  # about one concept
SLOT_MAX: Final = 4  # of these from one slot that holds many, if the concept has other facts
EXEMPT: Final = frozenset({"gutask", "operator"})  # sources of facts that are recalled however old
CONCEPT_SHARE: Final = 1 / 3  # of the room for facts, if other concepts have facts to show

Show = Callable[[EdgeRow], ShownFact]
SelectionReason = Literal["recalled", "asked", "too many concepts", "no room", "no facts in force"]


class SalientConcept(NamedTuple):
    """A salient concept of a prompt, with the facts that may be shown about it: at most FACTS_MAX, the strongest
    first."""

    row: SoasRow
    token: str
    priority: float
    edges: Sequence[EdgeRow] = ()
    written: str = ""  # as the prompt spells it, if it is asked about


@dataclass(slots=True)
class Selection:
    """The content of a block: each concept's facts and the candidates to ask about, both in printing order, and for
    every candidate why it is in or out."""

    facts: list[ShownFact] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # of the facts, one text per concept
    asked: list[SalientConcept] = field(default_factory=list)
    reasons: dict[str, SelectionReason] = field(default_factory=dict)

    def block(
        self,
        notes: Sequence[ShownNote] = (),
        states: Sequence[ShownState] = (),
        profile: Sequence[ShownNote] = (),
    ) -> Block:
        """Make the block, with the states first, the profile after the facts, then the notes; empty if there is nothing
        of these."""
        questions = tuple(candidate.token for candidate in self.asked)
        # Questions first: a small model picks up what it reads last, and would answer with the question.
        written = [candidate.written or candidate.token for candidate in self.asked]
        asking = [render_questions(written)] if questions else []
        lines = [*map(render_state, states), *asking, *self.lines, *map(render_note, profile), *render_notes(notes)]
        return Block(render_block(lines), tuple(self.facts), questions, (*profile, *notes), tuple(states))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of recall: edges of at least the confidence ``floor``, confirmed since ``cutoff`` (seconds since the
    epoch) unless their source is EXEMPT, and none that the prompt takes back (``retracted``)."""

    floor: float
    cutoff: float
    retracted: Container[Place] = ()


def is_in_force(edge: EdgeRow, bounds: Bounds) -> bool:
    """True if the canonical recollection query returns the edge; one without a time counts as just confirmed."""
    return (
        edge.confidence >= bounds.floor
        and (edge.last_confirmed is None or edge.last_confirmed >= bounds.cutoff or edge.source in EXEMPT)
        and not edge.is_root
        and edge.place not in bounds.retracted
    )


def find_strongest(edges: Sequence[EdgeRow], bounds: Bounds, words: Container[int]) -> list[EdgeRow]:
    """Return the edges that may be shown, from a concept's edges with the strongest first: the first FACTS_MAX that the
    canonical recollection query returns, without roots. ``words``: the known ids."""
    found = []
    for edge in edges:  # of a concept with thousands of facts, only the first few are examined
        # Words and edges are announced separately: an edge whose words have not arrived yet must wait.
        if is_in_force(edge, bounds) and edge.parent_id in words and edge.dim_id in words:
            found.append(edge)
            if len(found) == FACTS_MAX:
                break
    return found


_BY_DIMENSION: Final = attrgetter("dim_id", "parent_id")
_STRENGTHS: Final[dict[str, int]] = {Channel.OPERATOR: 3, Channel.GUTASK: 2}


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


def put_in_order(edges: Iterable[EdgeRow]) -> list[EdgeRow]:
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


def select(
    known: Sequence[SalientConcept],
    unknown: Sequence[SalientConcept],
    *,
    show: Show,
    style: Style,
    max_questions: int,
    max_characters: int,
) -> Selection:
    """Select facts first, then questions with the remaining budget."""
    selection = Selection()
    room = max_characters - block_length([])
    room = _choose_facts(selection, by_priority(known), show, style, room)
    _choose_questions(selection, by_priority(unknown), max_questions, room)
    return selection


def by_priority(candidates: Sequence[SalientConcept]) -> list[SalientConcept]:
    return sorted(candidates, key=lambda candidate: (-candidate.priority, candidate.row.id))


def _choose_facts(
    selection: Selection, candidates: Sequence[SalientConcept], show: Show, style: Style, room: int
) -> int:
    chosen: list[tuple[int, list[ShownFact], str]] = []
    share = room if len(candidates) == 1 else int(room * CONCEPT_SHARE)
    for candidate in candidates:
        if len(chosen) == CONCEPTS_MAX:
            selection.reasons[candidate.token] = "too many concepts"
            continue
        facts = _show_in_order(candidate.edges, show)
        line, length_max = render_facts(facts, style), min(share, room - 1)
        if len(line) > length_max:  # its strongest facts stay
            count = count_fitting([show(edge) for edge in candidate.edges], style, length_max)
            facts = _show_in_order(candidate.edges[:count], show)
            line = render_facts(facts, style)
        if len(line) >= room:
            selection.reasons[candidate.token] = "no room"
            continue
        room -= len(line) + 1
        chosen.append((candidate.row.id, facts, line))
        selection.reasons[candidate.token] = "recalled"
    # In an order that no count changes: equal facts give equal bytes, which a model's prompt cache needs.
    for _, facts, line in sorted(chosen, key=itemgetter(0)):
        selection.facts += facts
        selection.lines.append(line)
    return room


def _show_in_order(edges: Sequence[EdgeRow], show: Show) -> list[ShownFact]:
    """Show facts with dimensions descending: which facts are the strongest changes more often than which facts are
    shown."""
    if len(edges) > 1:
        edges = sorted(edges, key=_BY_DIMENSION, reverse=True)
    return [show(edge) for edge in edges]


def _choose_questions(
    selection: Selection, candidates: Sequence[SalientConcept], max_questions: int, room: int
) -> None:
    for candidate in candidates:
        if len(selection.asked) == max_questions:
            selection.reasons[candidate.token] = "too many concepts"
            continue
        # Longer names may make the whole shorter: they are not part of the instruction for several.
        if len(render_questions([each.written or each.token for each in (*selection.asked, candidate)])) >= room:
            selection.reasons[candidate.token] = "no room"
            continue
        selection.asked.append(candidate)
        selection.reasons[candidate.token] = "asked"
    selection.asked.sort(key=lambda candidate: candidate.row.id)
