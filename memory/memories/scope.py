"""Speakers and scopes: who speaks, and what they may be given."""

from typing import Final, NamedTuple
from zlib import crc32

# Memories of these categories, and episodes, are given only to whoever said them.
PERSONAL: Final = frozenset({"identity", "preference", "episodic"})
_COMMON: Final = frozenset({"project", "other"})  # all other categories


def kind_of(category: str) -> str:
    """Return the kind of memories among which this one has its slots: a personal category, or "" for all others
    together."""
    return category if category in PERSONAL else ""


def list_kindred(category: str) -> frozenset[str]:
    """Return the categories of the same kind."""
    return frozenset({category}) if category in PERSONAL else _COMMON


class Speaker(NamedTuple):
    """An agent, and the person behind it if the client tells them apart."""

    agent: str  # as in memory.attribution.client_names
    person: str = ""


class Scope(NamedTuple):
    """The speaker and project for which something is remembered or searched. ``project`` is an id; None is the project
    that all share."""

    speaker: Speaker
    project: int | None = None

    def is_personal(self, category: str) -> bool:
        """True if a memory of this category is given to its speaker only. The "us" of one of several persons behind an
        agent, who names no project, does not include the others."""
        is_own_us = category == "project" and bool(self.speaker.person) and self.project is None
        return is_own_us or category in PERSONAL

    def number_owner(self, category: str) -> int:
        """Return the same number for all who may be given a memory of this category that belongs to the scope; never
        0."""
        speaker = self.speaker if self.is_personal(category) else ()
        return crc32("\0".join((str(self.project or ""), *speaker)).encode("utf-8", "replace")) or 1
