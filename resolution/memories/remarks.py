"""Remarks: what is to be remembered, read in a message, posted, or written by an operator."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.domain.channels import Channel
from memory.domain.language.english import changing
from memory.domain.secrets.redaction import mask_secrets
from memory.models import Memory
from memory.models.semantic import MEMORY_CHARACTERS
from memory.semantic.domain import slots
from memory.semantic.domain.extraction import (
    categorise,
    find_forgotten,
    keep_private,
    read_statement,
    strip_correction,
)
from memory.semantic.domain.rewording import about_user, as_sentence
from memory.semantic.domain.scope import Scope
from memory.semantic.store import Change, Draft

CATEGORIES: Final = frozenset(Memory.Category.values)
_OWN: Final = re.compile(r"(?:i|my|we|our)\b(?!/|-)", re.IGNORECASE)


class RemarkMistake(Exception):
    """The text cannot be remembered; the message says why, in a whole sentence."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to be remembered.

    - ``slot``: the slot, if the form of the sentence names one
    - ``is_change``: it replaces what the same speaker has said about it
    - ``is_retracted``: it takes that back
    - ``actor``: who wrote it, if not the speaker's agent
    """

    text: str
    category: str
    scope: Scope
    channel: Channel
    source: Memory.Source
    at: datetime
    confidence: float = 1.0
    slot: str = ""
    conversation: bytes = b""
    episode: int | None = None
    is_change: bool = False
    is_retracted: bool = False
    actor: str = ""

    @property
    def agent(self) -> str:
        return self.scope.speaker.agent

    @property
    def draft(self) -> Draft:
        found = slots.find_slots(self.text, self.category, self.slot)
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
    """Compose a remark from what somebody writes down on purpose. Raises RemarkMistake.

    What they say about themselves becomes a sentence about the user or the team; anything else is kept as it is. After
    "forget that", it is retracted. The category defaults to that of the sentence's form.
    """
    clean = clean_text(text)
    forgotten = find_forgotten(clean)
    clean = forgotten or clean
    if category and category not in CATEGORIES:
        raise RemarkMistake(f"A category is one of {', '.join(sorted(CATEGORIES))}.")
    read = read_statement(clean)
    if read is None or len(read.text) > MEMORY_CHARACTERS:
        stated, is_correction = strip_correction(clean)
        told = as_sentence(about_user(stated)) if is_correction or _OWN.match(clean) else clean
        text = told if len(told) <= MEMORY_CHARACTERS else clean
        category = keep_private(text, category) if category else categorise(told)
        is_change = is_correction or re.search(changing.CHANGES, clean.lower()) is not None
        return Remark(
            text, category, scope, channel, source, at, is_change=is_change, is_retracted=bool(forgotten), actor=actor
        )
    return Remark(
        read.text,
        keep_private(read.text, category or read.category),
        scope,
        channel,
        source,
        at,
        slot=read.slot,
        is_change=read.is_change,
        is_retracted=bool(forgotten),
        actor=actor,
    )
