"""Which unknown concepts of a prompt are asked about: seldom, and only names that users speak of."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Final

from memory import known_words
from memory.cache.state import Cache
from memory.domain.recall.askable import may_be_asked
from memory.domain.recall.rendering import Block
from memory.domain.recall.selection import SalientConcept, by_priority
from memory.domain.steps import finish
from memory.learning.reader import Reading, find_hidden, find_stated
from memory.learning.speech import Speech, read_speech
from memory.recall.mentions import Mentions
from memory.settings.registry import Tuning

# Of messages that are only read as far as the prompt waits for it: characters in all, and names that are looked for.
# What lies beyond is known when they are resent.
UNREAD_MAX: Final = 8_000
FRESH_MAX: Final = 20
# Of a conversation's budget: blocks stay where they are, so early questions must leave room for later facts.
QUESTIONS_SHARE: Final = 1 / 3


@dataclass(frozen=True, slots=True)
class Asking:
    """``refusal`` says why this agent is asked nothing; empty where it may be. ``asked``: the concepts that its
    conversation was asked about."""

    refusal: str = ""
    asked: frozenset[str] = frozenset()

    def count_allowed(self, tuning: Tuning, shown: Block) -> tuple[int, str]:
        """How many questions there may be now, beside what the prompt shows already, and why there are none."""
        left = tuning.questions_per_conversation_max - len(self.asked)
        if not tuning.zero_hit_max:
            return 0, "questions are switched off"
        has_no_room = shown.question_tokens >= tuning.recollection_max_total_tokens * QUESTIONS_SHARE
        if self.refusal or left <= 0 or has_no_room:
            return 0, self.refusal or "asked enough in this conversation"
        return min(tuning.zero_hit_max, left), ""


ANYBODY: Final = Asking()


def choose_askable(
    cache: Cache, unknown: Sequence[SalientConcept], mentions: Mentions, count: int, reasons: dict[str, str]
) -> list[SalientConcept]:
    """Those of the unknown concepts that may be asked about, in order of priority, with the names as they are written;
    a few more than ``count``. Why the others are not is added to ``reasons``."""
    in_order = by_priority(unknown)
    # By each name that a concept goes by, the concept's own.
    token_of = {name: one.token for one in in_order for name in (one.token, *cache.spellings.get(one.row.id, ()))}
    heard: dict[int, Speech] = {}  # of messages that are not read yet, by identity: each is looked at once
    spoken = _find_spoken(cache, token_of.keys(), mentions.by_user, heard)
    written = {token: spoken.get(token, token) for name, token in token_of.items() if name in spoken}
    reasons |= dict.fromkeys(
        (one.token for one in in_order if one.token not in written), "no name that a user speaks of"
    )
    candidates = [one for one in in_order if one.token in written]
    first, rest = candidates[: 2 * count], candidates[2 * count :]  # for these few, more is found out
    few = {one.token for one in first}
    names = {name for name, token in token_of.items() if token in few}
    left_out: dict[str, str] = {}
    for found, reason in (
        (find_hidden(mentions.readings, names), "part of a secret"),
        (_find_identifiers(cache, mentions.readings, names, heard), "an identifier of code"),
        (find_stated(mentions.readings, names), "stated in this prompt"),
    ):
        left_out |= {token_of[name]: reason for name in found}
    reasons |= dict.fromkeys((one.token for one in rest), "too many concepts") | left_out
    return [one._replace(written=written[one.token]) for one in first if one.token not in left_out]


def _find_spoken(
    cache: Cache, tokens: Collection[str], by_user: Sequence[Reading], heard: dict[int, Speech]
) -> dict[str, str]:
    spoken: dict[str, str] = {}
    for reading in by_user:
        if reading.speech.spoken:
            spoken |= reading.speech.spoken
    unread = [reading for reading in reversed(by_user) if reading.text]
    names: set[str] = set().union(*(reading.names for reading in unread)) if unread else set()
    fresh = (token for token in tokens if token in names and token not in spoken)
    wanted = set(islice((token for token in fresh if may_be_asked(token, cache, known_words)), FRESH_MAX))
    room = UNREAD_MAX
    for reading in unread if wanted else ():
        if room > 0 and not wanted.isdisjoint(reading.names):
            speech = heard[id(reading)] = finish(read_speech(cache, reading.role, reading.text[:room], wanted))
            spoken |= speech.spoken
            room -= len(reading.text)
    return spoken


def _find_identifiers(
    cache: Cache, readings: Sequence[Reading], tokens: Set[str], heard: Mapping[int, Speech]
) -> set[str]:
    """Those of the names that the prompt's code uses for itself."""
    if not tokens:
        return set()
    found: set[str] = set()
    room = UNREAD_MAX
    for reading in reversed(readings):
        found.update(reading.speech.identifiers.intersection(tokens))
        if reading.text and room > 0 and not reading.names.isdisjoint(tokens):
            speech = heard.get(id(reading))
            if speech is None:
                speech = finish(read_speech(cache, reading.role, reading.text[:room], tokens))
            found.update(speech.identifiers.intersection(tokens))
            room -= len(reading.text)
    return found
