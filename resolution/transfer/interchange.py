"""The file in which a world is moved, kept and seeded: JSON Lines in UTF-8. docs/interchange.md describes it.

A line that cannot be read is a Mistake with its number; what is no such file at all is Unreadable.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, BinaryIO, ClassVar, Final, TypeVar

import orjson

from memory.domain.text.tokenizer import is_name, parse_name
from memory.domain.types import Triple

FORMAT: Final = "festinger"
VERSION: Final = 1
LINE_MAX_BYTES: Final = 1024 * 1024

SOURCES: Final = ("cloud_llm", "inferred", "festinger", "gutask", "operator")
POLICIES: Final = ("queue", "supersede")
KINDS_OF_DECISION: Final = ("dismissed", "retired", "relocated", "decomposed")
COLLISIONS: Final = ("isa_isa", "ispart_ispart", "misclassification", "cycle")

_OPTIONS: Final = orjson.OPT_UTC_Z
_REQUIRED: Final = object()
_ABSENT: Final = object()
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
_HEX: Final = re.compile(r"(?:[0-9a-f]{2}){0,32}")

Value = TypeVar("Value")


class Unreadable(ValueError):
    """The file is none of Festinger's, or none that this version reads; the text says why."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a line, which counts from 1."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class DimensionLine:
    """A dimension. ``split_from`` names the one it was decomposed from."""

    kind: ClassVar[str] = "dimension"
    dimension: str
    question: str
    is_isa: bool
    on_collision: str
    split_from: str | None


@dataclass(frozen=True, slots=True)
class ConceptLine:
    """A concept with a flag that an operator has set."""

    kind: ClassVar[str] = "concept"
    concept: str
    is_muted: bool


@dataclass(frozen=True, slots=True)
class FactLine:
    """A fact that stands. Without times it is as if it had been said when the file is read."""

    kind: ClassVar[str] = "fact"
    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float
    source: str
    agent: str
    said_at: datetime | None
    last_confirmed: datetime | None

    @property
    def fact(self) -> Triple:
        return Triple(self.concept, self.parent, self.dimension, self.is_isa)


@dataclass(frozen=True, slots=True)
class DecidedLine:
    """A triple that was decided about. ``conversation`` is hexadecimal."""

    kind: ClassVar[str] = "decided"
    concept: str
    parent: str
    dimension: str
    decision: str
    moved_to: str | None
    agents: tuple[str, ...]
    conversation: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class ConflictLine:
    """A claim that waits for a decision: the parent, against what stands (``against``), or against the fact about
    ``blocking`` with which it would close a ring."""

    kind: ClassVar[str] = "conflict"
    concept: str
    parent: str
    dimension: str
    is_isa: bool
    collision: str
    against: str | None
    blocking: str | None
    confidence: float
    source: str
    agent: str
    role: str
    conversation: str
    evidence: str
    priority: int
    said_at: datetime
    queued_at: datetime

    @property
    def fact(self) -> Triple:
        return Triple(self.concept, self.parent, self.dimension, self.is_isa)


Line = DimensionLine | ConceptLine | FactLine | DecidedLine | ConflictLine


# --- writing ---


def header(counts: Mapping[str, int]) -> bytes:
    """The first line. ``counts``: how many lines of each kind follow."""
    return orjson.dumps({"format": FORMAT, "version": VERSION, "counts": dict(counts)}) + b"\n"


def write(line: Line) -> bytes:
    return (
        orjson.dumps({"kind": line.kind} | {name: getattr(line, name) for name in _NAMES[line.kind]}, option=_OPTIONS)
        + b"\n"
    )


# --- reading ---


def read(file: BinaryIO) -> Iterator[tuple[int, Line | Mistake]]:
    """The lines after the header with their numbers, as the file is read. A file that ends early has a last mistake.

    Raises Unreadable."""
    numbered = _numbered(file)
    number, first = next(numbered, (0, b""))
    promised = _read_header(first)
    count = 0
    for number, text in numbered:
        count += 1
        yield number, _read_line(number, text)
    if promised is not None and promised != count:
        yield number, Mistake(number, _miscounted(promised, count))


