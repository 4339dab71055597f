"""Calls to a model of the upstream, which must never make a person wait: one at a time, only while no prompt is under
way, abandoned when one arrives.

Server processes write to ``heartbeat`` since when they are busy or idle, and notify BUSY when a prompt begins
(memory/running/heartbeats.py)."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from memory.db.connections import Connection, fetch_rows, open_connection
from memory.db.locks import Lock
from memory.llm.errors import Busy
from memory.models import Heartbeat

Result = TypeVar("Result")

BUSY: Final = "festinger_busy"  # the channel on which server processes tell that a prompt began
SILENT_S: Final = 5.0  # a process without a sign of life for so long counts as idle
# Seconds since the last prompt of all server processes ended: 0 while one is under way, NULL if there was none.
IDLE: Final = """
    SELECT min(CASE WHEN busy_since IS NULL THEN extract(epoch FROM clock_timestamp() - idle_since) ELSE 0 END)::float8
    FROM heartbeat WHERE name = %s AND at > clock_timestamp() - make_interval(secs => %s)
"""
ARGUMENTS: Final = (Heartbeat.SERVER, SILENT_S)
ALONE: Final = "SELECT pg_try_advisory_lock(%s, 0)"  # until the connection is closed
UNDER_WAY: Final = "A prompt is under way."
CAME: Final = "A prompt came: the call was abandoned."


def require_idle(idle_s: float) -> None:
    """Raise Busy unless the last prompt ended ``idle_s`` seconds ago."""
    [(seconds,)] = fetch_rows(IDLE, ARGUMENTS)
    _check(seconds, idle_s)


async def call(coroutine: Coroutine[Any, Any, Result], idle_s: float) -> Result:
    """Await the coroutine if the upstream is idle and nobody else calls it; cancel it when a prompt begins. Raises
    Busy."""
    try:
        async with _reserve(idle_s) as opened:
            asked = asyncio.ensure_future(coroutine)
            told = asyncio.ensure_future(anext(aiter(opened.notifies())))
            try:
                await asyncio.wait({asked, told}, return_when=asyncio.FIRST_COMPLETED)
                if asked.done():
                    return asked.result()
                raise Busy(CAME)
            finally:
                asked.cancel()
                told.cancel()
                await asyncio.gather(asked, told, return_exceptions=True)
    finally:
        coroutine.close()  # where it was never awaited


@asynccontextmanager
async def _reserve(idle_s: float) -> AsyncIterator[Connection]:
    """Yield a connection that listens for prompts and holds the lock of calls."""
    dsn = make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])  # the one that Django uses
    async with open_connection(dsn, "model call") as opened:
        await opened.execute(f"LISTEN {BUSY}")  # before the look, so that no prompt falls between them
        if await (await opened.execute(ALONE, [Lock.UPSTREAM_CALL])).fetchone() != (True,):
            raise Busy("Another call to a model of the upstream is under way.")
        row = await (await opened.execute(IDLE, ARGUMENTS)).fetchone()
        _check(row[0] if row else None, idle_s)
        yield opened


def _check(seconds: float | None, idle_s: float) -> None:
    if seconds is not None and seconds < idle_s:
        raise Busy(f"The last prompt ended {seconds:.0f} s ago; idle_s is {idle_s:g}." if seconds else UNDER_WAY)
