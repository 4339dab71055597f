"""Remembers what was read from texts: clients resend the whole history each turn, and each text is read only once."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from proxy.domain.formats.base import Part
from proxy.domain.loops import near_duplicates
from proxy.domain.loops.near_duplicates import Gist
from proxy.domain.loops.normalization import dump_sorted
from proxy.domain.loops.outputs import Output, join_outputs, read_native, read_text
from proxy.domain.loops.tool_results import FollowUp, read_follow_up

# For all texts of each kind. A read output takes some 500 bytes, the gist of a text of 2 KB some 20 KB.
OUTPUTS_MAX_BYTES: Final = 16_000_000
GISTS_MAX_BYTES: Final = 32_000_000
TEXTS_MAX: Final = 20_000  # for entries of constant size, some 200 bytes

TextKey = tuple[int, int]  # identifies a text within this process: its length and its hash
ReadResult = TypeVar("ReadResult")


class SizedMemo(dict[TextKey, ReadResult]):
    """A dict bounded by the rough size of its values in bytes; the oldest are evicted."""

    def __init__(self, bytes_max: int, size_of: Callable[[ReadResult], int]) -> None:
        super().__init__()
        self._bytes_max = bytes_max
        self._size_of = size_of
        self._bytes = 0

    def remember(self, key: TextKey, found: ReadResult) -> None:
        """Store a result; ``key`` must be new."""
        self[key] = found
        self._bytes += self._size_of(found)
        while self._bytes > self._bytes_max:
            self._bytes -= self._size_of(self.pop(next(iter(self))))


def size_of_output(output: Output) -> int:
    code = size_of_output(output.code) if output.code is not None else 0
    return 400 + 2 * len(output.excerpt) + sum(80 + len(each) for each in output.ids) + code


def size_of_gist(gist: Gist | None) -> int:
    return 200 + (0 if gist is None else 120 * (len(gist.words) + len(gist.subjects)))


class TextMemo:
    """The bounded memory of the texts that were read; ``complaints`` are folded."""

    def __init__(self, complaints: tuple[str, ...]) -> None:
        self.complaints = complaints
        self._outputs = SizedMemo(OUTPUTS_MAX_BYTES, size_of_output)
        self._follow_ups: dict[TextKey, FollowUp] = {}
        self._gists = SizedMemo(GISTS_MAX_BYTES, size_of_gist)
        self._likenesses: dict[TextKey, float] = {}  # by the hashes of two texts

    def read_output(self, parts: Sequence[Part]) -> Output:
        outputs = [self._read_output_part(part) for part in parts]
        return outputs[0] if len(outputs) == 1 else join_outputs(outputs)

    def _read_output_part(self, part: Part) -> Output:
        calls, text = part.calls, part.text
        if calls:
            text = "\n".join(f"{call.name} {dump_sorted(call.arguments)}" for call in calls)
        # A negative length keeps calls apart from a text that looks the same.
        key = (-len(text) if calls else len(text), hash(text))
        found = self._outputs.get(key)
        if found is None:
            found = read_native(calls) if calls else read_text(text)
            self._outputs.remember(key, found)
        return found

    def read_follow_up(self, text: str) -> FollowUp:
        key = (len(text), hash(text))
        found = self._follow_ups.get(key)
        if found is None:
            found = read_follow_up(text, self.complaints)
            remember(self._follow_ups, key, found, TEXTS_MAX)
        return found

    def read_gist(self, parts: Sequence[Part]) -> Gist | None:
        text = parts[0].text if len(parts) == 1 else "\n".join(part.text for part in parts)
        key = (len(text), hash(text))
        # A gist may be None, so look for the key.
        if key not in self._gists:
            self._gists.remember(key, near_duplicates.gist(text))
        return self._gists[key]

    def likeness(self, one: Gist, other: Gist) -> float:
        key = (one.text, other.text)
        found = self._likenesses.get(key)
        if found is None:
            found = near_duplicates.likeness(one, other)
            remember(self._likenesses, key, found, TEXTS_MAX)
        return found


def remember(memo: dict[TextKey, ReadResult], key: TextKey, found: ReadResult, most: int) -> None:
    """Store a result; the oldest makes room."""
    memo[key] = found
    if len(memo) > most:
        del memo[next(iter(memo))]