def _numbered(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """The lines that are not blank; None for one that is too long."""
    number = 0
    while piece := file.readline(LINE_MAX_BYTES):
        number += 1
        if number == 1:
            _refuse_compressed(piece)
            piece = piece.removeprefix(_BYTE_ORDER_MARK)
        is_whole = piece.endswith(b"\n") or len(piece) < LINE_MAX_BYTES
        rest = piece
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LINE_MAX_BYTES)
            is_whole = is_whole and not rest
        if not is_whole:
            yield number, None
        elif text := piece.strip():
            yield number, text


def _refuse_compressed(start: bytes) -> None:
    for magic, name in _COMPRESSED.items():
        if start.startswith(magic):
            raise Unreadable(f"The file is compressed ({name}): unpack it first.")


def _read_header(text: bytes | None) -> int | None:
    """How many lines are to follow, if it says so."""
    if text == b"":
        raise Unreadable("The file is empty.")
    try:
        first = orjson.loads(text or b"")
    except orjson.JSONDecodeError:
        first = None
    if not isinstance(first, dict) or first.get("format") != FORMAT:
        raise Unreadable(
            f'This is no world of Festinger: its first line is not {{"format": "{FORMAT}", "version": {VERSION}, ...}}.'
        )
    version, counts = first.get("version"), first.get("counts")
    if version != VERSION:
        raise Unreadable(f"The file is in version {version} of the format; this Festinger reads version {VERSION}.")
    if counts is None:
        return None
    if not isinstance(counts, dict) or not all(type(count) is int for count in counts.values()):
        raise Unreadable('The first line\'s "counts" are no numbers.')
    return sum(counts.values())


def _miscounted(promised: int, count: int) -> str:
    way = "cut" if count < promised else "longer than it says"
    return (
        f"the file is {way}: its first line promises {promised} more lines, there are {count}."
        ' In a file that is edited by hand, leave out "counts"'
    )


def _read_line(number: int, text: bytes | None) -> Line | Mistake:
    if text is None:
        return Mistake(number, f"longer than {LINE_MAX_BYTES} bytes")
    try:
        return parse(text)
    except ValueError as error:
        return Mistake(number, str(error))


def parse(text: bytes) -> Line:
    """One line after the header. Raises ValueError, which says what is wrong."""
    try:
        entry = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ValueError("is no JSON") from None
    if not isinstance(entry, dict):
        raise ValueError("is no JSON object")
    kind = entry.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f'"kind" is one of {", ".join(_KINDS)}, not {_shown(kind)}')
    made, readers = _KINDS[kind]
    line: Line = made(*_values(kind, entry, readers))
    _refuse_circles(line)
    return line


def _values(kind: str, entry: dict[str, Any], readers: "_Readers") -> list[Any]:
    """Of all fields, in order; a file has many lines, so this is short of calls."""
    values, left_out = [], 0
    for name, (reader, default) in readers.items():
        value = entry.get(name, _ABSENT)
        if value is _ABSENT:
            if default is _REQUIRED:
                raise ValueError(f'"{name}" is missing')
            values.append(default)
            left_out += 1
            continue
        try:
            values.append(reader(value))
        except ValueError as error:
            raise ValueError(f'"{name}" {error}, not {_shown(value)}') from None
    if len(entry) + left_out != len(readers):
        raise ValueError(f"{_shown(min(entry.keys() - readers.keys()))} is not known in a {kind}")
    return values


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 80 else f"{text[:80]}..."


def _refuse_circles(line: Line) -> None:
    """A root's slot belongs to its dimension."""
    if isinstance(line, DimensionLine | ConceptLine):
        if isinstance(line, DimensionLine) and line.dimension == line.split_from:
            raise ValueError(f"{line.dimension} cannot be split from itself")
        return
    if line.concept == line.parent:
        raise ValueError(f"{line.concept} cannot be its own parent")
    if line.dimension in (line.concept, line.parent):
        raise ValueError(f"{line.dimension} cannot be its own dimension")
    if isinstance(line, ConflictLine):
        _refuse_one_sided(line)


def _refuse_one_sided(line: ConflictLine) -> None:
    if line.against == line.parent:
        raise ValueError(f"{line.parent} cannot be in conflict with itself")
    if line.against is None and line.collision != "cycle":
        raise ValueError('"against" is missing: only a cycle has none')


# --- what a field takes: each returns the value, or raises ValueError with what it should be ---


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("is a name")
    if why := _not_a_name(value):
        raise ValueError(why)
    return value


