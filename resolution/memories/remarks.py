"""Remarks: what is to be remembered, read in a message, posted, or written by an operator."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.attribution.forget_requests import orders_to_forget
from memory.channels import TENTATIVE, Channel
from memory.memories import slots
from memory.memories.explicit import categorise, keep_private, orders_outward, says_change, strip_opening
from memory.memories.scope import Scope
from memory.memories.store import Change, Draft
from memory.models import Memory
from memory.models.semantic import MEMORY_CHARACTERS
from memory.secrets.redaction import mask_secrets

CATEGORIES: Final = frozenset(Memory.Category.values)


class RemarkMistake(Exception):
    """The text cannot be remembered; the message says why, in a whole sentence."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to be remembered. ``actor``: who wrote it, if not the speaker's agent. ``is_profile``: nobody asked for
    it, and it disputes nothing."""

    text: str
    category: str
    scope: Scope
    channel: Channel
    source: Memory.Source
    at: datetime
    confidence: float = 1.0
    conversation: bytes = b""
    episode: int | None = None
    actor: str = ""
    is_profile: bool = False

    @property
    def is_change(self) -> bool:
        """True if it replaces what the same speaker has said about it."""
        return says_change(self.text)

    @property
    def is_tentative(self) -> bool:
        """True if it becomes a candidate. Orders to act elsewhere wait for an operator."""
        return self.channel in TENTATIVE or (self.channel != Channel.OPERATOR and orders_outward(self.text))

    @property
    def agent(self) -> str:
        return self.scope.speaker.agent

    @property
    def draft(self) -> Draft:
        found = slots.NO_SLOTS if self.is_profile else slots.find_slots(self.text, self.category)
        return Draft(self.text, self.category, self.scope, self.confidence, self.source, found)

    @property
    def change(self) -> Change:
        return Change(self.actor or self.agent, self.channel, self.at, self.conversation, self.episode)


def clean_text(text: str) -> str:
    """Return the text as it is stored: in one line, with secrets masked. Raises RemarkMistake."""
    clean = mask_secrets(" ".join("".join(c if c.isprintable() else " " for c in text).split()))
    if not any(map(str.isalnum, clean)):
        raise RemarkMistake("There is nothing in it to be remembered.")
    if len(clean) > MEMORY_CHARACTERS:
        raise RemarkMistake(f"A memory has at most {MEMORY_CHARACTERS} characters; this has {len(clean)}.")
    return clean


def compose(
    text: str, category: str, scope: Scope, channel: Channel, at: datetime, *, source: Memory.Source, actor: str = ""
) -> Remark:
    """Compose a remark from what somebody writes down on purpose: the text as it is, without `remember that` and the
    like before it. The category defaults to that of the text. Raises RemarkMistake."""
    clean = clean_text(text)
    if category and category not in CATEGORIES:
        raise RemarkMistake(f"A category is one of {', '.join(sorted(CATEGORIES))}.")
    if orders_to_forget(clean):
        raise RemarkMistake("It asks to forget something, but not clearly what: a name, `my X` or `that S`.")
    stated = strip_opening(clean) or clean
    return Remark(
        stated, keep_private(category or categorise(stated), stated), scope, channel, source, at, actor=actor
    )  # fmt: skip
