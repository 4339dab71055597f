"""How much of a long story is left when the detective reads it again: the newer, the more, and more of what has been
disputed before. The same seed leaves the same."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2s
from typing import Final

from resolution.domain.story import StoryRow

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


def number_of(seed: str) -> int:
    """The same seed as a number that Postgres takes."""
    return int.from_bytes(blake2s(seed.encode(), digest_size=4).digest())


def choose(
    aged: Mapping[StoryRow, tuple[timedelta, int]], kept: Collection[StoryRow], *, curve: Curve, seed: str
) -> set[StoryRow]:
    """The ``kept`` rows and, of those whose age and conflicts are given, what survives; LINES_MAX in all, if not more
    are kept."""
    # How near a row is to be forgotten: where too much survives, what was nearest goes.
    nearness = {
        row: draw(seed, row) / chance
        for row, (age, conflicts) in aged.items()
        if row not in kept and (chance := curve.survival(age, conflicts))
    }
    surviving = sorted((row for row, near in nearness.items() if near < 1), key=lambda row: (nearness[row], row))
    return {*kept, *surviving[: max(0, LINES_MAX - len(kept))]}


def draw(seed: str, row: StoryRow) -> float:
    """A number from 0 to 1; a row whose chance is not above it is forgotten."""
    digest = blake2s(f"{seed} {row.kind} {row.id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
