"""Recalls what a prompt needs, from the cache and by pure rules, without a query."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from memory.english.excerpts import CHARACTERS_PER_TOKEN
from memory.questions.choose import choose_askable
from memory.recall.block import (
    NOTHING,
    Block,
    ShownNote,
    ShownState,
    block_length,
    render_note,
    render_state,
    show_state,
)
from memory.recall.facts import find_candidates, list_current, select, show_fact
from memory.recall.mentions import Mentions
from memory.recall.notes import (
    GIVEN,
    GIVEN_BEFORE,
    NO_ROOM,
    NOTHING_BESIDE,
    Beside,
    choose_notes,
    choose_profile,
    renew_note,
)
from memory.recall.speakers_graph import SpeakersGraph
from memory.types import NoteKey, Style, TripleIds

EMPTY: Final = block_length([])  # characters of a block without a line
STATE_TOKENS: Final = 150  # of a block, before all else
SAID_MAX: Final = 2_000  # characters in which the keys of a project's state are looked for


class ProjectPrompt(NamedTuple):
    """The project that a prompt belongs to, by its id, and what its user has said last."""

    project: int | None = None
    said: str = ""


NO_PROJECT: Final = ProjectPrompt()


@dataclass(frozen=True, slots=True)
class Recollection:
    """The block, the style of its facts, and why each salient concept, value of the project, memory and episode is in
    or out."""

    block: Block = NOTHING
    style: Style = "sentences"
    reasons: dict[str, str] = field(default_factory=dict)
    notes: dict[NoteKey, str] = field(default_factory=dict)


def recollect(
    graph: SpeakersGraph,
    mentions: Mentions,
    now: float,
    shown: Block = NOTHING,
    *,
    why_not_ask: str = "",
    found: Sequence[ShownNote] = (),
    beside: Beside = NOTHING_BESIDE,
    linked: Sequence[TripleIds] = (),
    within: ProjectPrompt = NO_PROJECT,
) -> Recollection:
    """Recall what belongs to these messages, without what their prompt shows already.

    ``shown``: all of the prompt's blocks as one; ``why_not_ask``: why the agent is asked nothing, if it is not;
    ``found``: the memories and episodes that belong to the prompt, the best first, and what came ``beside`` them;
    ``linked``: facts about concepts that it does not name, found from their parent; ``within``: the project whose state
    it is given. ``now`` is in seconds since the epoch."""
    cache, tuning = graph.cache, graph.cache.tuning
    left = tuning.recollection_max_total_tokens * CHARACTERS_PER_TOKEN - len(shown.text)
    states, told = _choose_states(graph, within, shown, left - EMPTY)
    left -= sum(len(render_state(state)) + 1 for state in states)
    room = min(tuning.recollection_max_tokens * CHARACTERS_PER_TOKEN, left)
    profile = choose_profile(graph, beside, shown, room - EMPTY)

    known, unknown, reasons = find_candidates(graph, mentions, linked, now, shown)
    askable, count = choose_askable(cache, unknown, mentions, shown, reasons, why_not_ask)
    selection = select(
        known,
        askable,
        show=partial(show_fact, graph),
        style=tuning.recollection_style,
        max_questions=count,
        max_characters=room - sum(len(render_note(note)) + 1 for note in profile),
    )

    recalled = selection.block(profile=profile)
    notes, notes_told = choose_notes(graph, found, beside, shown, recalled, left - (len(recalled.text) or EMPTY))
    return Recollection(
        block=selection.block(notes, states, profile),
        style=tuning.recollection_style,
        reasons=reasons | selection.reasons,
        notes=told | {note.key: GIVEN for note in profile} | notes_told,
    )


def _choose_states(
    graph: SpeakersGraph, within: ProjectPrompt, shown: Block, left: int
) -> tuple[list[ShownState], dict[NoteKey, str]]:
    """Choose the values that the prompt names, the latest first, to be added to what it shows; return them in printing
    order, and say for each that was examined why it is in or out."""
    named = graph.cache.states.find_named(within.project, within.said[-SAID_MAX:])
    before, chosen = {state.id for state in shown.states}, list[ShownState]()
    budget = min(STATE_TOKENS * CHARACTERS_PER_TOKEN, left)
    reasons = {NoteKey("state", row_id): GIVEN_BEFORE for row_id in before}
    for state in (show_state(row) for row in named if row.id not in before):
        if (budget := budget - len(render_state(state)) - 1) < 0:
            reasons[NoteKey("state", state.id)] = NO_ROOM
            break
        chosen.append(state)
        reasons[NoteKey("state", state.id)] = GIVEN
    return sorted(chosen, key=lambda state: (state.text, state.id)), reasons


def still_holds(graph: SpeakersGraph, block: Block, now: float) -> bool:
    """True if everything in the block would still be said to the speaker: state, facts and notes as they were shown,
    questions unanswered."""
    # Additional knowledge removes no block: removing one costs the model its prompt cache.
    cache = graph.cache
    rows = map(cache.states.find, (state.id for state in block.states))
    if any(row is None or show_state(row) != state for row, state in zip(rows, block.states, strict=True)):
        return False
    if any(renew_note(graph, note) != note for note in block.notes):
        return False
    for word in block.questions:
        row = cache.soas_by_token.get(word)
        if row is None or cache.is_muted(word, row) or graph.knows(row.id):
            return False
    return len(list_current(graph, block.facts, now)) == len(block.facts)
