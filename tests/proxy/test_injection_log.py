"""Injections as one process writes them and another, or the same after a restart, reads them."""

import asyncio
import time
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from memory import bounds
from memory.db.connections import open_connection
from memory.recall.block import NOTHING, Block, ShownFact, ShownNote, ShownState
from proxy.formats.prefixes import SIZE
from proxy.models import Injection as InjectionRow
from proxy.prompts.block_log import RECENT, InjectionLog, read_injections
from proxy.prompts.blocks import Injection

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
    now = round(time.time(), 6)
    written = [
        Injection(b"c" * SIZE, BLOCK, now),
        Injection(b"c" * SIZE, NOTHING, now, b"a" * SIZE),
        Injection(b"c" * SIZE, NOTHING, now),
        Injection(b"m" * SIZE, Block(notes=NOTES), round(now + 0.000001, 6)),
    ]

    async def write_and_read() -> list[Injection]:
        log = InjectionLog(dsn)
        for injection in written:
            log.add(injection)
        await log.write()
        return await read_recent(dsn)

    assert asyncio.run(write_and_read()) == written


async def read_recent(dsn: str) -> list[Injection]:
    async with open_connection(dsn, "injections") as opened:
        return [injection async for injection in read_injections(opened, RECENT)]


def store(content: Any) -> None:
    InjectionRow.objects.create(place=b"p" * SIZE, block="B", content=content)


def test_a_row_without_a_kind_of_line_has_none_of_it(dsn: str) -> None:
    store({"facts": [], "questions": ["zorblat"]})

    [injection] = asyncio.run(read_recent(dsn))

    assert injection.block == Block("B", questions=("zorblat",))


@pytest.mark.parametrize(
    "content", [[], "x", {"facts": [[1]]}, {"notes": [["memory", 1, "x", "", False, 0, False, 7]]}]
)
def test_a_row_that_cannot_be_read_is_skipped_and_counted(dsn: str, content: Any) -> None:
    store(content)
    store({"questions": ["zorblat"]})
    before = bounds.count_bites()["unreadable_blocks"]

    [injection] = asyncio.run(read_recent(dsn))

    assert injection.block.questions == ("zorblat",)
    assert bounds.count_bites()["unreadable_blocks"] == before + 1
