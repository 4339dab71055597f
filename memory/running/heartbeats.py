"""Signs of life, a row for each process: a dead one shows beside the living."""

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import psutil
import psycopg
from django.db import connection
from psycopg.types.json import Jsonb

from memory.db.connections import KeptConnection, open_connection
from memory.llm.idle import BUSY
from memory.llm.types import LOADING
from memory.models import Heartbeat

PULSE_S = 10.0
SERVER_PULSE_S = 2.0  # less than half of what counts as silence (memory/llm/idle.py)
USES_MAX = 100  # models that are noted between two signs
NAME_MAX = 200  # characters of the column
KEEP_ALIVE_MAX = 20  # characters: a number of seconds, or a duration such as 1h30m
WRITE_S = 5.0
SILENT_KEPT = timedelta(hours=1)

GIVE_SIGN = """
    INSERT INTO heartbeat (name, host, pid, at) VALUES (%(name)s, %(host)s, %(pid)s, clock_timestamp())
    ON CONFLICT (name, host, pid) DO UPDATE SET at = excluded.at
"""
# For a server process, which also tells since when it answers prompts, or does not.
GIVE_SIGN_OF_SERVER = """
    INSERT INTO heartbeat (name, host, pid, at, busy_since, idle_since) VALUES (
        %(name)s, %(host)s, %(pid)s, clock_timestamp(), clock_timestamp() - make_interval(secs => %(busy_s)s),
        clock_timestamp() - make_interval(secs => %(idle_s)s))
    ON CONFLICT (name, host, pid)
        DO UPDATE SET at = excluded.at, busy_since = excluded.busy_since, idle_since = excluded.idle_since
"""
TELL_BUSY = f"SELECT pg_notify('{BUSY}', '')"
NOTE_USE = """
    INSERT INTO upstream_model (name, options, keep_alive) VALUES (%(model)s, %(options)s, %(keep_alive)s)
    ON CONFLICT (name)
        DO UPDATE SET options = excluded.options, keep_alive = excluded.keep_alive, used_at = clock_timestamp()
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


class Use(NamedTuple):
    """The options with which a client has a model of the upstream loaded: fields of its prompt, unchecked."""

    model: str
    options: object
    keep_alive: object


class ServerPulse:
    """The signs of life of a server process, and whether it answers prompts: models of the upstream wait for that."""

    # Over a connection of its own: Django's would block the event loop.

    def __init__(self, dsn: str) -> None:
        self._connection = KeptConnection(dsn, "pulse")
        self._process = Process.this(Heartbeat.SERVER)
        self._under_way = 0  # prompts
        self._changed_at: float | None = None  # when the first of them began, or the last ended, on the monotonic clock
        self._has_begun = asyncio.Event()
        self._uses: dict[str, Use] = {}  # since the last sign, by the model's name

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a prompt as under way until the context ends."""
        self._under_way += 1
        if self._under_way == 1:
            self._changed_at = time.monotonic()
            self._has_begun.set()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._changed_at = time.monotonic()

    def note_use(self, use: Use) -> None:
        """Note how a client uses a model of the upstream, to be stored with the next sign."""
        if len(use.model) <= NAME_MAX and (use.model in self._uses or len(self._uses) < USES_MAX):
            self._uses[use.model] = use

    async def run(self) -> None:
        await self._execute(FORGET_ENDED, living=psutil.pids())
        while True:
            if self._has_begun.is_set():
                self._has_begun.clear()
                await self._execute(TELL_BUSY)
            is_busy, since = self._under_way > 0, self._changed_at
            seconds = time.monotonic() - since if since is not None else None
            await self._execute(
                GIVE_SIGN_OF_SERVER, busy_s=seconds if is_busy else None, idle_s=None if is_busy else seconds
            )
            await self._write_uses()
            # While it is stored as busy, no call begins, and a prompt that begins need not be told at once.
            with suppress(TimeoutError):
                async with asyncio.timeout(SERVER_PULSE_S):
                    await (asyncio.sleep(SERVER_PULSE_S) if is_busy else self._has_begun.wait())

    async def _write_uses(self) -> None:
        uses, self._uses = [*self._uses.values()], {}
        for use in uses:
            named = use.options if isinstance(use.options, dict) else {}
            options = {key: value for key, value in named.items() if key in LOADING and isinstance(value, int | float)}
            stays = use.keep_alive[:KEEP_ALIVE_MAX] if isinstance(use.keep_alive, str) else use.keep_alive
            keep_alive = Jsonb(stays) if isinstance(stays, str | int | float) else None
            await self._execute(NOTE_USE, model=use.model, options=Jsonb(options), keep_alive=keep_alive)

    async def write_last(self) -> None:
        await self._execute(FORGET)
        await self._connection.close()

    async def _execute(self, query: str, **more: object) -> None:
        try:
            async with asyncio.timeout(WRITE_S):
                opened = await self._connection.get()
                await opened.execute(query, asdict(self._process) | more)
        except (psycopg.Error, OSError):
            # Postgres is away, or too slow (TimeoutError is an OSError): the row's age says so.
            await self._connection.close()
