"""Reads JSON as Ollama's parser does, and changes single values of it in its own bytes.

A parser holds the interpreter until it is done, in whichever thread it runs, and a body of empty lists takes it a
quarter of a second for each MB: ``is_heavy`` tells such a body beforehand.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import orjson

WINDOW: Final = 65_536  # bytes in which values are counted before it is known whether there are too many
# What the parser may build at once: 10 ms.
CONTAINERS_MAX: Final = 20_000  # objects and lists
COMMAS_MAX: Final = 100_000  # for as many values
DEPTH: Final = 16  # of containers that one match skips
# What orjson refuses is parsed by a parser a tenth as fast, up to so many bytes, and up to so many escaped surrogates.
SLOW_MAX: Final = 500_000
SURROGATES_MAX: Final = 10_000
CHUNK: Final = 512  # bytes of a string in which characters are counted one by one

_STRINGS: Final = rb'"(?:[^"\\]++|\\.)*+"'
_STRING: Final = re.compile(_STRINGS, re.DOTALL)
_WHOLE_STRINGS: Final = re.compile(rb'(?:[^"]++|%b)*+' % _STRINGS, re.DOTALL)
_BRACKETS: Final = re.compile(rb"%b|([\[{])|[\]}]" % _STRINGS, re.DOTALL)
_QUOTE: Final = ord('"')
_SPACE: Final = re.compile(rb"\s*+")
_KEY: Final = re.compile(rb"\s*+(%b)\s*+:\s*+" % _STRINGS, re.DOTALL)
# A surrogate without its partner, or the end, behind a text that has neither.
_LONE_SURROGATE: Final = re.compile(
    rb"((?:[^\\]++|\\[^u]|\\\Z|\\u(?![dD][89a-fA-F])|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*+)(\\u[dD][89a-fA-F]..|\Z)",
    re.DOTALL,
)
# What stands for characters in a string: plain ones, those beyond ASCII, an escaped pair of surrogates, one escape.
_CHARACTERS: Final = re.compile(
    rb"([^\\\x80-\xff]++)|([\x80-\xff]++)|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.", re.DOTALL
)


def _build_value() -> re.Pattern[bytes]:
    containers = rb"[\[{](?:[^\"\[\]{}]++|%b)*+[\]}]" % _STRINGS
    for _ in range(DEPTH - 1):
        containers = rb"[\[{](?:[^\"\[\]{}]++|%b|%b)*+[\]}]" % (_STRINGS, containers)
    return re.compile(rb'%b|[^"\[\]{},\s]++|%b' % (_STRINGS, containers), re.DOTALL)


_VALUE: Final = _build_value()

Path = tuple[str | int, ...]
Replacement = tuple[int, int, bytes]  # of the bytes from the first offset to the second


# --- reading ---


def parse_body(body: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a request, None for anything else. What has no meaning in Unicode reads as U+FFFD."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _parse_as_go(body)
    return value if isinstance(value, dict) else None


def _parse_as_go(text: bytes) -> object:
    """Parse what Ollama's parser takes and orjson refuses: surrogates without their partner, bytes that are no UTF-8,
    numbers beyond a float. None if it is no JSON, or too much."""
    if text.count(b"\\ud") + text.count(b"\\uD") > SURROGATES_MAX:
        return None
    paired = _LONE_SURROGATE.sub(lambda found: found[1] + b"\\ufffd" if found[2] else found[1], text)
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(paired.decode("utf-8", "replace"))
    try:
        return json.loads(paired.decode("utf-8", "replace")) if len(text) <= SLOW_MAX else None
    except (ValueError, RecursionError):
        return None


def is_heavy(text: bytes) -> bool:
    """True if the text has more values than may be parsed at once."""
    if len(text) <= CONTAINERS_MAX:
        return False
    # This cheap check also counts signs in strings, so it errs only towards too many: prose and code have many.
    brackets = _count_rare(text, b"{") + _count_rare(text, b"[")
    if brackets <= CONTAINERS_MAX and (len(text) <= 2 * COMMAS_MAX or _count_rare(text, b",") <= COMMAS_MAX):
        return False
    at, containers, commas = 0, 0, 0
    while at < len(text):
        start, at = at, _WHOLE_STRINGS.match(text, at, at + WINDOW).end()  # type: ignore[union-attr]  # or nothing
        bare = _STRING.sub(b"", text[start:at])
        containers += bare.count(b"{") + bare.count(b"[")
        commas += bare.count(b",")
        if containers > CONTAINERS_MAX or commas > COMMAS_MAX:
            return True
        if text[at : at + 1] == b'"':  # a string that does not end within the window
            string = _STRING.match(text, at)
            at = len(text) if string is None else string.end()
    return False


def _count_rare(text: bytes, sign: bytes) -> int:
    # If the sign is rare, this is ten times as fast as bytes.count.
    return len(text) - len(text.replace(sign, b""))


# --- changing ---


@dataclass(frozen=True, slots=True)
class TextChange:
    """Replaces the characters of a string from ``start`` to ``end``; without ``start``, adds to its end."""

    path: Path
    text: str
    start: int | None = None
    end: int | None = None

    @property
    def paths(self) -> Iterable[Path]:
        return (self.path,)

    def replace(self, body: bytes, spans: Mapping[Path, tuple[int, int]]) -> Iterator[Replacement]:
        start, end = spans[self.path]
        written = _write(self.text)[1:-1]
        if self.start is None:
            yield end - 1, end - 1, written
            return
        last = self.start if self.end is None else self.end
        first, last = (start + 1 + at for at in find_offsets(body[start + 1 : end - 1], (self.start, last)))
        yield first, last, written


@dataclass(frozen=True, slots=True)
class ListChange:
    """Adds an item to the beginning or the end of a list, and removes the items with some indexes."""

    path: Path
    item: Any = None
    is_first: bool = False
    without: Collection[int] = ()

    @property
    def paths(self) -> Iterable[Path]:
        return (self.path, *((*self.path, index) for index in self.without))

    def replace(self, body: bytes, spans: Mapping[Path, tuple[int, int]]) -> Iterator[Replacement]:
        start, end = spans[self.path]
        if self.item is not None:
            gap = b"" if _SPACE.fullmatch(body, start + 1, end - 1) else b","
            at, written = start + 1 if self.is_first else end - 1, _write(self.item)
            yield at, at, written + gap if self.is_first else gap + written
        for index in sorted(self.without):
            if index - 1 in self.without:
                continue
            until = index
            while until + 1 in self.without:
                until += 1
            first, last = spans[*self.path, index][0], spans[*self.path, until][1]
            comma = _end_of_space(body, last)
            if body[comma : comma + 1] == b",":
                last = comma + 1
            elif index:  # nothing follows: the comma before them goes
                first = body.rindex(b",", start, first)
            yield first, last, b""


@dataclass(frozen=True, slots=True)
class MembersChange:
    """Sets members of an object."""

    path: Path
    members: Mapping[str, Any]

    @property
    def paths(self) -> Iterable[Path]:
        return (self.path, *((*self.path, key) for key in self.members))

    def replace(self, body: bytes, spans: Mapping[Path, tuple[int, int]]) -> Iterator[Replacement]:
        start, end = spans[self.path]
        new = []
        for key, value in self.members.items():
            if (span := spans.get((*self.path, key))) is not None:
                yield *span, _write(value)
            else:
                new.append(_write(key) + b":" + _write(value))
        if new:
            gap = b"" if _SPACE.fullmatch(body, start + 1, end - 1) else b","
            yield start + 1, start + 1, b",".join(new) + gap


Change = TextChange | ListChange | MembersChange


def splice(body: bytes, changes: Sequence[Change]) -> bytes:
    """Return the JSON text with the changes; all else keeps its bytes. Raises LookupError and ValueError where the text
    has no such values. No two changes may be of the same characters."""
    spans = find_spans(body, (path for change in changes for path in change.paths))
    pieces, at = list[bytes](), 0
    for start, end, written in sorted(
        (replaced for change in changes for replaced in change.replace(body, spans)), key=lambda each: each[:2]
    ):
        pieces += (body[at:start], written)
        at = end
    return b"".join([*pieces, body[at:]])


def find_spans(body: bytes, paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Return where the values at these paths begin and end, without those that are not there. Of members with one name
    the last counts, as for parsers."""
    tree: dict[str | int, Any] = {}
    for path in paths:
        branch = tree
        for step in path:
            branch = branch.setdefault(step, {})
    spans: dict[Path, tuple[int, int]] = {}
    _scan(body, _end_of_space(body, 0), (), tree, spans)
    return spans


