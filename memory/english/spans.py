"""Parts of a text, as the offsets where they start and end: merged, replaced, asked for a position."""

from collections.abc import Callable, Iterable

from memory.types import Span


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Sort spans, and merge those that touch or overlap."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def replace_spans(text: str, spans: Iterable[Span], replace: Callable[[str], str]) -> str:
    """Replace parts of a text, which ascend and do not overlap."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], replace(text[start:end]))
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


class Within:
    """Tells of positions, in ascending order, if they are within one of some spans."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._waiting = sorted(spans, reverse=True)
        self._until = 0

    def __call__(self, at: int) -> bool:
        while self._waiting and self._waiting[-1][0] <= at:
            self._until = max(self._until, self._waiting.pop()[1])
        return at < self._until
