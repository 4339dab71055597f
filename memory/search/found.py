"""Found texts, by kinds, and the answer to whoever searched, within a budget: the answer is part of a prompt, too."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from memory.english.excerpts import CHARACTERS_PER_TOKEN, cut_around, find_content_words, make_harmless
from memory.memories.episodes import cut_out
from memory.timing import is_dated
from memory.types import TripleIds

Kind = Literal["memory", "episode", "fact"]
Types = Literal["memories", "episodes", "facts", "both"]

KINDS: Final[Mapping[Types, Sequence[Kind]]] = {
    "both": ("fact", "memory", "episode"),
    "memories": ("memory",),
    "episodes": ("episode",),
    "facts": ("fact", "memory"),
}
FOREVER: Final = 4e10  # seconds since the epoch
QUERY_CHARACTERS: Final = 2_000  # of a query; what is longer is cut
ANSWER_TOKENS: Final = 400
EXCERPT_MAX: Final = 400  # characters of one text
EXCERPT_MIN: Final = 60  # less tells nothing


class Found(NamedTuple):
    """A memory, an episode or a fact. ``said_at`` in seconds since the epoch (memory.timing.is_dated tells
    whether that is known). ``quoted``: start and end of each quotation in the text. ``similarity`` to the query and
    ``score`` are from 0 to 1; ``floor``: the similarity from which on a prompt is given it, None where that does not
    decide; ``is_weak``: it may well have nothing to do with the query; ``unfit_for``: messages, by their ids, into
    prompts like which it is not to be injected."""

    kind: Kind
    id: int
    text: str
    confidence: float
    said_at: float
    agent: str
    role: str
    channel: str
    category: str
    is_disputed: bool = False
    quoted: tuple[int, ...] = ()
    slot: str = ""
    fact: TripleIds | None = None
    score: float = 0.0
    similarity: float = 0.0
    is_weak: bool = False
    floor: float | None = None
    unfit_for: tuple[int, ...] = ()

    @property
    def own_text(self) -> str:
        """The speaker's own words, without quotations."""
        return cut_out(self.text, self.quoted)


class ChanceLikeness(NamedTuple):
    """Mean and standard deviation (over 0) of the cosine between unrelated texts, as one embedder sees them."""

    mean: float
    deviation: float

    def at(self, deviations: float) -> float:
        """Return the cosine that lies so many deviations above the mean."""
        return self.mean + deviations * self.deviation


def cut_query(text: str) -> str:
    return text.replace("\0", "")[:QUERY_CHARACTERS]


def answer_search(query: str, found: Iterable[Found], tokens: int = ANSWER_TOKENS) -> dict[str, Any]:
    """`{"items": [...], "count": n}`, the best first, all of it in at most so many tokens. Of a long text what stands
    around the words of the query is told."""
    room = tokens * CHARACTERS_PER_TOKEN - len('{"items": [], "count": 10}')
    items: list[dict[str, Any]] = []
    wanted = find_content_words(query)
    for one in found:
        item = _item(one)
        left = min(EXCERPT_MAX, room - _length(item | {"text": ""}))
        if left < min(EXCERPT_MIN, len(one.text)):
            break
        item["text"] = cut_around(make_harmless(one.text), wanted, left)
        if _length(item) > room:  # what JSON spells in more characters
            break
        room -= _length(item)
        items.append(item)
    return {"items": items, "count": len(items)}


def _item(one: Found) -> dict[str, Any]:
    at = datetime.fromtimestamp(one.said_at, UTC).isoformat(timespec="seconds") if is_dated(one.said_at) else None
    item: dict[str, Any] = {
        "kind": one.kind,
        "id": one.id,
        "text": one.text,
        "confidence": round(one.confidence, 2),
        "timestamp": at,
        "agent": one.agent,
        "score": round(one.score, 3),
        # Not everything that is found is a user's own word: who reads it has to know.
        "said_by": one.role or one.channel,
    }
    if one.is_disputed:
        item["disputed"] = True
    if one.is_weak:
        item["weak"] = True
    return item


def _length(item: dict[str, Any]) -> int:
    return len(json.dumps(item, ensure_ascii=False)) + len(", ")
