"""The exported file, as docs/interchange.md describes it: JSON Lines in UTF-8, a model for each kind of line."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, BinaryIO, Final, Literal, Self

import orjson
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from memory.domain.channels import Channel
from memory.domain.fact_syntax import find_name_mistake
from memory.domain.formatting import format_count
from memory.domain.text.tokenizer import is_name, parse_name
from memory.domain.types import Triple
from memory.models import Dimension, Source
from resolution.models import CollisionType, DecidedTriple

FORMAT: Final = "festinger"
VERSION: Final = 1
LINE_MAX_BYTES: Final = 1024 * 1024

_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
_SHOWN_MAX: Final = 80  # characters of a wrong value


class UnreadableFile(ValueError):
    """This is not an exported file, or not one that this version reads; the message says why."""


@dataclass(frozen=True, slots=True)
class Miscount:
    """A file has not as many lines as it says."""

    reason: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a line. Lines count from 1."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


# --- what a key takes ---


@lru_cache(maxsize=20_000)  # most names are in many lines
def _check_name(text: str) -> str:
    if is_name(text):
        return text
    meant = parse_name(text[:200])
    raise ValueError(f"must be a name such as {meant}" if meant else "must be a name: letters, digits and _ - . ' @ +")


@lru_cache(maxsize=20_000)
def _refuse_grammar(name: str) -> str:
    if mistake := find_name_mistake(name):
        raise ValueError(f"must name something: {mistake}")
    return name


def _refuse_null(text: str) -> str:
    if "\0" in text:  # Postgres stores none
        raise ValueError("must not contain the character U+0000")
    return text


def _convert_to_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be a time such as 2026-01-31T09:30:00Z") from None


Name = Annotated[str, AfterValidator(_check_name)]
Concept = Annotated[Name, AfterValidator(_refuse_grammar)]  # that facts are about
NoNull = AfterValidator(_refuse_null)
AgentName = Annotated[str, Field(max_length=120), NoNull]
Digest = Annotated[str, Field(pattern=r"^(?:[0-9a-f]{2}){0,32}$")]  # in hexadecimal
Time = Annotated[AwareDatetime, AfterValidator(_convert_to_utc)]
Share = Annotated[float, Field(ge=0, le=1)]
SmallInteger = Annotated[int, Field(ge=-32768, le=32767)]


# --- the lines, with their keys in the order in which they are exported ---


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def words(self) -> Iterator[str]:
        """All tokens in it."""
        for key in ("concept", "parent", "dimension", "split_from", "moved_to", "against", "blocking", "alias"):
            if (word := getattr(self, key, None)) is not None:
                yield word


class _TripleLine(_Line):
    concept: Concept
    parent: Name
    dimension: Concept

    @model_validator(mode="after")
    def _refuse_circles(self) -> Self:
        if self.concept == self.parent:
            raise ValueError(f"{self.concept} cannot be its own parent")
        if self.dimension in (self.concept, self.parent):  # the root's slot belongs to the dimension
            raise ValueError(f"{self.dimension} cannot be its own dimension")
        return self


class DimensionLine(_Line):
    """``split_from`` is the dimension that was decomposed into this one and others."""

    kind: Literal["dimension"] = "dimension"
    dimension: Concept
    question: Annotated[str, Field(max_length=200), NoNull] = ""
    is_isa: bool
    on_collision: Dimension.OnCollision = Dimension.OnCollision.QUEUE
    split_from: Name | None = None

    @model_validator(mode="after")
    def _refuse_circles(self) -> Self:
        if self.dimension == self.split_from:
            raise ValueError(f"{self.dimension} cannot be split from itself")
        return self


class ConceptLine(_Line):
    kind: Literal["concept"] = "concept"
    concept: Name
    is_muted: bool


class AliasLine(_Line):
    """Another name of a concept."""

    kind: Literal["alias"] = "alias"
    alias: Concept
    concept: Concept
    channel: Channel = Channel.OPERATOR
    agent: AgentName = ""
    at: Time | None = None

    @model_validator(mode="after")
    def _refuse_circles(self) -> Self:
        if self.alias == self.concept:
            raise ValueError(f"{self.alias} cannot be an alias of itself")
        return self


class FactLine(_TripleLine):
    """Without times, it counts as said at the time of the import."""

    kind: Literal["fact"] = "fact"
    is_isa: bool
    confidence: Share = 1.0
    source: Source = Source.OPERATOR
    channel: Channel | None = None  # by the source where none is given
    agent: AgentName = ""
    is_corroborated: bool = False
    said_at: Time | None = None
    last_confirmed: Time | None = None

    @property
    def triple(self) -> Triple:
        return Triple(self.concept, self.parent, self.dimension, self.is_isa)


class DecidedLine(_TripleLine):
    """A ruling."""

    kind: Literal["decided"] = "decided"
    decision: DecidedTriple.Kind
    moved_to: Name | None = None
    agents: list[AgentName] = []
    conversation: Digest = ""
    decided_at: Time


class ConflictLine(_TripleLine):
    """A statement that waits for a decision: against the parent ``against``, which is its own where it takes the fact
    back; or, as the last step of a cycle, against the fact about ``blocking``."""

    kind: Literal["conflict"] = "conflict"
    is_isa: bool
    collision: CollisionType
    against: Name | None = None
    blocking: Name | None = None
    confidence: Share
    source: Source
    channel: Channel | None = None  # by source and role where none is given
    agent: AgentName = ""
    role: Annotated[str, Field(max_length=16), NoNull] = ""
    conversation: Digest = ""
    evidence: Annotated[str, Field(max_length=500), NoNull] = ""
    priority: SmallInteger = 0
    said_at: Time
    queued_at: Time

    @model_validator(mode="after")
    def _refuse_one_side(self) -> Self:
        if (self.against == self.parent) != (self.collision == CollisionType.RETRACTION):
            if self.collision == CollisionType.RETRACTION:
                raise ValueError("a retraction is against the very parent that it names")
            raise ValueError(f"{self.parent} cannot be in conflict with itself")
        if self.against is None and self.collision != CollisionType.CYCLE:
            raise ValueError('"against" is missing: only a cycle has none')
        return self


Line = DimensionLine | ConceptLine | AliasLine | FactLine | DecidedLine | ConflictLine
LINES: Final[Mapping[str, type[Line]]] = {
    "dimension": DimensionLine,
    "concept": ConceptLine,
    "alias": AliasLine,
    "fact": FactLine,
    "decided": DecidedLine,
    "conflict": ConflictLine,
}
_ADAPTER: Final[TypeAdapter[Line]] = TypeAdapter(Annotated[Line, Field(discriminator="kind")])


# --- writing ---


def format_header(counts: Mapping[str, int]) -> bytes:
    """The first line. ``counts``: how many lines of each kind follow."""
    return orjson.dumps({"format": FORMAT, "version": VERSION, "counts": dict(counts)}) + b"\n"


def format_line(kind: str, values: Iterable[Any]) -> bytes:
    """A line of this kind. ``values``: of all its keys in their order, the kind left out."""
    keys = [key for key in LINES[kind].model_fields if key != "kind"]
    return orjson.dumps({"kind": kind} | dict(zip(keys, values, strict=True)), option=orjson.OPT_UTC_Z) + b"\n"


# --- reading ---


def read(file: BinaryIO) -> Iterator[tuple[int, Line | Mistake | Miscount]]:
    """The lines after the header with their numbers, from the beginning of the file on, one by one. If there are more
    or fewer than it says, a Miscount is last. Raises UnreadableFile."""
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
    """The lines that are not blank; None for one that is too long, which is never in memory as a whole."""
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
    """How many lines follow; None if the header does not say."""
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
    """The first mistake in words."""
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
