"""Ends a streamed answer whose tail repeats, as if the model had stopped there."""

from collections.abc import Callable
from typing import Protocol

from proxy.domain.formats.streams import AnswerWatch
from proxy.domain.loops.repeating_tail import TailLoop


class TailWatch(Protocol):
    def add(self, text: str) -> TailLoop | None:
        """The loop that the answer is in with this further text, if it is."""


class TailGuard:
    """A StreamGuard; ``on_loop`` is told of the loop just before the answer ends."""

    def __init__(self, watch: AnswerWatch, tail: TailWatch, on_loop: Callable[[TailLoop], None]) -> None:
        self._watch = watch
        self._tail = tail
        self._on_loop = on_loop

    def pass_on(self, chunk: bytes) -> tuple[bytes, bool]:
        """The chunk as it is; where the tail repeats, only the whole lines or events in it, then the answer's end."""
        text = self._watch.feed(chunk)
        loop = self._tail.add(text) if text else None
        if loop is None:
            return chunk, False
        ending = self._watch.ending()
        if not ending:  # the model has stopped by itself
            return chunk, False
        self._on_loop(loop)
        return chunk[: len(chunk) - self._watch.unfinished] + ending, True