@lru_cache(maxsize=20_000)  # most names come in many lines
def _not_a_name(text: str) -> str:
    if is_name(text):
        return ""
    meant = parse_name(text[:200])
    return f"is a name such as {meant}" if meant else "is a name: letters and digits, joined by _ - . ' @ or +"


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("is true or false")
    return value


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("is a number from 0 to 1")
    return float(value)


def _small_number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -32768 <= value <= 32767:
        raise ValueError("is a whole number from -32768 to 32767")
    return value


def _time(value: Any) -> datetime:
    try:
        read = datetime.fromisoformat(value)
        if read.tzinfo is None:
            raise ValueError
        return read.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("is a time such as 2026-01-31T09:30:00Z") from None


def _digest(value: Any) -> str:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise ValueError("is at most 32 bytes in hexadecimal")
    return value


def _text(most: int) -> Callable[[Any], str]:
    def reader(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most or "\0" in value:
            raise ValueError(f"is a text of at most {most} characters")
        return value

    return reader


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("is a list of texts")
    return tuple(map(_text(120), value))


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def reader(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"is one of {', '.join(allowed)}")
        return str(value)

    return reader


def _or_null(reader: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    return lambda value: None if value is None else reader(value)


_Readers = dict[str, tuple[Callable[[Any], Any], Any]]

_TRIPLE: Final[_Readers] = dict.fromkeys(("concept", "parent", "dimension"), (_name, _REQUIRED))
_KINDS: Final[dict[str, tuple[Callable[..., Line], _Readers]]] = {
    "dimension": (
        DimensionLine,
        {
            "dimension": (_name, _REQUIRED),
            "question": (_text(200), ""),
            "is_isa": (_flag, _REQUIRED),
            "on_collision": (_one_of(*POLICIES), "queue"),
            "split_from": (_or_null(_name), None),
        },
    ),
    "concept": (ConceptLine, {"concept": (_name, _REQUIRED), "is_muted": (_flag, _REQUIRED)}),
    "fact": (
        FactLine,
        _TRIPLE
        | {
            "is_isa": (_flag, _REQUIRED),
            "confidence": (_share, 1.0),
            "source": (_one_of(*SOURCES), "operator"),
            "agent": (_text(120), ""),
            "said_at": (_time, None),
            "last_confirmed": (_time, None),
        },
    ),
    "decided": (
        DecidedLine,
        _TRIPLE
        | {
            "decision": (_one_of(*KINDS_OF_DECISION), _REQUIRED),
            "moved_to": (_or_null(_name), None),
            "agents": (_texts, ()),
            "conversation": (_digest, ""),
            "decided_at": (_time, _REQUIRED),
        },
    ),
    "conflict": (
        ConflictLine,
        _TRIPLE
        | {
            "is_isa": (_flag, _REQUIRED),
            "collision": (_one_of(*COLLISIONS), _REQUIRED),
            "against": (_or_null(_name), None),
            "blocking": (_or_null(_name), None),
            "confidence": (_share, _REQUIRED),
            "source": (_one_of(*SOURCES), _REQUIRED),
            "agent": (_text(120), ""),
            "role": (_text(16), ""),
            "conversation": (_digest, ""),
            "evidence": (_text(500), ""),
            "priority": (_small_number, 0),
            "said_at": (_time, _REQUIRED),
            "queued_at": (_time, _REQUIRED),
        },
    ),
}


def _checked(made: Any, readers: _Readers) -> tuple[str, ...]:
    names = tuple(field.name for field in fields(made))
    assert names == tuple(readers), made
    return names


_NAMES: Final = {kind: _checked(*entry) for kind, entry in _KINDS.items()}


def split_mistakes(dimensions: Iterable[tuple[int, DimensionLine]], known: Iterable[str]) -> Iterator[Mistake]:
    """What is wrong with the lineage of the file's dimensions: each is split from one that is ``known`` or in the
    file, and none from itself, by whichever way."""
    split_from = {line.dimension: line.split_from for _, line in dimensions}
    known = set(known)
    for number, line in dimensions:
        met = {line.dimension}
        origin = line.split_from
        while origin is not None and origin not in known and origin in split_from and origin not in met:
            met.add(origin)
            origin = split_from[origin]
        if origin == line.dimension:
            yield Mistake(number, f"{line.dimension} is split from itself, by way of {line.split_from}")
        elif line.split_from is not None and line.split_from not in known and line.split_from not in split_from:
            yield Mistake(number, f"{line.split_from}, from which {line.dimension} is split, is no dimension here")
