"""The forgetting curve: the shares of a long story that the detective reads again. Newer rows and rows with earlier
conflicts survive more often. The same seed gives the same selection."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from hashlib import blake2s
from typing import Final

from resolution.domain.story import StoryRow

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
# The share of rows that survives, by age.
SURVIVAL_DAY: Final = 0.3
SURVIVAL_WEEK: Final = 0.15
SURVIVAL_OLDER: Final = 0.075
LINES_MAX: Final = 2_000  # per story: about ten batches, which bounds the model's calls


def survival(age: timedelta, conflicts: int) -> float:
    """Return the probability that a row of this age with that many conflicts survives."""
    base = SURVIVAL_DAY if age < DAY else SURVIVAL_WEEK if age <= WEEK else SURVIVAL_OLDER
    return min(1.0, base * 2.0 ** min(conflicts, 16))


def number_of(seed: str) -> int:
    """Hash the seed to a 32-bit number for Postgres."""
    return int.from_bytes(blake2s(seed.encode(), digest_size=4).digest())


def choose(aged: Mapping[StoryRow, tuple[timedelta, int]], kept: Collection[StoryRow], *, seed: str) -> set[StoryRow]:
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
