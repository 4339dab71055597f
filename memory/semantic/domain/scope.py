"""Whose words are whose: who speaks, and what they may be given."""

from typing import Final, NamedTuple
from zlib import crc32

# Of these categories of memories, and of episodes, only whoever said them is given any.
PERSONAL: Final = frozenset({"identity", "preference", "episodic"})
_COMMON: Final = frozenset({"project", "other"})  # all other categories


def kind_of(category: str) -> str:
    """The memories among which this one has its slots: a category of a person, or all others together (empty)."""
    return category if category in PERSONAL else ""


def list_kindred(category: str) -> frozenset[str]:
    """The categories of the same kind."""
    return frozenset({category}) if category in PERSONAL else _COMMON


class Speaker(NamedTuple):
    """An agent, and the person behind it where the client tells one from another."""

    agent: str  # as memory.domain.voices has it
    person: str = ""


class Scope(NamedTuple):
    """For whom something is remembered or searched. ``project`` is its id; None is the project that all share."""

    speaker: Speaker
    project: int | None = None

    def is_personal(self, category: str) -> bool:
        """True if a memory of this category is given to its speaker only. Who is one of several persons behind an agent
        and names no project speaks of an "us" that the others are no part of. As the column of the table has it."""
        is_own_us = category == "project" and bool(self.speaker.person) and self.project is None
        return is_own_us or category in PERSONAL

    def number_owner(self, category: str) -> int:
        """The same for all who may be given a memory of this category that belongs to the scope; never 0."""
        speaker = self.speaker if self.is_personal(category) else ()
        return crc32("\0".join((str(self.project or ""), *speaker)).encode("utf-8", "replace")) or 1
