"""What was read of texts: clients resend the whole history each turn, and each text is read once."""

from collections.abc import Sequence
from typing import Final, TypeVar

from proxy.domain.formats.base import Part
from proxy.domain.loops import near_duplicates
from proxy.domain.loops.near_duplicates import Gist
from proxy.domain.loops.normalization import dumped
from proxy.domain.loops.outputs import Output, joined, read_native, read_text
from proxy.domain.loops.tool_results import Said, read_said

# A reading takes some 500 bytes, the gist of a text of 2 KB some 20 KB: 60 MB at most, 10 MB in practice.
READINGS_MAX: Final = 20_000
GISTS_MAX: Final = 2_000

Key = tuple[int, int]  # what tells a text within this process: its length and its hash
Reading = TypeVar("Reading")


class Readings:
    """Bounded; ``complaints`` are folded."""

    def __init__(self, complaints: tuple[str, ...]) -> None:
        self.complaints = complaints
        self._outputs: dict[Key, Output] = {}
        self._said: dict[Key, Said] = {}
        self._gists: dict[Key, Gist | None] = {}
        self._likenesses: dict[Key, float] = {}  # by the hashes of two texts

    def output(self, parts: Sequence[Part]) -> Output:
        read = [self._output(part) for part in parts]
        return read[0] if len(read) == 1 else joined(read)

    def _output(self, part: Part) -> Output:
        calls, text = part.calls, part.text
        if calls:
            text = "\n".join(f"{call.name} {dumped(call.arguments)}" for call in calls)
        key = (-len(text) if calls else len(text), hash(text))
        found = self._outputs.get(key)
        if found is None:
            found = read_native(calls) if calls else read_text(text)
            remember(self._outputs, key, found, READINGS_MAX)
        return found

    def said(self, text: str) -> Said:
        key = (len(text), hash(text))
        found = self._said.get(key)
        if found is None:
            found = read_said(text, self.complaints)
            remember(self._said, key, found, READINGS_MAX)
        return found

    def gist(self, parts: Sequence[Part]) -> Gist | None:
        text = parts[0].text if len(parts) == 1 else "\n".join(part.text for part in parts)
        key = (len(text), hash(text))
        if key not in self._gists:
            remember(self._gists, key, near_duplicates.gist(text), GISTS_MAX)
        return self._gists[key]

    def likeness(self, one: Gist, other: Gist) -> float:
        key = (one.text, other.text)
        found = self._likenesses.get(key)
        if found is None:
            found = near_duplicates.likeness(one, other)
            remember(self._likenesses, key, found, READINGS_MAX)
        return found


def remember(memo: dict[Key, Reading], key: Key, found: Reading, most: int) -> None:
    """The oldest makes room."""
    memo[key] = found
    if len(memo) > most:
        del memo[next(iter(memo))]
