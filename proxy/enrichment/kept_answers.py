"""Listens to an answer to keep it."""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from proxy.domain.formats.streams import END, AnswerWatch
from proxy.domain.loops.tool_calls import without_thinking

logger = logging.getLogger(__name__)

Listener = Callable[[bytes], None]
KEPT_MAX: Final = 100_000  # characters of an answer that is kept: more than an episode has


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
