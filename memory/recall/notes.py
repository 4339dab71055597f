"""Chooses the memories and episodes of a block among those that were found for its prompt."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from django.utils import timezone

from memory.english.excerpts import (
    CHARACTERS_PER_TOKEN,
    CUT,
    find_content_words,
    list_capitalised,
    says_no_more,
)
from memory.english.function_words import is_closed_class
from memory.english.telling import TEXTS_KEPT
from memory.english.tokenizer import find_words
from memory.recall.block import Block, ShownFact, ShownNote, render_note
from memory.recall.speakers_graph import SpeakersGraph
from memory.search.ranking import LINES_MAX
from memory.timing import is_dated
from memory.types import NoteKey, NoteState, TripleIds

GIVEN: Final = "given"
GIVEN_BEFORE: Final = "given earlier in this conversation"
CAME_WITH: Final = "came with a better line that was given earlier in this conversation"
NO_ROOM: Final = "no room"
CHANGED: Final = "superseded"
SAME: Final = "the facts say so already"
IN_DOUBT: Final = "no room for the later message that changes it"
INSTRUCTION: Final = "preference"  # the category whose lines come first in a profile
TOKENS_MAX: Final = {"memory": 200, "episode": 300}  # of a block, beside the facts
ABOUT_THE_SAME: Final = 0.5  # share of a line's content words that a message about the same has


class Beside(NamedTuple):
    """The finds of a search beside the lines of a prompt: the speaker's ``profile`` with the categories, and messages
    of theirs that say that something has changed, each the newest first. ``stated``: those of both that the prompt has
    itself; ``is_list``: it asks for all that is known."""

    profile: Sequence[tuple[ShownNote, str]] = ()
    changes: Sequence[ShownNote] = ()
    stated: frozenset[NoteKey] = frozenset()
    is_list: bool = False


NOTHING_BESIDE: Final = Beside()


def choose_profile(graph: SpeakersGraph, beside: Beside, shown: Block, left: int) -> list[ShownNote]:
    """Choose the lines of the profile, the newest first, and return them in printing order: standing instructions,
    then who the speaker is, each the oldest first. None if a block of the prompt has a profile already. ``left``: room,
    in characters."""
    if any(note.is_profile for note in shown.notes):
        return []
    left = min(graph.cache.tuning.recollection_max_profile_tokens * CHARACTERS_PER_TOKEN, left)
    known, chosen = {note.key for note in shown.notes} | beside.stated, list[tuple[ShownNote, str]]()
    for old, category in beside.profile:
        note = renew_note(graph, old)
        # Half a dispute tells a value as true: a search brings it whole.
        if note is None or note.is_disputed or note.key in known:
            continue
        if (left := left - len(render_note(note)) - 1) < 0:
            break
        chosen.append((note._replace(is_profile=True), category))
    chosen.sort(key=lambda each: (each[1] != INSTRUCTION, each[0].said_at, each[0].id))
    return [note for note, _ in chosen]


def choose_notes(
    graph: SpeakersGraph, found: Sequence[ShownNote], beside: Beside, shown: Block, recalled: Block, left: int
) -> tuple[list[ShownNote], dict[NoteKey, str]]:
    """Choose the notes, given best first, to be added to what the prompt shows (``shown``) beside the facts and the
    profile that are ``recalled`` now; also return for each why it is in or out.

    A fact or line that is placed now is followed by the newest message of the speaker that says that it has changed: it
    decides nothing, the model sees both."""
    reasons = dict[NoteKey, str]()
    room, chosen = {kind: tokens * CHARACTERS_PER_TOKEN for kind, tokens in TOKENS_MAX.items()}, list[ShownNote]()
    before = (*shown.notes, *recalled.notes)
    keys, texts = {note.key for note in before}, {note.text for note in before}

    def take(*notes: ShownNote) -> bool:
        nonlocal left
        lengths = {kind: sum(len(render_note(note)) + 1 for note in notes if note.kind == kind) for kind in room}
        fits = sum(lengths.values()) <= left and all(lengths[kind] <= room[kind] for kind in room)
        if not fits or (len(chosen) + len(notes) > LINES_MAX and not beside.is_list):
            return False
        left -= sum(lengths.values())
        for kind in room:
            room[kind] -= lengths[kind]
        chosen.extend(notes)
        keys.update(note.key for note in notes)
        texts.update(note.text for note in notes)
        reasons.update((note.key, GIVEN) for note in notes)
        return True

    def find_new(doubt: ShownNote | None) -> list[ShownNote]:
        return [] if doubt is None or doubt.key in keys or doubt.key in beside.stated else [doubt]

    for fact in recalled.facts:
        take(*find_new(doubt_fact(graph, fact, beside.changes)))
    for profile in recalled.notes:
        take(*find_new(doubt_note(graph, profile, beside.changes)))
    best = found[0] if found and found[0].key in keys and not beside.is_list else None
    for old in found:
        note = renew_note(graph, old)
        if note is None:
            reasons[old.key] = CHANGED
        elif best is not None and old is not best and old.said_at <= best.said_at:
            reasons[note.key] = CAME_WITH
        elif note.key in keys or note.text in texts:
            reasons.setdefault(note.key, GIVEN_BEFORE)
        elif says_no_more(note.text, [" ".join(fact[:3]) for fact in (*shown.facts, *recalled.facts)]):
            reasons[note.key] = SAME
        else:
            doubts = find_new(doubt_note(graph, note, beside.changes))
            if not take(note, *doubts):
                reasons[note.key] = IN_DOUBT if doubts else NO_ROOM
    return chosen, reasons


def doubt_fact(graph: SpeakersGraph, fact: ShownFact, changes: Iterable[ShownNote]) -> ShownNote | None:
    """Return the newest of these messages that is later than the fact's newest statement, and names its concept or its
    parent; None if there is none."""
    concept, dim, parent = map(graph.cache.soas_by_token.get, fact[:3])
    if concept is None or dim is None or parent is None:
        return None
    edge = graph.find_edge(TripleIds(concept.id, dim.id, parent.id))
    if edge is None or edge.said_at is None or edge.place in graph.stated.instead:
        return None
    return _find_later(graph, write_time(edge.said_at), {fact.concept, fact.parent}, (), changes)


def doubt_note(graph: SpeakersGraph, note: ShownNote, changes: Iterable[ShownNote]) -> ShownNote | None:
    """Return the newest of these messages that is later than the line, and names what the line names or is about the
    same; None if there is none."""
    tokens, words = _read_words(note.text)
    is_common = graph.cache.is_common
    names = {name for name in tokens if not (is_common(name) or is_closed_class(name) or name.isdigit())}
    names |= list_capitalised(note.text)
    return _find_later(graph, note.said_at, names, words, changes)


def _find_later(
    graph: SpeakersGraph, said_at: str, names: Collection[str], words: Collection[str], changes: Iterable[ShownNote]
) -> ShownNote | None:
    for change in changes:
        if change.said_at <= said_at:
            return None
        tokens, content = _read_words(change.text)
        is_named = not set(map(graph.cache.canonical, tokens)).isdisjoint(names)
        if is_named or (words and len(content.intersection(words)) >= ABOUT_THE_SAME * len(words)):
            return renew_note(graph, change)
    return None


@lru_cache(maxsize=TEXTS_KEPT)
def _read_words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tokens of a text, and its content words."""
    return frozenset(find_words(text).tokens), frozenset(find_content_words(text))


def write_time(at: float) -> str:
    """Write a time, in seconds since the epoch, as notes have it; "" if it is not known when something was said."""
    return f"{datetime.fromtimestamp(at, timezone.get_default_timezone()):%Y-%m-%dT%H:%M:%S.%f}" if is_dated(at) else ""


def renew_note(graph: SpeakersGraph, note: ShownNote) -> ShownNote | None:
    """Return the note as it would be shown now; None if it no longer holds, or the prompt asks to forget it."""
    if any(topic.is_in(note.text) for topic in graph.topics):
        return None
    if note.key not in graph.cache.changed_notes:
        return note
    state = graph.cache.changed_notes[note.key]
    renewed = note._replace(is_disputed=state is not None and state.is_disputed)
    return renewed if state is not None and is_in_state(renewed, state) else None


def is_in_state(note: ShownNote, state: NoteState) -> bool:
    """True if a note in this state would be shown as it was."""
    is_moved = state.owner != note.owner and state.owner != 0 and note.owner != 0
    return not is_moved and note.is_disputed == state.is_disputed and note.text.strip(f"{CUT} ") in state.text
