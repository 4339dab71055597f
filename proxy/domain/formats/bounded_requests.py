"""Reads a request within bounds. If a request exceeds them, only its beginning is read, where blocks of earlier turns
may be; the rest is kept as it came, byte for byte."""

import re
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from typing import Any, Final

import orjson

from memory.domain.steps import Steps
from proxy.domain import json_outline
from proxy.domain.formats import flattened
from proxy.domain.formats.base import Payload, Prompt, WireFormat
from proxy.domain.formats.streams import parse_object
from proxy.domain.json_outline import ByteRange

JSON_MAX_BYTES: Final = 4_000_000
PARTS_MAX: Final = 5_000
HEADINGS_IN_STEP: Final = 512
COPIED_IN_STEP: Final = 1_000_000  # bytes
BACKSLASHES_MAX: Final = 64  # so many are read before a header, to tell a line break from an escaped one
# Texts beside the long field that may take blocks.
BESIDE: Final = ("system", "instructions")
NAMING: Final = "metadata"  # may name the person that the request is for
NAMING_MAX: Final = 10_000  # bytes

_RAW_HEADING: Final = b"\\n### "
_RAW_HEADER: Final = re.compile(rb"\\n### (?:System|User|Assistant):(?=\\n)")


class Excess(StrEnum):
    """The bound that a request exceeds."""

    BYTES = "request_bytes"
    VALUES = "request_values"
    PARTS = "request_parts"


@dataclass(frozen=True, slots=True)
class CutRequest:
    """``payload`` reads like a whole request, but its long field may have only the beginning; ``rest`` is what follows
    in the text, empty if nothing does."""

    payload: Payload
    text: bytes
    field: str
    rest: ByteRange

    def write(self) -> Steps[bytes]:
        """Serialize the payload as it is now, and the rest of the long field after it."""
        text = memoryview(self.text)
        pieces: list[bytes | memoryview] = []
        for key, value in self.payload.items():
            pieces += (b"," if pieces else b"{", orjson.dumps(key), b":")
            if isinstance(value, ByteRange):
                pieces.append(text[value.start : value.end])
            elif key == self.field and self.rest.end > self.rest.start:
                # Without its closing bracket or quote, which the rest has.
                pieces += (orjson.dumps(value)[:-1], text[self.rest.start : self.rest.end])
            else:
                pieces.append(orjson.dumps(value))
        pieces.append(b"}")
        yield
        written = BytesIO()
        for piece in pieces:
            for start in range(0, len(piece), COPIED_IN_STEP):
                written.write(piece[start : start + COPIED_IN_STEP])
                yield
        return written.getvalue()  # this copies nothing


@dataclass(frozen=True, slots=True)
class BoundedRequest:
    """``prompt`` is None if nothing is to be done with the request; if it is ``cut``, the prompt is only its
    beginning."""

    payload: Payload
    prompt: Prompt | None
    excess: Excess | None = None
    cut: CutRequest | None = None


def read_request(wire: WireFormat, body: bytes) -> Steps[BoundedRequest]:
    """Parse a request whatever its Content-Type is: LiteLLM sends JSON as application/octet-stream."""
    if len(body) > JSON_MAX_BYTES:
        excess = Excess.BYTES
    elif (yield from json_outline.is_heavy(body)):
        excess = Excess.VALUES
    else:
        payload = parse_object(body)
        yield
        if not _has_too_many_parts(payload.get(wire.long_field)):
            prompt = wire.read(payload)
            yield
            if prompt is None or len(prompt.parts) <= PARTS_MAX:
                return BoundedRequest(payload, prompt)
        excess = Excess.PARTS
    cut = yield from _cut_request(body, wire.long_field)
    if cut is None:
        return BoundedRequest({}, None, excess)
    return BoundedRequest(cut.payload, wire.read(cut.payload), excess, cut)


def _has_too_many_parts(value: object) -> bool:
    if isinstance(value, str):
        return flattened.has_more_sections(value, PARTS_MAX)
    return isinstance(value, list) and len(value) > PARTS_MAX


def _cut_request(text: bytes, field: str) -> Steps[CutRequest | None]:
    """Return None if there is nothing before the cut that a block could be in."""
    members = yield from json_outline.outline(text)
    if members is None:
        return None
    rest = ByteRange(0, 0)
    if isinstance(span := members.get(field), ByteRange):
        members[field], rest = yield from _read_beginning(text, span)
    if not members.get(field):
        return None
    for key in BESIDE:
        if isinstance(beside := members.get(key), ByteRange):
            members[key] = yield from _parse_some(text[beside.start : beside.end])
            if members[key] is None:
                return None
    naming = members.get(NAMING)
    if isinstance(naming, ByteRange) and naming.end - naming.start <= NAMING_MAX:
        members[NAMING] = (yield from _parse_some(text[naming.start : naming.end])) or naming
    return CutRequest(members, text, field, rest)


def _read_beginning(text: bytes, span: ByteRange) -> Steps[tuple[Any, ByteRange]]:
    """Return the first items of a list, or the first sections of a flattened prompt, and the range of the rest. The
    first is None if there is no such beginning."""
    is_list = text[span.start] == ord("[")
    if is_list:
        limits = {"items_max": PARTS_MAX, "bytes_max": JSON_MAX_BYTES}
        cut = yield from json_outline.find_end_of_items(text, span, **limits)
    else:
        cut = yield from _find_last_section(text, span)
    beginning = yield from _parse_some(text[span.start : cut] + (b"]" if is_list else b'"'))
    if is_list and beginning is not None and len(beginning) > PARTS_MAX:  # the items are not messages
        beginning = None
    return beginning, ByteRange(cut, span.end)


def _parse_some(text: bytes) -> Steps[Any]:
    """Return None if the text is not JSON, or too much to parse at once."""
    if len(text) > JSON_MAX_BYTES + 2 or (yield from json_outline.is_heavy(text)):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _find_last_section(text: bytes, span: ByteRange) -> Steps[int]:
    """Return the offset of the last header that may still be read, in a string as JSON writes it; the start of the
    string if there is none."""
    limit = min(span.end, span.start + JSON_MAX_BYTES)
    at = cut = span.start
    headings = sections = 0
    while sections < PARTS_MAX and (at := text.find(_RAW_HEADING, at + 1, limit)) >= 0:
        headings += 1
        if headings % HEADINGS_IN_STEP == 0:
            yield
        if _RAW_HEADER.match(text, at) and not _is_escaped(text, at):
            cut = at
            sections += 1
    return cut


def _is_escaped(text: bytes, at: int) -> bool:
    """True if the backslash at this offset is escaped by one before it."""
    before = text[max(0, at - BACKSLASHES_MAX) : at]
    backslashes = len(before) - len(before.rstrip(b"\\"))
    return backslashes % 2 == 1 or backslashes == BACKSLASHES_MAX
