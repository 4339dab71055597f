"""Remembers what was read of texts: clients resend the whole history each turn, and each text is read once."""

from collections.abc import Sequence
from typing import Final, TypeVar

from proxy.domain.formats.base import Part
from proxy.domain.loops import near_duplicates
from proxy.domain.loops.near_duplicates import Gist
from proxy.domain.loops.normalization import dump_sorted
from proxy.domain.loops.outputs import Output, join_outputs, read_native, read_text
from proxy.domain.loops.tool_results import FollowUp, read_follow_up

# What is read of a text takes some 500 bytes, the gist of a text of 2 KB some 20 KB: 60 MB at most, 10 MB in practice.
TEXTS_MAX: Final = 20_000
GISTS_MAX: Final = 2_000

TextKey = tuple[int, int]  # what tells a text within this process: its length and its hash
ReadResult = TypeVar("ReadResult")


class TextMemo:
    """Bounded; ``complaints`` are folded."""

    def __init__(self, complaints: tuple[str, ...]) -> None:
        self.complaints = complaints
        self._outputs: dict[TextKey, Output] = {}
        self._follow_ups: dict[TextKey, FollowUp] = {}
        self._gists: dict[TextKey, Gist | None] = {}
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
            remember(self._outputs, key, found, TEXTS_MAX)
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
        # A gist may be None, so a missing one is told by its key.
        if key not in self._gists:
            remember(self._gists, key, near_duplicates.gist(text), GISTS_MAX)
        return self._gists[key]

    def likeness(self, one: Gist, other: Gist) -> float:
        key = (one.text, other.text)
        found = self._likenesses.get(key)
        if found is None:
            found = near_duplicates.likeness(one, other)
            remember(self._likenesses, key, found, TEXTS_MAX)
        return found


def remember(memo: dict[TextKey, ReadResult], key: TextKey, found: ReadResult, most: int) -> None:
    """The oldest makes room."""
    memo[key] = found
    if len(memo) > most:
        del memo[next(iter(memo))]
