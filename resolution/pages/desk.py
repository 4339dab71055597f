"""Shown on the desk of anything that operators decide: members in words, choices with their keys, and decisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from memory.templatetags.times import ago
from memory.types import whole_number
from resolution.models import Decision
from resolution.pages.words import Quote

KEYS: Final = "123456789"  # keyboard shortcuts of the desk
DECISIONS_MAX: Final = 20


class Choice(NamedTuple):
    """A decision that the desk offers: its value in forms, its key, and the member beside which it is shown, "" for
    none."""

    value: str
    label: str
    effect: str
    key: str = ""
    member: str = ""


class DecisionLine(NamedTuple):
    decision: Decision
    what: str

    @property
    def is_undone(self) -> bool:
        return hasattr(self.decision, "undone_by")

    @property
    def may_be_undone(self) -> bool:
        return self.decision.kind != Decision.Kind.UNDO and not self.is_undone


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskMember:
    """Something said, or known, with what speaks for it. ``key`` names it in forms; ``before`` is its earlier text, if
    that has changed."""

    key: str
    layer: str
    text: str
    before: str = ""
    state: str = ""
    by: str = ""
    at: datetime | None = None
    confidence: str = ""
    channel: str = ""
    source: str = ""
    role: str = ""
    support: str = ""
    against: str = ""
    note: str = ""
    page: str = ""
    quotes: Sequence[Quote] = ()

    @property
    def line(self) -> str:
        """The speaker, the time and the confidence."""
        return ", ".join(filter(None, (self.by, ago(self.at) if self.at else "", self.confidence)))


def parse_seen(token: str) -> tuple[int, str] | None:
    """Return the key of a row and the digest of what was seen of it, or None if this is no token."""
    number, _, digest = token.partition(":")
    key = whole_number(number)
    return (key, digest) if key is not None and digest else None
