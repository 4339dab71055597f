"""Keep parts of a cache in step with tables, row by row: the state of projects, and facts that hold for their speaker
alone."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from memory.cache.loader import Pace, all_rows, batches, read_missing_words
from memory.cache.own_facts import OwnFacts
from memory.cache.project_states import ProjectStates
from memory.cache.state import Cache
from memory.channels import Channel
from memory.db.connections import Connection
from memory.types import EdgeRow, StateRow

STATES: Final = "SELECT id, project_id, category, key, value, is_disputed FROM project_state WHERE status = 'active'"
OWN_FACTS: Final = """
    SELECT waits.id, for_speaker, for_person, concept.id, parent.id, dim.id, waits.is_isa, confidence,
        extract(epoch FROM last_said_at)::float8, coalesce(is_additive, false)
    FROM edge_candidate AS waits
    JOIN soas AS concept ON concept.token = waits.concept
    JOIN soas AS parent ON parent.token = waits.parent
    JOIN soas AS dim ON dim.token = waits.dimension
    LEFT JOIN dimension ON dimension.id = dim.id
    WHERE state = 'open' AND for_speaker <> ''
"""


class Follower(Protocol):
    """A copy of one table."""

    async def load(self, connection: Connection) -> None:
        """Read the whole table."""

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        """Read these rows again."""


class RowFollower:
    """Puts the rows of a query into a part of the cache, and drops those that are gone. ``put`` takes a row's columns;
    ``key``: the query's name of the first of them."""

    def __init__(self, part: OwnFacts | ProjectStates, query: str, put: Callable[..., None], key: str = "id") -> None:
        self._part, self._query, self._put, self._key = part, query, put, key
        self._refreshed: set[int] = set()  # since a load began: what the load reads may be older

    async def load(self, connection: Connection) -> None:
        self._refreshed, met, pace = set(), set[int](), Pace()
        async for rows in batches(connection, self._query):
            for row in rows:
                met.add(row[0])
                if row[0] not in self._refreshed:
                    self._put(*row)
                await pace.step()
        for row_id in self._part.ids - met - self._refreshed:
            self._part.drop(row_id)

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        rows = await all_rows(connection, f"{self._query} AND {self._key} = ANY(%s)", keys)
        self._refreshed.update(keys)
        for row_id in keys:
            self._part.drop(row_id)
        for row in rows:
            self._put(*row)


def follow_states(states: ProjectStates) -> RowFollower:
    def put(row_id: int, project: int, *columns: Any) -> None:
        states.put(project, StateRow(row_id, *columns))

    return RowFollower(states, STATES, put)


class OwnFactsFollower(RowFollower):
    def __init__(self, cache: Cache) -> None:
        super().__init__(cache.own_facts, OWN_FACTS, self._put_fact, key="waits.id")
        self._cache = cache

    async def load(self, connection: Connection) -> None:
        await super().load(connection)
        await read_missing_words(self._cache, connection, self._cache.own_facts.words)

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        await super().refresh(connection, keys)
        await read_missing_words(self._cache, connection, self._cache.own_facts.words)

    def _put_fact(
        self, row_id: int, agent: str, person: str, concept: int, parent: int, dim: int, is_isa: bool,
        confidence: float, said_at: float, is_additive: bool,
    ) -> None:  # fmt: skip
        edge = EdgeRow(
            concept, parent, dim, is_isa, confidence, "inferred", said_at, Channel.UNSURE.value, agent=agent,
            is_additive=is_additive,
        )  # fmt: skip
        self._cache.own_facts.put(row_id, (agent, person), edge)
