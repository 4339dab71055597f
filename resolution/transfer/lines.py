"""The exported file: JSON Lines in UTF-8, with a model for each kind of line, whose keys are in the order of the export
(docs/interchange.md)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Annotated, Any, BinaryIO, Final, Literal, Self, get_args

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

from memory.channels import Channel
from memory.english.phrases import format_count
from memory.english.spelling import find_spelling
from memory.english.tokenizer import is_name, parse_name
from memory.graph.fact_syntax import find_name_mistake
from memory.graph.statement import PERSON_MAX
from memory.memories.episodes import EpisodeText, shorten
from memory.memories.slots import SLOT_MAX
from memory.models import Dimension, Episode, Memory, Source
from memory.models.operating import SLUG
from memory.models.semantic import EPISODE_CHARACTERS
from memory.models.state import NAME, VALUE_CHARACTERS
from memory.secrets.redaction import mask_secrets
from memory.types import Triple
from resolution.memories.remarks import RemarkMistake, clean_text
from resolution.models import DecidedTriple

FORMAT: Final = "festinger"
VERSION: Final = 2
LINE_MAX_BYTES: Final = 1024 * 1024

_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
_SHOWN_MAX: Final = 80  # characters of a wrong value

# --- types of values ---


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
    if "\0" in text:  # Postgres cannot store it
        raise ValueError("must not contain the character U+0000")
    return text


def _convert_to_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be a time such as 2026-01-31T09:30:00Z") from None


def _check_remark(text: str) -> str:
    try:
        return clean_text(text)
    except RemarkMistake as mistake:
        raise ValueError(f"must be a sentence to remember: {mistake}") from None


Name = Annotated[str, AfterValidator(_check_name)]
Concept = Annotated[Name, AfterValidator(_refuse_grammar)]  # a name that facts can be about
NoNull = AfterValidator(_refuse_null)
AgentName = Annotated[str, Field(max_length=120), NoNull]
Digest = Annotated[str, Field(pattern=r"^(?:[0-9a-f]{2}){0,32}$")]  # in hexadecimal
Time = Annotated[AwareDatetime, AfterValidator(_convert_to_utc)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Slug = Annotated[str, Field(pattern=SLUG)]
Person = Annotated[str, Field(max_length=PERSON_MAX), NoNull]
SlotName = Annotated[str, Field(max_length=SLOT_MAX), NoNull]
StoredSentence = Annotated[str, AfterValidator(_check_remark)]  # as memories store it, with secrets masked
Opening = Annotated[str, Field(pattern=r"^(?:[0-9a-f]{32})?$")]  # of a conversation


# --- the graph ---


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def words(self) -> Iterator[str]:
        """Yield all tokens in the line."""
        for key in ("concept", "parent", "dimension", "split_from", "moved_to", "alias"):
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
    """A dimension. ``split_from`` is the dimension that was decomposed into this one and others."""

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
    is_muted: bool = False
    label: Annotated[str, Field(max_length=64)] = ""

    @model_validator(mode="after")
    def _refuse_other_names(self) -> Self:
        if self.label and find_spelling(self.label, self.concept) != self.label:
            raise ValueError(f"{self.label!r} does not spell {self.concept}")
        return self


class AliasLine(_Line):
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
    """A fact. Without times, it counts as said at the time of the import."""

    kind: Literal["fact"] = "fact"
    is_isa: bool
    confidence: Share = 1.0
    source: Source = Source.OPERATOR
    channel: Channel | None = None  # derived from the source if not given
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


# --- what was said ---


class ProjectLine(_Line):
    kind: Literal["project"] = "project"
    project: Slug
    name: Annotated[str, Field(min_length=1, max_length=120), NoNull]
    description: Annotated[str, NoNull] = ""
    is_open: bool = False


class StateLine(_Line):
    """An active value of project state."""

    kind: Literal["state"] = "state"
    project: Slug
    category: Annotated[str, Field(pattern=NAME)]
    key: Annotated[str, Field(pattern=NAME)]
    value: Annotated[str, Field(pattern=r"\S", max_length=VALUE_CHARACTERS), NoNull]
    set_by: Annotated[str, Field(max_length=120), NoNull] = ""
    reason: Annotated[str, NoNull] = ""
    set_at: Time | None = None


class MemoryLine(_Line):
    """A memory. Without a project it belongs to the shared one; without slots it gets those of its text."""

    kind: Literal["memory"] = "memory"
    project: Slug | None = None
    agent: Annotated[str, Field(min_length=1, max_length=120), NoNull]
    person: Person = ""
    text: StoredSentence
    category: Memory.Category | None = None
    status: Memory.Status = Memory.Status.ACTIVE
    confidence: Share = 1.0
    channel: Channel = Channel.OPERATOR
    slot: SlotName | None = None
    other_slot: SlotName = ""
    slot_version: Annotated[int, Field(ge=0, le=32767)] = 0
    evidence_count: Count = 1
    conversation: Opening = ""
    said_at: Time | None = None
    last_updated: Time | None = None
    archived_at: Time | None = None

    @model_validator(mode="after")
    def _refuse_other_status(self) -> Self:
        if self.holds and self.archived_at is not None:
            raise ValueError(f'a memory with the status {self.status} has no "archived_at"')
        return self

    @property
    def holds(self) -> bool:
        return self.status in (Memory.Status.ACTIVE, Memory.Status.CANDIDATE)


class EpisodeLine(_Line):
    """An episode. ``quoted`` holds the start and end, in characters, of each part that quotes others."""

    kind: Literal["episode"] = "episode"
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # the digest
    project: Slug | None = None
    agent: Annotated[str, Field(min_length=1, max_length=120), NoNull]
    person: Person = ""
    conversation: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    role: Episode.Role
    text: Annotated[str, Field(min_length=1, max_length=EPISODE_CHARACTERS), NoNull]
    quoted: list[int] = []
    said_at: Time

    @model_validator(mode="after")
    def _refuse_other_parts(self) -> Self:
        places = [0, *self.quoted, len(self.text)]
        if len(self.quoted) % 2 or places != sorted(places):
            raise ValueError('"quoted" must have the start and the end of each part, ascending')
        return self

    @property
    def said(self) -> EpisodeText:
        return mask_said(self.text, self.quoted)


def mask_said(text: str, quoted: Sequence[int]) -> EpisodeText:
    """Return the text with its secrets masked. ``quoted`` is as in an episode's line."""
    if mask_secrets(text) == text:
        return EpisodeText(text, tuple(zip(quoted[::2], quoted[1::2], strict=True)))
    pieces = [mask_secrets(text[start:end]) for start, end in pairwise([0, *quoted, len(text)])]
    ends = list(accumulate(map(len, pieces)))
    return shorten(EpisodeText("".join(pieces), tuple(zip(ends[:-1:2], ends[1::2], strict=True))))


Line = (
    DimensionLine | ConceptLine | AliasLine | FactLine | DecidedLine | ProjectLine | StateLine | MemoryLine
    | EpisodeLine
)  # fmt: skip
LINES: Final[Mapping[str, type[Line]]] = {line.model_fields["kind"].default: line for line in get_args(Line)}
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
