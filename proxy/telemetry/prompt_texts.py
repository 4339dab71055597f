"""Stores the texts of prompts, only if an operator wants it (the setting ``live_prompt_text``): the beginning of the
last user message, with secrets masked."""

from collections.abc import Sequence
from typing import Final

from memory.attribution.envelopes import unwrap
from memory.attribution.forget_requests import cut_requests, find_requests
from memory.graph import retention
from memory.recall.mentions import MaybeReading
from memory.secrets.redaction import mask_secrets
from proxy.formats.base import Part
from proxy.models import RecollectionEvent

KEPT_MAX: Final = 2_000  # characters
# Characters that are read: more than are kept, so that the cut does not split a secret.
READ_MAX: Final = 4_000
SECRET_MAX: Final = 200  # characters before the end of what was read that may be the beginning of a secret
NUL: Final = "\0"  # Postgres does not store it


def find_last_user_text(parts: Sequence[Part], readings: Sequence[MaybeReading]) -> str:
    """Return the unmasked beginning of the last user message; empty if there is none."""
    # Only a reading tells who said a message: an agent's framework speaks in the user's role, too.
    for part, reading in zip(reversed(parts), reversed(readings), strict=True):
        role = part.role if reading is None else reading.role
        if role == "user" and part.text:
            return part.text[:READ_MAX]
    return ""


def mask_text(said: str) -> str:
    """Return the text to store, without the sentences that ask to forget. Takes 0.1 to 1 ms: not for the hot path."""
    text, _ = unwrap(said, "user")
    text = cut_requests(text, find_requests(text))
    masked = mask_secrets(text).replace(NUL, "\ufffd")
    end = KEPT_MAX if len(said) < READ_MAX else min(KEPT_MAX, len(masked) - SECRET_MAX)
    return masked[:end]


def forget() -> int:
    """Delete all stored texts, a batch at a time; return the number of requests."""
    of_some = RecollectionEvent.objects.exclude(prompt_text="").order_by("at").values("pk")
    gone = 0
    for _ in retention.iterate_batches():
        count = RecollectionEvent.objects.filter(pk__in=of_some[: retention.BATCH]).update(prompt_text="")
        gone += count
        if count < retention.BATCH:
            break
    return gone
