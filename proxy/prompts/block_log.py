"""Stores in the table ``injection`` what each process put into prompts, for the others and for the time after a
restart."""

from collections.abc import AsyncIterator
from typing import Any

from memory import bounds
from memory.cache.loader import batches
from memory.db.connections import Connection
from memory.db.write_behind import RowQueue, WriteBehind
from memory.recall.block import Block, ShownFact, ShownNote, ShownState
from proxy import models
from proxy.prompts.blocks import Blocks, Injection
from proxy.telemetry import privacy

GATHER_S = 0.05  # rows that come within this time are written together; a client's next turn takes longer
LOADED_MAX = 200_000  # rows, the newest
UNREADABLE = bounds.define("unreadable_blocks", "stored blocks that cannot be read and were skipped")

READ = "SELECT place, answer, block, content, extract(epoch FROM at)::float8 FROM"
RECENT = f"""
    {READ} (
        SELECT * FROM injection WHERE at >= now() - interval '24 hours' ORDER BY id DESC LIMIT {LOADED_MAX}
    ) AS newest ORDER BY id
"""
SOME = f"{READ} injection WHERE id = ANY(%s) ORDER BY id"


class InjectionLog(WriteBehind):
    """Writes injections in the background, soon after they come."""

    def __init__(self, dsn: str) -> None:
        self._injections = RowQueue(models.Injection)
        super().__init__(dsn, "injections", GATHER_S, self._injections)

    def add(self, injection: Injection) -> None:
        if privacy.is_private():
            return  # this process keeps it for the conversation's next turns
        block = injection.block
        row = {
            "place": as_text(injection.place),
            "answer": as_text(injection.answer),
            "block": block.text,
            "content": {
                "facts": [tuple(fact) for fact in block.facts],
                "questions": block.questions,
                "notes": [tuple(note) for note in block.notes],
                "states": [tuple(state) for state in block.states],
            },
            "at": injection.at,
        }
        self.put(self._injections, row)


class InjectionFollower:
    """Keeps this process's blocks in step with the table."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks

    async def load(self, connection: Connection) -> None:
        """Read the recent injections, made by this process before its start, or by others."""
        async for injection in read_injections(connection, RECENT):
            self._blocks.remember(injection)

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        """Read the rows that were just announced."""
        async for injection in read_injections(connection, SOME, keys):
            self._blocks.remember(injection)


async def read_injections(
    connection: Connection, query: str, keys: list[int] | None = None
) -> AsyncIterator[Injection]:
    """Yield the injections that ``RECENT`` finds, or ``SOME`` with ids of rows, in the order in which they were
    written."""
    async for rows in batches(connection, query, keys):
        for place, answer, text, content, at in rows:
            try:
                block = read_block(text, content)
            except (TypeError, ValueError, AttributeError) as error:  # another version's, or a damaged one
                UNREADABLE.count_hit(why=type(error).__name__)
                continue
            yield Injection(bytes(place), block, at, bytes(answer))


def read_block(text: str, content: dict[str, Any]) -> Block:
    """Build a block from its row. A kind of line that the row does not have is empty."""
    shown = (ShownFact(*fact) for fact in content.get("facts", ()))
    facts = tuple(fact._replace(rivals=tuple(fact.rivals), labels=tuple(fact.labels)) for fact in shown)
    notes = tuple(ShownNote(*note) for note in content.get("notes", ()))
    states = tuple(ShownState(*state) for state in content.get("states", ()))
    return Block(text, facts, tuple(content.get("questions", ())), notes, states)


def as_text(value: bytes) -> str:
    """Return the value in the form in which Postgres reads ``bytea``."""
    return "\\x" + value.hex()
