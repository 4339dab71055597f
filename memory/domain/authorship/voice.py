"""The voices that a text may be written in."""

from enum import StrEnum
from typing import Final, NamedTuple


class Voice(StrEnum):
    """A voice, the strongest first."""

    SHARED = "shared"  # the speaker's own, for all agents
    UNSURE = "unsure"  # the speaker's own, or handed over: its statements hold for the same speaker
    QUOTED = "quoted"  # somebody else's, passed on
    NOBODYS = "nobody's"  # a program wrote it, or it was said elsewhere


STRONGEST_FIRST: Final = tuple(Voice)


def weaker_of(first: Voice, second: Voice) -> Voice:
    return max(first, second, key=STRONGEST_FIRST.index)


class VoicedSpan(NamedTuple):
    """``text[start:end]`` and whose words it is; ``reason`` for people."""

    start: int
    end: int
    voice: Voice
    reason: str
