"""The story of a project as the detective reads it: what was said and decided, a line each, the oldest first.

A line is ``3f2a9c10 2026-03-04 12:30 [decision, conversation 2] The API is REST-based.``; what does not hold any more
says so at its end, and stays: a change of mind that was changed back is only seen in what was replaced.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2s
from itertools import count
from typing import Final, NamedTuple

from memory.domain.recall.notes import make_harmless

BATCH_CHARACTERS: Final = 24_000  # some 6,000 tokens of a model
OVERLAP_CHARACTERS: Final = BATCH_CHARACTERS // 10
TEXT_CHARACTERS: Final = 600
SESSION: Final = timedelta(hours=1)  # between two lines that one conversation has worked on
_UNBRACKETED: Final = str.maketrans("[]", "()")
_JOINTS: Final = re.compile(r"[_.'@+-]")
DECISION: Final = "decision"  # a row of what was decided: told, but no member of a conflict


class StoryRow(NamedTuple):
    """A row of the database, by its kind as conflicts name it: memory, edge, edge_history, project_state."""

    kind: str
    id: int


@dataclass(frozen=True, slots=True)
class StoryLine:
    """``ending``: why it holds no more, empty where it does. ``slot``: what there can be one of, or where all is kept;
    ``value``: what the line says of it, empty where there may be many. ``owner``: the speaker whom alone it concerns;
    of others it says nothing. ``words``: the sentence in which it was said. ``settles``: whether somebody decided it on
    purpose."""

    row: StoryRow
    at: datetime
    scope: str
    text: str
    ending: str = ""
    slot: str = ""
    value: str = ""
    owner: str = ""
    speaker: str = ""
    channel: str = ""
    conversation: bytes = b""
    words: str = ""
    settles: bool = False
    also: tuple[StoryRow, ...] = ()  # other rows that are the same to a conflict

    @property
    def is_active(self) -> bool:
        return not self.ending

    @property
    def rows(self) -> tuple[StoryRow, ...]:
        return (self.row, *self.also)


class StoryBatch(NamedTuple):
    """Part of a story. ``lines``: by the ids that stand before them in the text, in order."""

    lines: Mapping[str, StoryLine]
    text: str


def sort_lines(lines: Iterable[StoryLine]) -> list[StoryLine]:
    """The oldest first, each row once."""
    return sorted({line.row: line for line in lines}.values(), key=lambda line: (line.at, line.row))


def name_lines(lines: Iterable[StoryLine]) -> dict[str, StoryLine]:
    """The lines by ids of 8 characters, in the order given. A row has the same id in every story, unless it shares it
    with another one there."""
    named: dict[str, StoryLine] = {}
    for line in lines:
        tries = (blake2s(f"{line.row.kind} {line.row.id} {turn}".encode(), digest_size=4) for turn in count())
        named[next(name for each in tries if (name := each.hexdigest()) not in named)] = line
    return named


def render_lines(named: Mapping[str, StoryLine]) -> list[str]:
    conversations: dict[bytes, int] = {}
    rendered = []
    for name, line in named.items():
        scope = make_harmless(line.scope).translate(_UNBRACKETED)  # has the name that a client gives a person
        if line.conversation:
            scope += f", conversation {conversations.setdefault(line.conversation, len(conversations) + 1)}"
        says_more = line.words.rstrip(" .").lower() not in line.text.lower()
        text = make_harmless(f"{line.text} (“{line.words}”)" if says_more else line.text)
        text = text if len(text) <= TEXT_CHARACTERS else f"{text[: TEXT_CHARACTERS - 1]}…"
        ending = f" ({line.ending})" if line.ending else ""
        rendered.append(f"{name} {line.at.astimezone(UTC):%Y-%m-%d %H:%M} [{scope}] {text}{ending}")
    return rendered


def measure(lines: Iterable[StoryLine]) -> int:
    """The characters of the story."""
    return sum(len(each) + 1 for each in render_lines(name_lines(lines)))


def split_batches(lines: Sequence[StoryLine], doubts: Iterable[tuple[StoryLine, StoryLine]] = ()) -> list[StoryBatch]:
    """The story in parts that a model is asked about one by one. They overlap: what contradicts each other may stand on
    both sides of a border. ``doubts``: pairs of lines that it is to see together, in a further part if need be."""
    named = name_lines(lines)
    rendered = dict(zip(named, render_lines(named), strict=True))
    batches = _split(named, rendered)
    held = [{line.row for line in batch.lines.values()} for batch in batches]
    apart = [pair for pair in doubts if not any(pair[0].row in rows and pair[1].row in rows for rows in held)]
    rows = {line.row for pair in apart for line in pair}
    return batches + _split({name: line for name, line in named.items() if line.row in rows}, rendered)


def _split(named: Mapping[str, StoryLine], rendered: Mapping[str, str]) -> list[StoryBatch]:
    names = list(named)
    return [
        StoryBatch(
            {name: named[name] for name in names[start:end]}, "\n".join(map(rendered.__getitem__, names[start:end]))
        )
        for start, end in find_borders([len(rendered[name]) + 1 for name in names])
    ]


def find_borders(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Beginning and end of each part: as long as its room allows, but at least a line more than it shares with the one
    before."""
    borders: list[tuple[int, int]] = []
    start = end = 0
    while end < len(lengths):
        room, first_new = BATCH_CHARACTERS - sum(lengths[start:end]), end
        while end < len(lengths) and (end == first_new or lengths[end] <= room):
            room -= lengths[end]
            end += 1
        borders.append((start, end))
        shared, begin = 0, end
        while begin > start + 1 and shared + lengths[begin - 1] <= OVERLAP_CHARACTERS:
            begin -= 1
            shared += lengths[begin]
        start = begin
    return borders


def is_same_session(one: StoryLine, other: StoryLine) -> bool:
    """Whether both come from one conversation at work on something. Where that is not known: from one speaker."""
    if abs(one.at - other.at) > SESSION:
        return False
    if one.conversation and other.conversation:
        return one.conversation == other.conversation
    return one.speaker == other.speaker


def carries(token: str, slug: str) -> bool:
    """Whether the name of a project is part of a name: ``p05`` of ``p05.lateral-support``."""
    parts, wanted = _JOINTS.split(token), _JOINTS.split(slug)
    return any(parts[at : at + len(wanted)] == wanted for at in range(len(parts) - len(wanted) + 1))


def find_pairs(lines: Iterable[StoryLine]) -> set[frozenset[StoryRow]]:
    """All unordered pairs of the rows by which conflicts know different lines."""
    known = list(lines)
    return {
        frozenset((first, second))
        for at, one in enumerate(known)
        for other in known[at + 1 :]
        for first in one.rows
        for second in other.rows
    }
