"""What a search brings home."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

FoundKind = Literal["memory", "episode"]
Types = Literal["memories", "episodes", "both"]

LEAST_CONFIDENCE: Final = 0.3  # of what is given on request
LEAST_CONFIDENCE_UNASKED: Final = 0.5  # of what is given by itself: it must be above
GIVEN_MAX: Final = 5  # of memories, and of episodes, by itself


class Found(NamedTuple):
    """A memory or an episode. ``said_at`` in seconds since the epoch (memory.domain.timing.is_dated tells whether that
    is known). ``similarity`` to what was searched and ``score`` are from 0 to 1. ``earlier``: how many earlier ones,
    which this one stands for, say something else."""

    kind: FoundKind
    id: int
    text: str
    confidence: float
    said_at: float
    agent: str
    role: str
    channel: str
    category: str
    score: float
    similarity: float
    is_disputed: bool
    earlier: int


class Related(NamedTuple):
    """What belongs to a prompt; each the best first."""

    memories: Sequence[Found]
    episodes: Sequence[Found]
