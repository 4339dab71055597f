"""Keeps a cache's facts that hold for their speaker alone in step with the table of candidates."""

from typing import Final

from memory.cache.loader import SOAS, all_rows, batches
from memory.cache.own_facts import OwnFacts
from memory.cache.state import Cache
from memory.channels import Channel
from memory.db.connections import Connection
from memory.types import EdgeRow, SoasRow

OWN: Final = """
    SELECT waits.id, for_speaker, for_person, concept.id, parent.id, dim.id, waits.is_isa, confidence,
        extract(epoch FROM last_said_at)::float8, coalesce(is_additive, false)
    FROM edge_candidate AS waits
    JOIN soas AS concept ON concept.token = waits.concept
    JOIN soas AS parent ON parent.token = waits.parent
    JOIN soas AS dim ON dim.token = waits.dimension
    LEFT JOIN dimension ON dimension.id = dim.id
    WHERE state = 'open' AND for_speaker <> ''
"""


class OwnFactsFollower:
    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def load(self, connection: Connection) -> None:
        found = OwnFacts()
        async for rows in batches(connection, OWN):
            for row in rows:
                _put(found, *row)
        await self._read_words(connection, found)
        self._cache.own_facts = found

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        own = self._cache.own_facts
        rows = await all_rows(connection, OWN + " AND waits.id = ANY(%s)", keys)
        for key in keys:
            own.drop(key)
        for row in rows:
            _put(own, *row)
        await self._read_words(connection, own)

    async def _read_words(self, connection: Connection, own: OwnFacts) -> None:
        """Read the words that only such facts have, which the cache does not load otherwise."""
        missing = [word for word in own.words if word not in self._cache.soas_by_id]
        rows = await all_rows(connection, SOAS + "WHERE id = ANY(%s)", missing) if missing else []
        for row_id, token, *facts in rows:
            self._cache.renew_soas(token, SoasRow(row_id, *facts))


def _put(
    own: OwnFacts, row_id: int, agent: str, person: str, concept: int, parent: int, dim: int, is_isa: bool,
    confidence: float, said_at: float, is_additive: bool,
) -> None:  # fmt: skip
    edge = EdgeRow(
        concept, parent, dim, is_isa, confidence, "inferred", said_at, Channel.UNSURE.value, agent=agent,
        is_additive=is_additive,
    )  # fmt: skip
    own.put(row_id, (agent, person), edge)
