"""Injections as one process writes them and another, or the same after a restart, reads them."""

import asyncio
import time

import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from memory.db.connections import open_connection
from memory.domain.recall.notes import ShownNote
from memory.domain.recall.project_state import ShownState
from memory.domain.recall.rendering import Block, ShownFact
from proxy.domain.prefixes import SIZE
from proxy.enrichment.injection_log import RECENT, Injection, InjectionLog, read_injections

FACT = ShownFact("gnommoweb", "type", "repo", True, ("service",))
NOTES = (
    ShownNote("memory", 2**40, "The user likes tea.", is_disputed=True),
    ShownNote("episode", 2, "We met.", "2026-03-04"),
)
STATES = (ShownState(2**40, "decision.material = PEEK", is_disputed=True),)
BLOCK = Block("<recollection>\ngnommoweb: [type?] repo\n</recollection>", (FACT,), ("zorblat",), NOTES, STATES)


@pytest.fixture
def dsn(transactional_db: None) -> str:
    return make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])


def test_what_is_written_is_read_as_it_was(dsn: str) -> None:
    now = float(int(time.time()))
    top = Injection(b"c" * SIZE, (b"k" * SIZE, b"l" * SIZE), b"", BLOCK, "Be kind.", now)
    asked = Injection(b"d" * SIZE, (b"d" * SIZE,), b"", Block(questions=("zorblat",)), None, now)
    taken_out = Injection(b"c" * SIZE, (), b"p" * SIZE, Block(""), None, now)
    kept = Injection(b"c" * SIZE, (), b"q" * SIZE, Block(notes=NOTES), None, now)

    async def write_and_read() -> list[Injection]:
        log = InjectionLog(dsn)
        log.add(top)
        log.add(asked)
        log.add(taken_out)
        log.add(kept)
        await log.write()
        async with open_connection(dsn, "injections") as opened:
            return [injection async for injection in read_injections(opened, RECENT)]

    assert asyncio.run(write_and_read()) == [top, asked, taken_out, kept]
