"""Reads an answer once while it passes, for all who need it."""

import logging
from collections.abc import Callable, Sequence

from proxy.formats.streams import AnswerListener, AnswerReader, Delta
from proxy.loops.tail import Tail, TailLoop

logger = logging.getLogger(__name__)


class AnswerWatch:
    """An AnswerObserver that tells the listeners what one answer says, and ends it if its tail repeats.

    Without ``tail`` the answer is not ended. ``on_loop`` is called with the loop just before the answer ends.
    """

    def __init__(
        self,
        reader: AnswerReader,
        listeners: Sequence[AnswerListener],
        tail: Tail | None = None,
        on_loop: Callable[[TailLoop], None] = lambda loop: None,
    ) -> None:
        self._reader = reader
        self._listeners = listeners
        self._tail = tail
        self._on_loop = on_loop
        self._has_failed = False

    def pass_on(self, chunk: bytes) -> tuple[bytes, bool]:
        """Return the chunk unchanged; if the tail repeats, its complete part and the answer's end, and True."""
        ending = self._try(lambda: self._read(chunk)) or b""
        # Send only whole lines or events: half of one before the ending would spoil both.
        return (chunk[: len(chunk) - self._reader.unfinished] + ending, True) if ending else (chunk, False)

    def finish(self) -> None:
        """Tell the listeners that the answer is whole."""
        self._try(lambda: self._tell(self._reader.finish(), is_over=True))

    def _read(self, chunk: bytes) -> bytes:
        """Return what ends the answer; empty as long as it goes on."""
        delta = self._reader.feed(chunk)
        if not delta.text:
            return b""
        self._tell(delta, is_over=False)
        loop = self._tail.add(delta.text) if self._tail is not None else None
        if loop is None or not (ending := self._reader.ending()):  # or the model has stopped by itself
            return b""
        self._on_loop(loop)
        return ending

    def _tell(self, delta: Delta, *, is_over: bool) -> None:
        for listener in self._listeners:
            listener(delta, is_over)

    def _try(self, work: Callable[[], bytes | None]) -> bytes | None:
        # The answer matters more than who reads it: after an error the rest passes unread.
        try:
            return work() if not self._has_failed else None
        except Exception:
            logger.exception("answer.unread")
            self._has_failed = True
            return None
