"""How much of a long story is left when the detective reads it again: the newer, the more, and more of what has been
disputed before. The same seed leaves the same."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2s
from typing import Final

from resolution.domain.story import BATCH_CHARACTERS, Line, Row, measure

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
LINES_MAX: Final = 2_000  # of a story, some ten batches: of more the model's calls would have no end


@dataclass(frozen=True, slots=True)
class Curve:
    """The share that survives, by age: under a day, up to a week, after that."""

    day: float = 0.3
    week: float = 0.15
    older: float = 0.075

    def survival(self, age: timedelta, conflicts: int) -> float:
        """The chance of a row of this age that was in so many conflicts."""
        base = self.day if age < DAY else self.week if age <= WEEK else self.older
        return min(1.0, base * 2.0 ** min(conflicts, 16))


def draw(seed: str, row: Row) -> float:
    """A number from 0 to 1, below which a row's chance must not be."""
    digest = blake2s(f"{seed} {row.kind} {row.id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def thin_out(
    lines: Iterable[Line], kept: Collection[Row], conflicts: dict[Row, int], *, now: datetime, curve: Curve, seed: str
) -> list[Line]:
    """What survives, in the order given: all where it fits one batch; else the ``kept`` and whatever the curve leaves,
    up to LINES_MAX."""
    story = list(lines)
    if measure(story) <= BATCH_CHARACTERS:
        return story
    chances = {line.row: curve.survival(now - line.at, conflicts.get(line.row, 0)) for line in story}
    # How far below its chance a row's number is: where there are too many, those that were nearest to be forgotten go.
    order = {row: draw(seed, row) / chance for row, chance in chances.items() if chance}
    surviving = sorted((row for row in order if row not in kept and order[row] < 1), key=order.__getitem__)
    left = {line.row for line in story if line.row in kept}
    left.update(surviving[: max(0, LINES_MAX - len(left))])
    return [line for line in story if line.row in left]
