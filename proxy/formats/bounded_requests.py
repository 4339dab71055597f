"""Reads a request within bounds. One that exceeds them goes on as it came."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from proxy.formats.base import PARTS_MAX, Payload, Prompt, WireFormat
from proxy.formats.json_text import is_heavy, parse_body

JSON_MAX_BYTES: Final = 4_000_000


class Excess(StrEnum):
    """Why a request is not read."""

    BYTES = "request_bytes"
    VALUES = "request_values"
    PARTS = "request_parts"
    UNREAD = "request_unread"


@dataclass(frozen=True, slots=True)
class BoundedRequest:
    """``prompt`` is None if nothing is to be done with the request."""

    payload: Payload = field(default_factory=dict)
    prompt: Prompt | None = None
    excess: Excess | None = None


def read_request(wire: WireFormat, body: bytes) -> BoundedRequest:
    """Parse a request whatever its Content-Type is: LiteLLM sends JSON as application/octet-stream."""
    if len(body) > JSON_MAX_BYTES:
        return BoundedRequest(excess=Excess.BYTES)
    if is_heavy(body):
        return BoundedRequest(excess=Excess.VALUES)
    payload = parse_body(body)
    if payload is None:
        return BoundedRequest(excess=Excess.UNREAD)
    messages = payload.get(wire.long_field)
    is_long = isinstance(messages, list) and len(messages) > PARTS_MAX
    prompt = wire.read(payload) if not is_long else None
    if is_long or (prompt is not None and len(prompt.parts) > PARTS_MAX):
        return BoundedRequest(excess=Excess.PARTS)
    return BoundedRequest(payload, prompt)
