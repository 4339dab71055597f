"""Counts the words of new messages in the vocabulary, which cannot grow without end."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from memory import bounds
from memory.cache.loader import all_rows
from memory.cache.state import Cache
from memory.db.connections import PAST, Connection, chunks, columns
from memory.graph.retention import VOCABULARY_MAX
from memory.learning.messages import NewMessage

# New words per statement. Over 2,000 in a notification would make every process reload everything.
WORDS_A_STATEMENT: Final = 1_500
NEW_WORDS_MAX: Final = 500  # in a message
# Pruning (memory/graph/retention.py) brings the vocabulary down to its maximum every hour; until then it may be larger.
ROOM_ABOVE: Final = 1.1  # times the maximum
COUNTED_EVERY_S: Final = 60.0  # a million rows take Postgres a tenth of a second

NEW_WORDS: Final = bounds.define("new_words", "messages with more new words than one may bring into the vocabulary")
NO_ROOM: Final = bounds.define("vocabulary", "messages whose new words found no room in the vocabulary")

STORED = "SELECT token FROM soas WHERE token = ANY(%s)"
COUNT = "SELECT count(*) FROM soas"
# Known words are updated and only new ones inserted: an upsert would use up a sequence value for every known word.
# A word that rises above a threshold is announced: until then no other process has it.
UPSERT = f"""
    WITH met AS (SELECT * FROM unnest(%s::text[], %s::int[], %s::float8[]) AS met (token, count, seen)),
    known AS (
        UPDATE soas SET
            encounter_count = soas.encounter_count + met.count,
            last_seen = least(greatest(soas.last_seen, {PAST.format("met.seen")}), now()),
            saliency = CASE WHEN is_common THEN 0 ELSE log(soas.encounter_count + met.count) END
        FROM met WHERE soas.token = met.token
        RETURNING soas.id, soas.saliency, log(greatest(soas.encounter_count - met.count, 1)) AS before
    ),
    added AS (
        INSERT INTO soas (token, encounter_count, last_seen, saliency)
        SELECT token, count, {PAST.format("seen")}, log(count) FROM met
        WHERE NOT EXISTS (SELECT FROM soas WHERE soas.token = met.token)
        ORDER BY token
        ON CONFLICT (token) DO UPDATE SET
            encounter_count = soas.encounter_count + excluded.encounter_count,
            last_seen = greatest(soas.last_seen, excluded.last_seen),
            saliency = CASE WHEN soas.is_common THEN 0 ELSE log(soas.encounter_count + excluded.encounter_count) END
        RETURNING soas.id, soas.saliency, 0::float8 AS before
    ),
    risen AS (
        SELECT id FROM (TABLE known UNION ALL TABLE added) AS counted, (SELECT %s::float8 AS least) AS threshold
        WHERE saliency >= least AND (before < least OR before = 0)
    )
    SELECT festinger_announce('soas', (SELECT array_agg(id::text) FROM risen))
"""


class VocabularyWriter:
    """Adds the words of messages to the table ``soas``."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._room = 0  # for new words
        self._count_at = 0.0  # when the rows are counted next, by the monotonic clock

    async def count_words(self, connection: Connection, new: Iterable[NewMessage]) -> None:
        """Add the words of new messages to their counts. Call it in a transaction in which no other worker counts."""
        messages = sorted(new, key=lambda message: message.at)
        stored = await self._find_stored(connection, messages)
        await self._measure_room(connection)
        counts: Counter[str] = Counter()
        last_seen: dict[str, float] = {}
        for message in messages:
            words = self._select_words(message, stored)
            if self._cache.alias_rows:  # another spelling is one more encounter with the concept
                words = list(set(map(self._cache.canonical, words)))
            counts.update(words)
            last_seen.update(dict.fromkeys(words, message.at))
        # Sorted, so that two statements never lock the same rows in opposite orders.
        rows = [(word, counts[word], last_seen[word]) for word in sorted(counts)]
        for chunk in chunks(rows, WORDS_A_STATEMENT):
            await connection.execute(UPSERT, [*columns(chunk, 3), self._cache.least_threshold])

    async def _find_stored(self, connection: Connection, messages: Sequence[NewMessage]) -> set[str]:
        """Return the words that the table has and this process has not."""
        unknown = set().union(*(message.read.words for message in messages))
        stored: set[str] = set()
        for some in chunks(unknown - self._cache.soas_by_token.keys(), WORDS_A_STATEMENT):
            stored.update(token for (token,) in await all_rows(connection, STORED, some))
        return stored

    async def _measure_room(self, connection: Connection) -> None:
        if time.monotonic() >= self._count_at:
            [(count,)] = await all_rows(connection, COUNT)
            self._room = round(VOCABULARY_MAX * ROOM_ABOVE) - count
            self._count_at = time.monotonic() + COUNTED_EVERY_S

    def _select_words(self, message: NewMessage, stored: set[str]) -> list[str]:
        """Return the words of the message that are counted: those that are stored, and as many new ones as may be
        added."""
        words = sorted(message.read.words)
        new = [word for word in words if word not in stored and word not in self._cache.soas_by_token]
        allowed = max(0, min(NEW_WORDS_MAX, self._room))
        if len(new) > allowed:
            (NO_ROOM if allowed < NEW_WORDS_MAX else NEW_WORDS).count_hit(words=len(new), stored=allowed)
            emphasised = message.read.emphasised
            new.sort(key=lambda word: word not in emphasised)
            left_out = set(new[allowed:])
            words = [word for word in words if word not in left_out]
        stored.update(new[:allowed])
        self._room -= min(len(new), allowed)
        return words
