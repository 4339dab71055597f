"""Measures if an answer uses the notes that its prompt was given."""

from collections.abc import Callable
from typing import Final

from memory.domain.recall.notes import NoteKey, find_content_words
from proxy.domain.formats.streams import AnswerListener
from proxy.telemetry.events import Given

ANSWER_MAX: Final = 8_000  # characters of an answer that are read
# Of the words that a note has and the question has not. An answer uses what was asked for, not the whole sentence.
USED_SHARE: Final = 1 / 3


def find_own_words(given: Given) -> dict[NoteKey, set[str]]:
    """Return the words of each note that the question does not have, without notes that have no such words."""
    asked = find_content_words(" ".join(given.texts))
    words = {note.key: find_content_words(note.text) - asked for note in given.notes}
    return {key: own for key, own in words.items() if own}


def is_used(own_words: set[str], answer: set[str]) -> bool:
    return len(own_words & answer) >= USED_SHARE * len(own_words)


def listen(given: Given, tell: Callable[[dict[NoteKey, bool | None]], None]) -> AnswerListener:
    """Return a listener for one answer, which calls ``tell`` at its end."""
    said, length = [], 0

    def hear(text: str, is_over: bool) -> None:
        nonlocal length
        if length < ANSWER_MAX:
            said.append(text)
            length += len(text)
        if is_over and length:
            answer = find_content_words("".join(said)[:ANSWER_MAX])
            tell({key: is_used(own, answer) for key, own in find_own_words(given).items()})

    return hear