def _scan(body: bytes, at: int, path: Path, tree: Mapping[str | int, Any], spans: dict[Path, tuple[int, int]]) -> int:
    """Note the spans in the value that starts there; return its end."""
    start, sign = at, body[at : at + 1]
    if not tree or sign not in (b"{", b"["):
        end = _skip_value(body, at)
        spans[path] = start, end
        return end
    at, index = _end_of_space(body, at + 1), 0
    while body[at : at + 1] not in (b"}", b"]"):
        step: str | int = index
        if sign == b"{":
            key = _KEY.match(body, at)
            if key is None:
                raise ValueError("no member")
            at = key.end()
            step = key[1][1:-1].decode("utf-8", "replace") if b"\\" not in key[1] else json.loads(key[1])
        if step in tree:
            for known in [known for known in spans if known[: len(path) + 1] == (*path, step)]:
                del spans[known]
            at = _scan(body, at, (*path, step), tree[step], spans)
        else:
            at = _skip_value(body, at)
        at = _end_of_space(body, at)
        if body[at : at + 1] == b",":
            at = _end_of_space(body, at + 1)
        elif at >= len(body):
            raise ValueError("no end")
        index += 1
    spans[path] = start, at + 1
    return at + 1


def _skip_value(body: bytes, at: int) -> int:
    found = _VALUE.match(body, at)
    if found is not None:
        return found.end()
    depth = 0  # deeper than one match reaches
    for mark in _BRACKETS.finditer(body, at):
        if mark[1] is not None:
            depth += 1
        elif body[mark.start()] != _QUOTE:
            depth -= 1
            if depth <= 0:
                return mark.end()
    raise ValueError("no end")


