"""Signs of life, a row for each process: a dead one shows beside the living."""

import asyncio
import os
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

import psutil
import psycopg
from django.db import connection

from memory.db.connections import open_connection
from memory.models import Heartbeat

PULSE_S = 10.0
WRITE_S = 5.0
SILENT_KEPT = timedelta(hours=1)

GIVE_SIGN = """
    INSERT INTO heartbeat (name, host, pid, at) VALUES (%(name)s, %(host)s, %(pid)s, clock_timestamp())
    ON CONFLICT (name, host, pid) DO UPDATE SET at = excluded.at
"""
FORGET_ENDED = "DELETE FROM heartbeat WHERE name = %(name)s AND host = %(host)s AND NOT pid = ANY(%(living)s)"
FORGET = "DELETE FROM heartbeat WHERE name = %(name)s AND host = %(host)s AND pid = %(pid)s"


@dataclass(frozen=True)
class Process:
    """A process. Without ``host`` and ``pid`` it is a part of which there is only one, wherever it runs."""

    name: str
    host: str = ""
    pid: int = 0

    @classmethod
    def this(cls, name: str) -> "Process":
        return cls(name, socket.gethostname(), os.getpid())


# Rows that an earlier process of this machine has left are recognised by the pid.
LIVELY_WORKERS = """
    SELECT host, pid FROM heartbeat
    WHERE name = %s AND at > clock_timestamp() - 1.5 * make_interval(secs => %s)
"""
LOOK_AGAIN_S = 0.1


def give_sign(process: Process) -> None:
    """Store a sign of life. Raises django.db.Error."""
    _execute(GIVE_SIGN, process)


def forget_ended(process: Process) -> None:
    """Delete the rows of the processes that this one replaces: of its part, on its machine, and not running any more.
    Raises django.db.Error."""
    # Only called at the start: later such a row shows that a process died.
    _execute(FORGET_ENDED, process, living=psutil.pids())


def forget(process: Process) -> None:
    """Delete the row of a process that ends normally. Raises django.db.Error."""
    _execute(FORGET, process)


def prune_silent(now: datetime) -> int:
    """Delete the rows of processes that died long ago while others of their part live; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM heartbeat old WHERE at < %s"
            " AND EXISTS (SELECT FROM heartbeat young WHERE young.name = old.name AND young.at > old.at)",
            [now - SILENT_KEPT],
        )
        return cursor.rowcount


def _execute(query: str, process: Process, **more: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query, asdict(process) | more)


async def wait_for_worker(dsn: str) -> None:
    """Return when a worker gives signs of life, on any machine."""
    here = socket.gethostname()
    while True:
        with suppress(psycopg.Error, OSError):
            async with open_connection(dsn, "worker") as opened:
                while True:
                    cursor = await opened.execute(LIVELY_WORKERS, [Heartbeat.WORKER, PULSE_S])
                    if any(host != here or psutil.pid_exists(pid) for host, pid in await cursor.fetchall()):
                        return
                    await asyncio.sleep(LOOK_AGAIN_S)
        await asyncio.sleep(LOOK_AGAIN_S)


class ServerPulse:
    """The signs of life of a server process."""

    # Over connections of its own: Django's would block the event loop.

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._process = Process.this(Heartbeat.SERVER)

    async def run(self) -> None:
        await self._execute(FORGET_ENDED, living=psutil.pids())
        while True:
            await self._execute(GIVE_SIGN)
            await asyncio.sleep(PULSE_S)

    async def write_last(self) -> None:
        await self._execute(FORGET)

    async def _execute(self, query: str, **more: object) -> None:
        try:
            async with asyncio.timeout(WRITE_S), open_connection(self._dsn, "pulse") as opened:
                await opened.execute(query, asdict(self._process) | more)
        except (psycopg.Error, OSError):
            pass  # Postgres is away, or too slow (TimeoutError is an OSError): the row's age says so
