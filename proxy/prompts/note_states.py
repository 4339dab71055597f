"""Keeps this process in step with the memories and episodes that its blocks show: which of them no longer
hold."""

from typing import Final

from memory.cache.loader import all_rows, in_slices
from memory.cache.state import Cache
from memory.db.connections import Connection
from memory.english.excerpts import make_harmless
from memory.memories.scope import Scope, Speaker
from memory.types import NoteKey, NoteKind, NoteState
from proxy.prompts.blocks import Blocks, list_notes

CHANGED_MAX: Final = 20_000  # of each kind; beyond that, only those that are shown somewhere are kept

STANDING: Final[dict[NoteKind, str]] = {
    "memory": "SELECT id, text, is_disputed, category, project_id, agent, person FROM memory"
    " WHERE id = ANY(%s) AND status = 'active' AND set_aside_at IS NULL",
    "episode": "SELECT id, text, false FROM episode WHERE id = ANY(%s) AND set_aside_at IS NULL",
}


class NoteFollower:
    """Follows the table of one kind of note."""

    def __init__(self, cache: Cache, blocks: Blocks, kind: NoteKind) -> None:
        self._cache = cache
        self._blocks = blocks
        self._kind = kind
        self._count = 0
        self._refreshed: set[NoteKey] = set()  # since a load began, which may read older states

    async def load(self, connection: Connection) -> None:
        """Read the states of all notes that are shown."""
        self._refreshed, changed, shown = set(), self._cache.changed_notes, set[int]()
        async for some in in_slices(self._blocks.list_versions()):
            shown.update(note.id for note in list_notes(some) if note.kind == self._kind)
        states = await self._read(connection, sorted(shown))
        known = states.keys() | self._refreshed
        for key in [key for key in changed if key.kind == self._kind and key not in known]:
            del changed[key]
        changed.update((key, state) for key, state in states.items() if key not in self._refreshed)
        self._count = len(states)

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        """Read the states of changed notes, even of those not shown: a search may have found one just before it
        changed."""
        states = await self._read(connection, keys)
        self._cache.changed_notes |= states
        self._refreshed |= states.keys()
        self._count += len(keys)
        if self._count > CHANGED_MAX:
            await self.load(connection)

    async def _read(self, connection: Connection, ids: list[int]) -> dict[NoteKey, NoteState | None]:
        states: dict[NoteKey, NoteState | None] = {NoteKey(self._kind, row_id): None for row_id in ids}
        for row_id, text, is_disputed, *whose in await all_rows(connection, STANDING[self._kind], ids) if ids else ():
            owner = 0
            if whose:
                category, project, agent, person = whose
                owner = Scope(Speaker(agent, person), project).number_owner(category)
            states[NoteKey(self._kind, row_id)] = NoteState(make_harmless(text), is_disputed, owner)
        return states
