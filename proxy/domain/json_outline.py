"""Inspects a JSON text step by step, without building its values.

A parser holds the interpreter until it is done, in whichever thread it runs, and a body of empty lists takes it a
quarter of a second for each MB. Here others may run between two steps, and nothing is built. The text need not be valid
JSON: what is taken out of it is parsed later.
"""

import re
from collections.abc import Generator
from typing import Any, Final, NamedTuple

import orjson

from memory.domain.steps import Steps

WINDOW: Final = 65_536  # bytes read in one step, 0.1 to 1 ms
MARKS_IN_STEP: Final = 512  # takes as long
MARKS_MAX: Final = 400_000  # brackets followed in one text: some 0.3 s in total
# What the parser may build at once: 10 ms.
CONTAINERS_MAX: Final = 20_000  # objects and lists
COMMAS_MAX: Final = 100_000  # for as many values
# In the outermost object, bytes: longer strings are left out; all shorter values together may take SKELETON_MAX.
PLAIN_MAX: Final = 4_096
SKELETON_MAX: Final = 1_000_000

_STRINGS: Final = rb'"(?:[^"\\]++|\\.)*+"'
_STRING: Final = re.compile(_STRINGS, re.DOTALL)
_WHOLE_STRINGS: Final = re.compile(rb'(?:[^"]++|%b)*+' % _STRINGS, re.DOTALL)
_NO_BRACKET: Final = re.compile(rb'(?:[^"\[\]{}]++|%b)*+' % _STRINGS, re.DOTALL)
_IN_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_QUOTE: Final = ord('"')
_OPENING: Final = frozenset(b"[{")
_CLOSING: Final = frozenset(b"]}")


class ByteRange(NamedTuple):
    """Offsets of a value that was left unparsed."""

    start: int
    end: int


def is_heavy(text: bytes) -> Steps[bool]:
    """True if the text has more values than may be parsed at once."""
    if len(text) <= CONTAINERS_MAX:
        return False
    # This cheap check also counts signs in strings, so it errs only towards too many: prose and code have many.
    brackets = _count_rare(text, b"{") + _count_rare(text, b"[")
    if brackets <= CONTAINERS_MAX and (len(text) <= 2 * COMMAS_MAX or _count_rare(text, b",") <= COMMAS_MAX):
        return False
    at, containers, commas = 0, 0, 0
    while at < len(text):
        start, at = at, _end_of(_WHOLE_STRINGS, text, at, len(text))
        bare = _STRING.sub(b"", text[start:at])
        containers += bare.count(b"{") + bare.count(b"[")
        commas += bare.count(b",")
        if containers > CONTAINERS_MAX or commas > COMMAS_MAX:
            return True
        if text[at : at + 1] == b'"':  # a string that does not end within the window
            at = yield from _skip_string(text, at, len(text))
        yield
    return False


def outline(text: bytes) -> Steps[dict[str, Any] | None]:
    """Return the members of the object in the text: plain values as they are, a ByteRange for objects, lists and long
    strings. None if it is no object, or too much to follow."""
    pieces: list[bytes] = []  # of the outermost object, with the number of a span in place of each value left out
    spans: list[ByteRange] = []
    depth = marks = size = opened = kept = 0
    for mark in _find_boundaries(text, 0, len(text)):
        if mark is None:
            yield
            continue
        marks += 1
        sign, start, end = mark
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if sign in _OPENING and depth == 2:
            opened = start
        is_left_out = depth == 1 and (sign in _CLOSING or (sign == _QUOTE and end - start > PLAIN_MAX))
        if is_left_out:
            span = ByteRange(opened if sign in _CLOSING else start, end)
            pieces += (text[kept : span.start], b"[%d]" % len(spans))
            size += span.start - kept
            spans.append(span)
            kept = end
        if depth < 0 or marks > MARKS_MAX or size > SKELETON_MAX or len(spans) > CONTAINERS_MAX:
            return None
    if len(text) - kept + size > SKELETON_MAX:
        return None
    try:
        skeleton = orjson.loads(b"".join([*pieces, text[kept:]]))
    except orjson.JSONDecodeError:
        return None
    if not isinstance(skeleton, dict):
        return None
    return {key: spans[value[0]] if isinstance(value, list) else value for key, value in skeleton.items()}


def find_end_of_items(text: bytes, span: ByteRange, *, items_max: int, bytes_max: int) -> Steps[int]:
    """Return the end of the last of a list's first items that may be parsed at once. Items are objects or lists."""
    last = span.start + 1
    depth = items = containers = 0
    for mark in _find_boundaries(text, span.start + 1, min(span.end, span.start + bytes_max)):
        if mark is None:
            yield
            continue
        sign, _, end = mark
        depth += (sign in _OPENING) - (sign in _CLOSING)
        containers += sign in _OPENING
        if depth < 0 or containers > CONTAINERS_MAX:
            break
        if depth == 0 and sign in _CLOSING:
            last = end
            items += 1
            if items == items_max:
                break
    return last


def _count_rare(text: bytes, sign: bytes) -> int:
    # If the sign is rare, this is ten times as fast as bytes.count.
    return len(text) - len(text.replace(sign, b""))


Boundary = tuple[int, int, int]  # a bracket, or the quote of a string; where it starts; where it ends


def _find_boundaries(text: bytes, start: int, end: int) -> Generator[Boundary | None, None, None]:
    """Yield the brackets outside of strings, and the strings that the end of a window cuts; None when others may
    run."""
    at = rested = start
    marks = 0
    while (at := _end_of(_NO_BRACKET, text, at, end)) < end:
        if at - rested >= WINDOW or marks == MARKS_IN_STEP:
            yield None
            rested, marks = at, 0
        sign = text[at]
        if sign == _QUOTE:
            begun = at
            at = yield from _skip_string(text, at, end)
            yield sign, begun, at
        elif sign in _OPENING or sign in _CLOSING:
            yield sign, at, at + 1
            at += 1
            marks += 1


def _skip_string(text: bytes, start: int, end: int) -> Steps[int]:
    """Return the end of the string that starts there; the end of the range if it does not end."""
    at = start + 1
    while at < end:
        before, at = at, _end_of(_IN_STRING, text, at, end)
        if at < end and text[at] == _QUOTE:
            return at + 1
        if at == before and at + 1 >= end:  # a trailing backslash
            break
        yield
    return end


def _end_of(pattern: re.Pattern[bytes], text: bytes, start: int, end: int) -> int:
    found = pattern.match(text, start, min(end, start + WINDOW))
    return start if found is None else found.end()
