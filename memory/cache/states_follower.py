"""Keeps a cache's project states in step with their table."""

from typing import Any, Final

from memory.cache.loader import Pace, all_rows, batches
from memory.cache.project_states import ProjectStates
from memory.cache.state import Cache
from memory.db.connections import Connection
from memory.recall.state_lines import show_state

HOLDING: Final = "SELECT id, project_id, category, key, value, is_disputed FROM project_state WHERE status = 'active'"


class StatesFollower:
    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._refreshed: set[int] = set()  # since a load began: what the load reads may be older

    async def load(self, connection: Connection) -> None:
        self._refreshed, states, pace = set(), ProjectStates(), Pace()
        async for rows in batches(connection, HOLDING + " ORDER BY id"):
            for row in rows:
                _put(states, *row)
                await pace.step()
        for row_id in self._refreshed:
            states.take(row_id, self._cache.states)
        self._cache.states = states

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        rows = await all_rows(connection, HOLDING + " AND id = ANY(%s) ORDER BY id", keys)
        self._refreshed.update(keys)
        for row_id in set(keys).difference(row[0] for row in rows):
            self._cache.states.drop(row_id)
        for row in rows:
            _put(self._cache.states, *row)


def _put(
    states: ProjectStates, row_id: int, project: int, category: str, key: str, value: str, is_disputed: Any
) -> None:
    states.put(project, key, show_state(row_id, category, key, value, is_disputed=is_disputed))
