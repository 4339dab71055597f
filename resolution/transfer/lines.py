"""The lines of an exported file: a model for each kind, with its keys in the order of the export
(docs/interchange.md)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from memory.channels import Channel
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
LINES: Final[Mapping[str, type[Line]]] = {
    "dimension": DimensionLine,
    "concept": ConceptLine,
    "alias": AliasLine,
    "fact": FactLine,
    "decided": DecidedLine,
    "project": ProjectLine,
    "state": StateLine,
    "memory": MemoryLine,
    "episode": EpisodeLine,
}
