"""Listens to an answer: to keep it, and to measure if it uses the notes that its prompt was given."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from memory.domain.recall.notes import NoteKey, find_content_words
from proxy.domain.formats.streams import END, AnswerListener, AnswerWatch
from proxy.domain.loops.tool_calls import without_thinking
from proxy.telemetry.events import Given

logger = logging.getLogger(__name__)

Listener = Callable[[bytes], None]
ANSWER_MAX: Final = 8_000  # characters of an answer that are read
KEPT_MAX: Final = 100_000  # characters of an answer that is kept: more than an episode has
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


def listen_whole(watch: AnswerWatch, keep: Callable[[str], None]) -> Listener:
    """Return a listener for the chunks of one answer, which hands over its text, without thoughts and calls, at its
    end. It never raises."""
    said, length = [], 0

    def hear(chunk: bytes) -> None:
        nonlocal length
        try:
            if length < KEPT_MAX and (text := watch.feed_content(chunk)):
                said.append(text)
                length += len(text)
            if chunk == END and (answer := without_thinking("".join(said)).strip()):
                keep(answer)
        except Exception:
            logger.exception("answer.unread")

    return hear


def join_listeners(listeners: Sequence[Listener]) -> Listener | None:
    """Return one listener for all; None if there are none."""
    if len(listeners) < 2:
        return next(iter(listeners), None)

    def hear(chunk: bytes) -> None:
        for listener in listeners:
            listener(chunk)

    return hear
