"""The voices that a text may be written in."""

from enum import StrEnum
from typing import Final, NamedTuple


class Voice(StrEnum):
    """A voice, the strongest first. ``UNSURE`` and ``FICTION`` are speaker-only: their statements hold for the same
    speaker alone."""

    SHARED = "shared"  # the speaker's own, for all agents
    UNSURE = "unsure"  # the speaker's own, or handed over
    FICTION = "fiction"  # in a text that was asked for, or in a story: no request to remember counts there
    QUOTED = "quoted"  # somebody else's, passed on
    NOBODYS = "nobody's"  # a program wrote it, or it was said elsewhere


STRONGEST_FIRST: Final = tuple(Voice)
SPEAKER_ONLY: Final = frozenset({Voice.UNSURE, Voice.FICTION})
OWN: Final = SPEAKER_ONLY | {Voice.SHARED}


def weaker_of(first: Voice, second: Voice) -> Voice:
    return max(first, second, key=STRONGEST_FIRST.index)


class VoicedSpan(NamedTuple):
    """``text[start:end]`` and whose words it is; ``reason`` for people."""

    start: int
    end: int
    voice: Voice
    reason: str
