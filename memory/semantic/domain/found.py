"""What a search has found, and what is told of it to whoever asked, within a budget: an answer stands in a prompt,
too."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from memory.domain.recall.notes import cut_around, find_content_words, make_harmless
from memory.domain.recall.rendering import CHARACTERS_PER_TOKEN
from memory.domain.timing import is_dated

FoundKind = Literal["memory", "episode"]
Types = Literal["memories", "episodes", "both"]

LEAST_CONFIDENCE: Final = 0.3  # of what is given on request
LEAST_CONFIDENCE_UNASKED: Final = 0.5  # of what is given by itself: it must be above
GIVEN_MAX: Final = 5  # of memories, and of episodes, by itself
ANSWER_TOKENS: Final = 400
EXCERPT_MAX: Final = 400  # characters of one text
EXCERPT_MIN: Final = 60  # less tells nothing


class Found(NamedTuple):
    """A memory or an episode. ``said_at`` in seconds since the epoch (memory.domain.timing.is_dated tells whether that
    is known). ``similarity`` to what was searched and ``score`` are from 0 to 1. ``earlier``: how many earlier ones,
    which this one stands for, say something else."""

    kind: FoundKind
    id: int
    text: str
    confidence: float
    said_at: float
    agent: str
    role: str
    channel: str
    category: str
    score: float
    similarity: float
    is_disputed: bool
    earlier: int


class Related(NamedTuple):
    """What belongs to a prompt; each the best first."""

    memories: Sequence[Found]
    episodes: Sequence[Found]


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
    if one.earlier:
        item["earlier"] = one.earlier
    return item


def _length(item: dict[str, Any]) -> int:
    return len(json.dumps(item, ensure_ascii=False)) + len(", ")
