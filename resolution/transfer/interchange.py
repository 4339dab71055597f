"""Reads and writes the exported file: JSON Lines in UTF-8 (docs/interchange.md)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, BinaryIO, Final

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from memory.english.phrases import format_count
from resolution.transfer.lines import LINES, Line

FORMAT: Final = "festinger"
VERSION: Final = 2
LINE_MAX_BYTES: Final = 1024 * 1024

_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
_SHOWN_MAX: Final = 80  # characters of a wrong value


class UnreadableFile(ValueError):
    """The file is no export, or not one that this version reads; the message says why."""


@dataclass(frozen=True, slots=True)
class Miscount:
    """The number of lines differs from the header's count."""

    reason: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a line. Lines count from 1."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


_ADAPTER: Final[TypeAdapter[Line]] = TypeAdapter(Annotated[Line, Field(discriminator="kind")])


# --- writing ---


def format_header(counts: Mapping[str, int]) -> bytes:
    """Format the first line. ``counts`` has the number of lines for each kind."""
    return orjson.dumps({"format": FORMAT, "version": VERSION, "counts": dict(counts)}) + b"\n"


def format_line(kind: str, values: Iterable[Any]) -> bytes:
    """Format a line of this kind. ``values`` are those of all its keys except the kind, in order."""
    keys = [key for key in LINES[kind].model_fields if key != "kind"]
    return orjson.dumps({"kind": kind} | dict(zip(keys, values, strict=True)), option=orjson.OPT_UTC_Z) + b"\n"


# --- reading ---


def read(file: BinaryIO) -> Iterator[tuple[int, Line | Mistake | Miscount]]:
    """Yield the lines after the header with their numbers, from the beginning of the file. A Miscount comes last if the
    number of lines differs from the header's. Raises UnreadableFile."""
    file.seek(0)
    numbered = _read_numbered(file)
    number, first = next(numbered, (0, b""))
    expected = _read_header(first)
    count = 0
    for number, text in numbered:
        count += 1
        try:
            line = _ADAPTER.validate_json(text) if text is not None else None
            yield number, line or Mistake(number, f"is longer than {LINE_MAX_BYTES} bytes")
        except ValidationError as error:
            yield number, Mistake(number, _describe(error))
    if expected not in (None, count):
        how = "shorter than it says" if count < expected else "longer than it says"
        promise = f"its first line promises {format_count(expected, 'more line')}, there are {count:,}"
        yield number, Miscount(f"The file is {how}: {promise}. If nobody has edited it by hand, it may have been cut.")


def _read_numbered(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines that are not blank. None stands for a line that is too long, which is never fully in memory."""
    number = 0
    while piece := file.readline(LINE_MAX_BYTES):
        number += 1
        if number == 1:
            for magic, name in _COMPRESSED.items():
                if piece.startswith(magic):
                    raise UnreadableFile(f"The file is compressed ({name}): unpack it first.")
            piece = piece.removeprefix(b"\xef\xbb\xbf")  # the byte order mark of some editors
        is_whole = piece.endswith(b"\n") or len(piece) < LINE_MAX_BYTES
        rest = piece
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LINE_MAX_BYTES)
            is_whole = is_whole and not rest
        if not is_whole:
            yield number, None
        elif text := piece.strip():
            yield number, text


def _read_header(text: bytes | None) -> Any:
    """Return how many lines follow, or None if the header does not say."""
    if text == b"":
        raise UnreadableFile("The file is empty.")
    try:
        header = orjson.loads(text or b"")
    except orjson.JSONDecodeError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UnreadableFile(
            "This is not an export of Festinger: its first line is not"
            f' {{"format": "{FORMAT}", "version": {VERSION}, ...}}.'
        )
    if header.get("version") != VERSION:
        raise UnreadableFile(
            f"The file has version {header.get('version')} of the format; this Festinger reads version {VERSION}."
        )
    counts = header.get("counts")
    if counts is None:
        return None
    if not isinstance(counts, dict) or not all(type(count) is int for count in counts.values()):
        raise UnreadableFile('The "counts" in the first line are not numbers.')
    return sum(counts.values())


def _describe(error: ValidationError) -> str:
    """Describe the first mistake in words."""
    first = error.errors(include_url=False)[0]
    what, where = first["type"], first["loc"]  # where: the line's kind, the key, and the place in a list
    if what == "json_invalid":
        return "is not valid JSON"
    if what.startswith("union_tag"):
        value = first["input"].get("kind") if isinstance(first["input"], dict) else None
        return f'"kind" must be one of {", ".join(LINES)}, not {_shorten(value)}'
    if len(where) < 2:
        return str(first["ctx"]["error"]) if what == "value_error" else "is not a JSON object"
    if what == "missing":
        return f'"{where[1]}" is missing'
    if what == "extra_forbidden":
        return f'"{where[1]}" is not a key of a {where[0]}'
    must = str(first["ctx"]["error"]) if what == "value_error" else re.sub(r"^\w+ should", "must", first["msg"])
    return f'"{where[1]}" {must}, not {_shorten(first["input"])}'


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."
