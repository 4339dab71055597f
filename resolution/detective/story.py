"""The story of a project as the detective reads it: what was said and decided, one line each, oldest first; and the
forgetting curve, by which only some of a long story is read again.

A line looks like ``3f2a9c10 2026-03-04 12:30 [decision, conversation 2] The API is REST-based.`` Lines that no longer
hold end with the reason. They stay in the story, because a change there and back is only visible in what was replaced.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2s
from itertools import count
from typing import Final, NamedTuple

from memory.english.excerpts import make_harmless

BATCH_CHARACTERS: Final = 24_000  # some 6,000 tokens of a model
OVERLAP_CHARACTERS: Final = BATCH_CHARACTERS // 10
TEXT_CHARACTERS: Final = 600
SESSION: Final = timedelta(hours=1)  # at most between two lines of one session
_UNBRACKETED: Final = str.maketrans("[]", "()")
DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
# The share of rows that survives, by age.
SURVIVAL_DAY: Final = 0.3
SURVIVAL_WEEK: Final = 0.15
SURVIVAL_OLDER: Final = 0.075
LINES_MAX: Final = 2_000  # per story: about ten batches, which bounds the model's calls
DECISION: Final = "decision"  # the kind of decisions, which are in the story but never members of a conflict


class StoryRow(NamedTuple):
    """A row of the database. ``kind`` is memory, edge, edge_history or project_state, as in conflict members, or
    DECISION."""

    kind: str
    id: int


@dataclass(frozen=True, slots=True)
class StoryLine:
    """A line of a story.

    - ``ending``: why it no longer holds, "" if it does
    - ``slot``: its slot, also in dimensions that keep all
    - ``value``: what it says about the slot; "" if the slot can have many values
    - ``owner``: the only speaker whom it concerns, "" if it concerns all
    - ``words``: the sentence in which it was said
    - ``settles``: True if somebody decided it on purpose
    """

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
    also: tuple[StoryRow, ...] = ()  # other rows that conflicts know it by

    @property
    def is_active(self) -> bool:
        return not self.ending

    @property
    def rows(self) -> tuple[StoryRow, ...]:
        return (self.row, *self.also)


class StoryBatch(NamedTuple):
    """Part of a story. ``lines`` maps the ids that precede them in the text to the lines, in order."""

    lines: Mapping[str, StoryLine]
    text: str


def sort_lines(lines: Iterable[StoryLine]) -> list[StoryLine]:
    """Sort the lines, oldest first, each row once."""
    return sorted({line.row: line for line in lines}.values(), key=lambda line: (line.at, line.row))


def name_lines(lines: Iterable[StoryLine]) -> dict[str, StoryLine]:
    """Return the lines by ids of 8 characters, in the order given. A row has the same id in every story, unless it
    collides with another row there."""
    named: dict[str, StoryLine] = {}
    for line in lines:
        tries = (blake2s(f"{line.row.kind} {line.row.id} {turn}".encode(), digest_size=4) for turn in count())
        named[next(name for each in tries if (name := each.hexdigest()) not in named)] = line
    return named


def render_lines(named: Mapping[str, StoryLine]) -> list[str]:
    conversations: dict[bytes, int] = {}
    rendered = []
    for name, line in named.items():
        scope = make_harmless(line.scope).translate(_UNBRACKETED)  # may contain a name that a client gave a person
        if line.conversation:
            scope += f", conversation {conversations.setdefault(line.conversation, len(conversations) + 1)}"
        says_more = line.words.rstrip(" .").lower() not in line.text.lower()
        text = make_harmless(f"{line.text} (“{line.words}”)" if says_more else line.text)
        text = text if len(text) <= TEXT_CHARACTERS else f"{text[: TEXT_CHARACTERS - 1]}…"
        ending = f" ({line.ending})" if line.ending else ""
        rendered.append(f"{name} {line.at.astimezone(UTC):%Y-%m-%d %H:%M} [{scope}] {text}{ending}")
    return rendered


def measure(lines: Iterable[StoryLine]) -> int:
    """Return the length of the story in characters."""
    return sum(len(each) + 1 for each in render_lines(name_lines(lines)))


def split_batches(lines: Sequence[StoryLine], doubts: Iterable[tuple[StoryLine, StoryLine]] = ()) -> list[StoryBatch]:
    """Split the story into parts that a model is asked about one by one. They overlap, because lines that contradict
    each other may be on both sides of a border. ``doubts`` are pairs of lines that the model must see together, in an
    extra part if needed."""
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
    """Return the start and end of each part: as long as fits, but at least one line more than it shares with the one
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
    """True if both lines come from one conversation within an hour or, if the conversation is unknown, from one
    speaker."""
    if abs(one.at - other.at) > SESSION:
        return False
    if one.conversation and other.conversation:
        return one.conversation == other.conversation
    return one.speaker == other.speaker


def find_pairs(lines: Iterable[StoryLine]) -> set[frozenset[StoryRow]]:
    """Return all unordered pairs of rows by which conflicts know different lines."""
    known = list(lines)
    return {
        frozenset((first, second))
        for at, one in enumerate(known)
        for other in known[at + 1 :]
        for first in one.rows
        for second in other.rows
    }


# --- forgetting ---


def survival(age: timedelta, conflicts: int) -> float:
    """Return the probability that a row of this age with that many conflicts survives."""
    base = SURVIVAL_DAY if age < DAY else SURVIVAL_WEEK if age <= WEEK else SURVIVAL_OLDER
    return min(1.0, base * 2.0 ** min(conflicts, 16))


def choose_survivors(
    aged: Mapping[StoryRow, tuple[timedelta, int]], kept: Collection[StoryRow], *, seed: str
) -> set[StoryRow]:
    """Return the ``kept`` rows and the survivors of the aged ones, which are given with their age and number of
    conflicts. At most LINES_MAX in all, unless more are kept."""
    # How close each row is to being forgotten. If too many survive, those closest to it go.
    nearness = {
        row: draw(seed, row) / chance
        for row, (age, conflicts) in aged.items()
        if row not in kept and (chance := survival(age, conflicts))
    }
    surviving = sorted((row for row, near in nearness.items() if near < 1), key=lambda row: (nearness[row], row))
    return {*kept, *surviving[: max(0, LINES_MAX - len(kept))]}


def draw(seed: str, row: StoryRow) -> float:
    """Return a number from 0 to 1. A row is forgotten if its chance is not greater."""
    digest = blake2s(f"{seed} {row.kind} {row.id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
