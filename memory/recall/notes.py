"""Chooses the memories and episodes of a block among those that were found for its prompt."""

from collections.abc import Iterable, Sequence
from typing import Final

from memory.cache.places import list_edges
from memory.cache.state import Cache
from memory.domain.cues.extractor import find_cues
from memory.domain.cues.modality import SpeechAct
from memory.domain.recall.notes import NoteKey, ShownNote, render_note
from memory.domain.recall.rendering import CHARACTERS_PER_TOKEN, Block, ShownFact
from memory.domain.recall.retelling import repeats_facts
from memory.domain.types import NAMES, TYPE
from memory.search.ranking import LINES_MAX

GIVEN: Final = "given"
GIVEN_BEFORE: Final = "given before"
NO_ROOM: Final = "no room"
CHANGED: Final = "holds no more"
OTHERWISE: Final = "the facts say otherwise"
SAME: Final = "the facts say so already"


def choose_notes(
    cache: Cache, found: Sequence[ShownNote], shown: Block, recalled: Sequence[ShownFact], tokens_left: int
) -> tuple[list[ShownNote], dict[NoteKey, str]]:
    """Choose the notes, given best first, to be added to what the prompt shows (``shown``) beside the facts that are
    ``recalled`` now; also return for each why it is in or out."""
    tuning, reasons = cache.tuning, dict[NoteKey, str]()
    budgets = {"memory": tuning.recollection_max_memory_tokens, "episode": tuning.recollection_max_episode_tokens}
    room = {kind: tokens * CHARACTERS_PER_TOKEN for kind, tokens in budgets.items()}
    left, chosen = tokens_left * CHARACTERS_PER_TOKEN, list[ShownNote]()
    keys, texts = {note.key for note in shown.notes}, {note.text for note in shown.notes}
    for old in found:
        note = renew_note(cache, old)
        if note is None:
            reasons[old.key] = CHANGED
            continue
        if note.key in keys or note.text in texts:
            reasons.setdefault(note.key, GIVEN_BEFORE)
            continue
        if contradicts_facts(cache, note.text):
            reasons[note.key] = OTHERWISE
            continue
        if repeats_facts(note.text, (*shown.facts, *recalled)):
            reasons[note.key] = SAME
            continue
        length = len(render_note(note)) + 1
        if len(chosen) == LINES_MAX or length > min(room[note.kind], left):
            reasons[note.key] = NO_ROOM
            continue
        room[note.kind] -= length
        left -= length
        keys.add(note.key)
        texts.add(note.text)
        chosen.append(note)
        reasons[note.key] = GIVEN
    return chosen, reasons


def contradicts_facts(cache: Cache, text: str) -> bool:
    """True if the text gives a slot another value than its fact, or takes that back: a block must not contradict
    itself. A value that disputes the fact is no reason, since the block says so."""
    for match in find_cues(text, vocabulary=cache):
        concept, parent, dim = map(cache.canonical, (match.subject, match.parent, match.dimension))
        rows = cache.soas_by_token.get(concept), cache.soas_by_token.get(dim)
        if match.is_hedged or dim == NAMES or rows[0] is None or rows[1] is None:
            continue
        slot = rows[0].id, rows[1].id
        if parent in cache.list_claimed(slot):
            continue
        is_known = cache.find_dimension(concept, parent) is not None
        if match.kind is SpeechAct.RETRACTS:
            if is_known:
                return True
            continue
        standing = list_edges(cache, *slot)
        if not standing and match.dimension == TYPE:  # what something is may be in another dimension
            standing = [edge for edge in cache.urd_by_concept.get(slot[0], ()) if edge.is_isa]
        if not is_known and any(not (edge.is_additive or edge.is_root) for edge in standing):
            return True
    return False


def renew_note(cache: Cache, note: ShownNote) -> ShownNote | None:
    """Return the note as it would be shown now; None if it no longer holds."""
    if note.key not in cache.changed_notes:
        return note
    state = cache.changed_notes[note.key]
    if state is None:
        return None
    renewed = note._replace(is_disputed=state.is_disputed)
    return renewed if state.holds(renewed) else None


def still_hold(cache: Cache, notes: Iterable[ShownNote]) -> bool:
    """True if all of them would still be shown as they were."""
    changed = cache.changed_notes
    return not changed or all(
        (state := changed[note.key]) is not None and state.holds(note) for note in notes if note.key in changed
    )
