"""The types that all of memory shares: messages, triples, and the rows of the cache. Times are seconds since the epoch;
None is never."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from memory.voice import Voice

TYPE = "type"
MEMBERSHIP = "membership"
GEOGRAPHY = "geography"
# How the facts of a block are written.
Style = Literal["compact", "sentences"]
# In place of a dimension, and not a word: the concept of the triple is another name of its parent.
NAMES = "="

# name, question, is_isa
SEED_DIMENSIONS = (
    ("type", "What kind of thing is this?", True),
    ("membership", "What system or project does this belong to?", False),
    ("runs-on", "What infrastructure hosts or executes this?", False),
    ("tech", "What technology stack is it built with?", False),
    ("owned-by", "Who is responsible for this?", False),
    ("geography", "Where is this spatially or organisationally located?", False),
    ("uses", "What does this use?", False),
)
ADDITIVE_SEEDS = frozenset({"uses"})  # those that keep all


class Message(NamedTuple):
    """One message of a prompt. ``role`` as the client named it: system, user, assistant, tool. ``voice``: the strongest
    in which anything of it can be said; ``person``: its speaker, if a request has words of several."""

    role: str
    text: str
    voice: Voice = Voice.SHARED
    person: str = ""

    @property
    def is_quoted(self) -> bool:
        """True if nothing shows that its role has said it."""
        return self.voice in (Voice.QUOTED, Voice.NOBODYS)


Span = tuple[int, int]  # start and end of a part of a text, in characters
Slot = tuple[int, int]  # the ids of a concept and a dimension: room for one fact, or for many where all is kept
# The room for one fact: a slot or, in a dimension that keeps all, one parent's part of it.
Place = Slot | tuple[int, int, int]


def place_of(concept_id: int, dim_id: int, parent_id: int, *, is_additive: bool) -> Place:
    return (concept_id, dim_id, parent_id) if is_additive else (concept_id, dim_id)


class TripleIds(NamedTuple):
    concept_id: int
    dim_id: int
    parent_id: int

    @property
    def slot(self) -> Slot:
        return self.concept_id, self.dim_id


@dataclass(slots=True)
class SoasRow:
    """A token of the vocabulary. Counts and times change while the process runs."""

    id: int
    encounter_count: int = 0
    saliency: float = 0.0
    novelty: float = 0.0
    is_common: bool = False
    is_muted: bool = False
    last_seen: float | None = None
    asked_count: int = 0
    asked_at: float | None = None
    label: str = ""  # as it is typed, if that is not the token
    load: int = 0  # the last full load that met it

    def keep_ahead(self, old: "SoasRow") -> None:
        """Take from ``old`` what this process knows ahead of Postgres: later times, questions, encounters."""
        self.asked_count = max(self.asked_count, old.asked_count)
        self.last_seen = max(self.last_seen or 0.0, old.last_seen or 0.0) or None
        self.asked_at = max(self.asked_at or 0.0, old.asked_at or 0.0) or None
        self.load = max(self.load, old.load)
        self.encounter_count = max(self.encounter_count, old.encounter_count)
        self.saliency = 0.0 if self.is_common else max(self.saliency, old.saliency)


@dataclass(slots=True)
class EdgeRow:
    """A fact: the concept is IN the parent, in one dimension."""

    concept_id: int
    parent_id: int
    dim_id: int
    is_isa: bool
    confidence: float = 1.0
    source: str = "cloud_llm"
    last_confirmed: float | None = None
    channel: str = ""  # by the source if empty
    is_corroborated: bool = False
    agent: str = ""
    is_additive: bool = False  # its dimension keeps all
    said_at: float | None = None  # its newest statement, in seconds since the epoch

    @property
    def ids(self) -> TripleIds:
        return TripleIds(self.concept_id, self.dim_id, self.parent_id)

    @property
    def is_root(self) -> bool:
        return self.concept_id == self.parent_id == self.dim_id

    @property
    def place(self) -> Place:
        return place_of(self.concept_id, self.dim_id, self.parent_id, is_additive=self.is_additive)


class Ended(NamedTuple):
    """A fact that was current, or a claim that was not rejected, until then, in seconds since the epoch."""

    concept: str
    parent: str
    until: float


class StateRow(NamedTuple):
    """A value that operators have decided for a project under one key."""

    id: int
    category: str
    key: str
    value: str
    is_disputed: bool = False


NoteKind = Literal["memory", "episode"]


class NoteKey(NamedTuple):
    kind: NoteKind | Literal["state"]
    id: int


class NoteState(NamedTuple):
    """The present state of a memory or an episode that has changed since it may have been shown. ``text``: the whole,
    as ``make_harmless`` returns it; ``owner``: as in a ShownNote."""

    text: str
    is_disputed: bool
    owner: int = 0


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact in words: the concept is (``is_isa``), or is part of, the parent, in one dimension."""

    concept: str
    parent: str
    dimension: str
    is_isa: bool

    @property
    def is_naming(self) -> bool:
        return self.dimension == NAMES

    def __str__(self) -> str:
        if self.is_naming:
            return f"{self.concept} = {self.parent}"
        relation = "-isa" if self.is_isa else "-ispart"
        return f"{self.concept} {relation} {self.parent} in context of {self.dimension}"


DIGITS_MAX: Final = 18  # more than that fits no column


def whole_number(text: str) -> int | None:
    """Parse a whole number as an address or a form has it, the key of a row say; None if it is not one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX else None
