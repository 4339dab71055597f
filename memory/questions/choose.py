"""Chooses the unknown concepts of a prompt that are asked about: seldom, and only names that users speak of."""

from collections.abc import Sequence, Set
from typing import Final

from memory.attribution.prose import find_identifiers
from memory.cache.state import Cache
from memory.english.excerpts import CHARACTERS_PER_TOKEN
from memory.learning.reader import Reading, find_hidden, find_stated
from memory.questions.askable import read_spoken
from memory.recall.block import Block, render_questions
from memory.recall.facts import SalientConcept, by_priority
from memory.recall.mentions import Mentions

CONVERSATION_MAX: Final = 3  # questions in a conversation
# Of a prompt's messages that are searched for names, characters; the rest is read when it is sent again.
SEARCHED_MAX: Final = 8_000
# Of a conversation's budget: blocks stay in place, so early questions must leave room for later facts.
QUESTIONS_SHARE: Final = 1 / 3


def choose_askable(
    cache: Cache,
    unknown: Sequence[SalientConcept],
    mentions: Mentions,
    shown: Block,
    reasons: dict[str, str],
    why_not_ask: str = "",
) -> tuple[list[SalientConcept], int]:
    """Return the unknown concepts that may be asked about, in order of priority, with the names as they are written,
    and how many of them, beside what the prompt shows already. The reasons against the others are added to ``reasons``.
    ``why_not_ask``: why the agent may not be asked; empty if it may."""
    tuning, asked = cache.tuning, sum(len(render_questions([concept])) for concept in shown.questions)
    count = min(tuning.zero_hit_max, CONVERSATION_MAX - len(shown.questions))
    if count <= 0 or asked >= tuning.recollection_max_total_tokens * CHARACTERS_PER_TOKEN * QUESTIONS_SHARE:
        why_not_ask = why_not_ask or "asked enough in this conversation"
    if not tuning.zero_hit_max:
        why_not_ask = "questions are switched off"
    if why_not_ask:
        reasons |= dict.fromkeys((one.token for one in unknown), why_not_ask)
        return [], 0
    in_order = by_priority(unknown)
    # Maps each name of a concept to the concept's own.
    token_of = {name: one.token for one in in_order for name in (one.token, *cache.spellings.get(one.row.id, ()))}
    spoken = _find_spoken(cache, mentions.by_user, token_of.keys())
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
        (_find_identifiers(mentions.readings, names), "an identifier of code"),
        (find_stated(cache, mentions.readings, names), "stated in this prompt"),
    ):
        left_out |= {token_of[name]: reason for name in found}
    reasons |= dict.fromkeys((one.token for one in rest), "too many concepts") | left_out
    return [one._replace(written=written[one.token]) for one in first if one.token not in left_out], count


def _find_spoken(cache: Cache, by_user: Sequence[Reading], names: Set[str]) -> dict[str, str]:
    """Return the unknown names of which the messages with these names speak, the newest as far as there is room; each
    message is searched once."""
    found: dict[str, str] = {}
    room = SEARCHED_MAX
    for reading in reversed(by_user):
        if reading.spoken is None and room > 0 and not names.isdisjoint(reading.names):
            room -= len(reading.text)
            reading.spoken = read_spoken(cache, reading.text[:SEARCHED_MAX])
            reading.measure()
        found = (reading.spoken or {}) | found
    return found


def _find_identifiers(readings: Sequence[Reading], names: Set[str]) -> set[str]:
    """Return the names that the prompt's code uses for itself."""
    found: set[str] = set()
    room = SEARCHED_MAX
    for reading in reversed(readings):
        if room > 0 and not names.isdisjoint(reading.names):
            room -= len(reading.text)
            found |= find_identifiers(reading.text[:SEARCHED_MAX], is_code=reading.role == "tool")
    return found & names
