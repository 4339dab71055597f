"""Chooses the unknown concepts of a prompt that are asked about: seldom, and only names that users speak of."""

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Final

from memory import known_words
from memory.cache.state import Cache
from memory.domain.recall.askable import may_be_asked
from memory.domain.recall.rendering import Block
from memory.domain.recall.selection import SalientConcept, by_priority
from memory.learning.reader import Reading, find_hidden, find_stated
from memory.learning.speech import Speech, read_speech
from memory.recall.mentions import Mentions
from memory.settings.registry import Tuning

CONVERSATION_MAX: Final = 3  # questions in a conversation
# Limits on a prompt's messages that are searched for names, and on such names. The rest is read when it is resent.
LISTENED_MAX: Final = 8_000  # characters
FRESH_MAX: Final = 20
# Of a conversation's budget: blocks stay in place, so early questions must leave room for later facts.
QUESTIONS_SHARE: Final = 1 / 3


def count_allowed(tuning: Tuning, shown: Block, why_not_ask: str) -> tuple[int, str]:
    """Return how many questions are allowed now, beside what the prompt shows already, and why if there are none.
    ``why_not_ask``: why the agent may not be asked; empty if it may."""
    left = CONVERSATION_MAX - len(shown.questions)
    if not tuning.zero_hit_max:
        return 0, "questions are switched off"
    has_no_room = shown.question_tokens >= tuning.recollection_max_total_tokens * QUESTIONS_SHARE
    if why_not_ask or left <= 0 or has_no_room:
        return 0, why_not_ask or "asked enough in this conversation"
    return min(tuning.zero_hit_max, left), ""


def choose_askable(
    cache: Cache, unknown: Sequence[SalientConcept], mentions: Mentions, count: int, reasons: dict[str, str]
) -> list[SalientConcept]:
    """Return the unknown concepts that may be asked about, in order of priority, with the names as they are written; a
    few more than ``count``. The reasons against the others are added to ``reasons``."""
    in_order = by_priority(unknown)
    # Maps each name of a concept to the concept's own.
    token_of = {name: one.token for one in in_order for name in (one.token, *cache.spellings.get(one.row.id, ()))}
    room = _Room()
    spoken = _find_spoken(cache, token_of.keys(), mentions.by_user, room)
    written = {token: spoken.get(token, token) for name, token in token_of.items() if name in spoken}
    reasons |= dict.fromkeys(
        (one.token for one in in_order if one.token not in written), "no name that a user speaks of"
    )
    candidates = [one for one in in_order if one.token in written]
    first, rest = candidates[: 2 * count], candidates[2 * count :]  # these few are examined further
    few = {one.token for one in first}
    names = {name for name, token in token_of.items() if token in few}
    left_out: dict[str, str] = {}
    for found, reason in (
        (find_hidden(mentions.readings, names), "part of a secret"),
        (_find_identifiers(cache, mentions.readings, names, room), "an identifier of code"),
        (find_stated(cache, mentions.readings, names), "stated in this prompt"),
    ):
        left_out |= {token_of[name]: reason for name in found}
    reasons |= dict.fromkeys((one.token for one in rest), "too many concepts") | left_out
    return [one._replace(written=written[one.token]) for one in first if one.token not in left_out]


def _find_spoken(cache: Cache, tokens: Collection[str], by_user: Sequence[Reading], room: "_Room") -> dict[str, str]:
    spoken: dict[str, str] = {}
    for reading in by_user:
        spoken |= reading.speech.spoken
    fresh = (token for token in tokens if token not in spoken and may_be_asked(token, cache, known_words))
    wanted = frozenset(islice(fresh, FRESH_MAX))
    for reading in reversed(by_user) if wanted else ():
        spoken |= _listen(cache, reading, wanted, room).spoken
    return spoken


def _find_identifiers(cache: Cache, readings: Sequence[Reading], tokens: Set[str], room: "_Room") -> set[str]:
    """Return the names that the prompt's code uses for itself."""
    found: set[str] = set()
    for reading in reversed(readings) if tokens else ():
        found.update(_listen(cache, reading, tokens, room).identifiers.intersection(tokens))
    return found


@dataclass(slots=True)
class _Room:
    """The characters that may still be searched for one prompt."""

    left: int = LISTENED_MAX


def _listen(cache: Cache, reading: Reading, tokens: Set[str], room: _Room) -> Speech:
    """Return what the message shows of these names. Each name is looked for once, as far as there is room."""
    new = (reading.names & tokens) - reading.listened
    if new and room.left > 0:
        more = read_speech(cache, reading.role, reading.text[:LISTENED_MAX], new)
        room.left -= len(reading.text)
        reading.listened |= new
        reading.speech = reading.speech.join(more)
        reading.measure()
    return reading.speech
