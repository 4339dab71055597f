"""Chooses which values of a project go into a block."""

from typing import Final, NamedTuple

from memory.cache.state import Cache
from memory.domain.recall.notes import NoteKey
from memory.domain.recall.project_state import ShownState
from memory.domain.recall.rendering import CHARACTERS_PER_TOKEN, Block
from memory.recall.notes import GIVEN, GIVEN_BEFORE, NO_ROOM

SAID_MAX: Final = 2_000  # characters in which keys are looked for


class ProjectPrompt(NamedTuple):
    """The project that a prompt belongs to, by its id, and what its user has said last."""

    project: int | None = None
    said: str = ""


NO_PROJECT: Final = ProjectPrompt()


def choose_states(
    cache: Cache, prompt: ProjectPrompt, shown: Block, tokens_left: int
) -> tuple[list[ShownState], dict[NoteKey, str]]:
    """Choose the values to add to what the prompt shows (``shown``), in printing order, and say for each that was
    examined why it is in or out: all values if they fit, otherwise those that the prompt names, and the latest."""
    known = cache.states.of(prompt.project)
    if not known.rows:
        return [], {}
    budget = cache.tuning.recollection_max_state_tokens * CHARACTERS_PER_TOKEN
    left = min(budget, tokens_left * CHARACTERS_PER_TOKEN)
    # Values that are given without being named are bounded over all blocks: otherwise each turn would continue with
    # older ones.
    unasked = budget - sum(state.length for state in shown.states)
    before, chosen = {state.id for state in shown.states}, dict[int, ShownState]()
    reasons = {NoteKey("state", state.id): GIVEN_BEFORE for state in shown.states}
    named = known.find_named(prompt.said[-SAID_MAX:]) if known.length > budget else []
    for states, is_named in ((named, True), (known.newest(), False)):
        for state in states:
            if state.id in before or state.id in chosen:
                continue
            if state.length > (left if is_named else min(left, unasked)):
                reasons[NoteKey("state", state.id)] = NO_ROOM
                break
            left -= state.length
            unasked -= state.length
            chosen[state.id] = state
            reasons[NoteKey("state", state.id)] = GIVEN
    return sorted(chosen.values(), key=lambda state: (state.text, state.id)), reasons