def find_offsets(raw: bytes, characters: Sequence[int]) -> list[int]:
    """Return the offsets in a string as JSON writes it at which so many characters of it, in ascending numbers, have
    come."""
    offsets, count, at = list[int](), 0, 0
    for need in characters:
        # A space stands for itself, so that a text can be cut there.
        while (end := raw.find(b" ", at + CHUNK)) >= 0 and count + (length := _count(raw[at:end])) <= need:
            at, count = end, count + length
        for found in _CHARACTERS.finditer(raw, at):
            if count == need:
                break
            plain, wide = found[1], found[2]
            text = wide.decode("utf-8", "replace") if wide is not None else ""
            length = len(plain) if plain is not None else len(text) if text else 1
            if count + length > need:
                into = need - count
                at, count = found.start() + (len(text[:into].encode()) if text else into), need
            else:
                at, count = found.end(), count + length
        offsets.append(at)
    return offsets


def _count(raw: bytes) -> int:
    """Count the characters of a part of a string as JSON writes it."""
    try:
        return len(orjson.loads(b'"%b"' % raw))
    except orjson.JSONDecodeError:
        return sum(
            len(found[1]) if found[1] is not None else len(found[2].decode("utf-8", "replace")) if found[2] else 1
            for found in _CHARACTERS.finditer(raw)
        )


def _end_of_space(body: bytes, at: int) -> int:
    return _SPACE.match(body, at).end()  # type: ignore[union-attr]  # it matches nothing, too


def _write(value: object) -> bytes:
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode()
    return orjson.dumps(value)
