"""Chooses which values of a project go into a block."""

from typing import Final, NamedTuple

from memory.cache.state import Cache
from memory.recall.lines import NoteKey
from memory.recall.notes import GIVEN, GIVEN_BEFORE, NO_ROOM
from memory.recall.rendering import CHARACTERS_PER_TOKEN, Block
from memory.recall.state_lines import ShownState

TOKENS_MAX: Final = 150  # of a block, before all else
SAID_MAX: Final = 2_000  # characters in which keys are looked for


class ProjectPrompt(NamedTuple):
    """The project that a prompt belongs to, by its id, and what its user has said last."""

    project: int | None = None
    said: str = ""


NO_PROJECT: Final = ProjectPrompt()


def choose_states(
    cache: Cache, prompt: ProjectPrompt, shown: Block, tokens_left: int
) -> tuple[list[ShownState], dict[NoteKey, str]]:
    """Choose the values that the prompt names, the latest first, to be added to what it shows (``shown``); return them
    in printing order, and say for each that was examined why it is in or out."""
    known = cache.states.of(prompt.project)
    if not known.rows:
        return [], {}
    budget = min(TOKENS_MAX, tokens_left) * CHARACTERS_PER_TOKEN
    before, chosen = {state.id for state in shown.states}, list[ShownState]()
    reasons = {NoteKey("state", state.id): GIVEN_BEFORE for state in shown.states}
    for state in known.find_named(prompt.said[-SAID_MAX:]):
        if state.id in before:
            continue
        if (budget := budget - state.length) < 0:
            reasons[NoteKey("state", state.id)] = NO_ROOM
            break
        chosen.append(state)
        reasons[NoteKey("state", state.id)] = GIVEN
    return sorted(chosen, key=lambda state: (state.text, state.id)), reasons
