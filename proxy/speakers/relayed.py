"""Remembers which answers a process has relayed. In a flattened prompt, only what follows one of them can be the user's
reply. A text that a model has just written is nobody's statement even if it comes as a user's message: a task for
another agent, a rephrased question, a digest of the conversation."""

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Final

import orjson

from proxy.formats.prefixes import SIZE, digest_words
from proxy.formats.streams import AnswerListener, Delta
from proxy.loops.calls import without_thinking

ANSWERS_MAX: Final = 20_000  # at some 150 bytes
WRITTEN_S: Final = 120  # a message that repeats a model's text within this time is nobody's
WRITTEN_MIN: Final = 20  # characters: people say shorter texts word for word, too
WRITTEN_MAX: Final = 64 * 1024  # characters of an answer that are looked at
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.){20,}"', re.DOTALL)


class RelayedAnswers:
    """The answers that this process has relayed, by digest. ``clock`` returns seconds, of which only differences
    count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._digests: OrderedDict[bytes, float] = OrderedDict()
        self._written: OrderedDict[bytes, float] = OrderedDict()
        self._clock = clock

    def listen(self) -> AnswerListener:
        """Return a listener for one answer."""
        hashed, last, said, room = blake2b(digest_size=SIZE), b"", list[str](), WRITTEN_MAX

        def hear(delta: Delta, is_over: bool) -> None:
            nonlocal last, room
            if text := delta.text:
                # Keep it after each chunk: a client may leave once it has what it needs, such as a whole tool call.
                hashed.update("".join(text.split()).encode("utf-8", "surrogatepass"))
                self._digests.pop(last, None)
                last = hashed.digest()
                _keep(self._digests, last, self._clock())
                said.append(text[:room])
                room -= len(said[-1])
            if is_over:
                self.note_written("".join(said))

        return hear

    def note_written(self, answer: str) -> None:
        for piece in _iter_pieces(answer):
            _keep(self._written, digest_words(piece), self._clock())

    def __contains__(self, text: str) -> bool:
        digest = digest_words(text)
        if digest not in self._digests:
            return False
        self._digests.move_to_end(digest)
        return True

    @property
    def has_news(self) -> bool:
        """True if any answer was noted within the last ``WRITTEN_S``."""
        return bool(self._written) and self._is_news(next(reversed(self._written.values())))

    def has_just_written(self, text: str) -> bool:
        """True if a model's recent answer was this text, or contained it as an argument."""
        written = self._written.get(digest_words(text)) if WRITTEN_MIN <= len(text) <= WRITTEN_MAX else None
        return written is not None and self._is_news(written)

    def _is_news(self, at: float) -> bool:
        return self._clock() - at <= WRITTEN_S


def _keep(kept: OrderedDict[bytes, float], digest: bytes, at: float) -> None:
    kept[digest] = at
    kept.move_to_end(digest)
    if len(kept) > ANSWERS_MAX:
        kept.popitem(last=False)


def _iter_pieces(answer: str) -> Iterator[str]:
    yield without_thinking(answer)
    for string in _STRING.finditer(answer):
        try:
            yield orjson.loads(string[0].replace("\n", "\\n"))
        except orjson.JSONDecodeError:
            continue
