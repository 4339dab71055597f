"""Signs of life: whose rows stay, and whose go."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from psycopg.conninfo import make_conninfo

from memory.llm.idle import BUSY
from memory.models import Heartbeat, UpstreamModel
from memory.running.heartbeats import (
    Process,
    ServerPulse,
    Use,
    forget,
    forget_ended,
    give_sign,
    prune_silent,
    wait_for_worker,
)
from tests.waiting import LOOK_AGAIN_S

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def known() -> list[tuple[str, str, int]]:
    return sorted(Heartbeat.objects.values_list("name", "host", "pid"))


def silent_for(process: Process, silence: timedelta) -> Process:
    give_sign(process)
    Heartbeat.objects.filter(name=process.name, host=process.host, pid=process.pid).update(at=NOW - silence)
    return process


async def pids(opened: psycopg.AsyncConnection) -> list[tuple[int]]:
    return await (await opened.execute("SELECT pid FROM heartbeat")).fetchall()


def ended_process() -> int:
    """The id of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_each_process_has_a_row_and_another_sign_makes_it_young() -> None:
    silent_for(Process("worker", "here", 1), timedelta(minutes=5))
    give_sign(Process("worker", "here", 2))
    give_sign(Process("worker", "here", 1))

    assert known() == [("worker", "here", 1), ("worker", "here", 2)]
    assert Heartbeat.objects.filter(at__gte=NOW).count() == 2


def test_who_begins_forgets_those_it_replaces_and_nobody_else() -> None:
    ended, this = ended_process(), Process.this("worker")
    for process in (Process("worker", this.host, ended), Process("proxy", this.host, ended)):
        give_sign(process)
    give_sign(Process("worker", "elsewhere", ended))
    give_sign(Process("worker", this.host, os.getppid()))

    forget_ended(this)

    assert known() == sorted(
        [("proxy", this.host, ended), ("worker", "elsewhere", ended), ("worker", this.host, os.getppid())]
    )


def test_who_ends_as_it_should_is_forgotten() -> None:
    give_sign(Process("worker", "here", 1))
    give_sign(Process("worker", "here", 2))

    forget(Process("worker", "here", 1))

    assert known() == [("worker", "here", 2)]


def test_one_that_died_long_ago_is_forgotten_while_others_of_its_part_go_on() -> None:
    silent_for(Process("worker", "here", 1), timedelta(minutes=61))
    silent_for(Process("worker", "here", 2), timedelta(minutes=59))
    silent_for(Process("beat"), timedelta(days=3))

    assert prune_silent(NOW) == 1
    assert known() == [("beat", "", 0), ("worker", "here", 2)]


@pytest.mark.django_db(transaction=True)
def test_a_server_process_gives_signs_while_it_runs_and_is_forgotten_when_it_stops() -> None:
    this = Process.this("proxy")
    dead = ended_process()
    give_sign(Process("proxy", this.host, dead))
    dsn = make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])
    pulse = ServerPulse(dsn)

    async def run_until_it_gave_a_sign() -> None:
        task = asyncio.create_task(pulse.run())
        async with asyncio.timeout(30), await psycopg.AsyncConnection.connect(dsn, autocommit=True) as opened:
            while await pids(opened) != [(this.pid,)]:
                await asyncio.sleep(LOOK_AGAIN_S)
        task.cancel()

    asyncio.run(run_until_it_gave_a_sign())
    assert known() == [("proxy", this.host, this.pid)]

    asyncio.run(pulse.write_last())
    assert known() == []


@pytest.mark.django_db(transaction=True)
def test_a_server_tells_at_once_that_a_prompt_began_and_how_the_model_was_loaded(dsn: str) -> None:
    pulse = ServerPulse(dsn)
    seen: list[tuple[bool, bool]] = []

    async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(30):
            while not await is_so():
                await asyncio.sleep(LOOK_AGAIN_S)

    async def answer_a_prompt() -> None:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as opened:

            async def look() -> bool:
                cursor = await opened.execute("SELECT busy_since IS NOT NULL, idle_since IS NOT NULL FROM heartbeat")
                seen.extend(row for row in await cursor.fetchall() if row not in seen)
                return bool(seen) and seen[-1] == wanted

            async def is_stored() -> bool:
                cursor = await opened.execute("SELECT FROM upstream_model")
                return cursor.rowcount == 2

            await opened.execute(f"LISTEN {BUSY}")
            task = asyncio.create_task(pulse.run())
            wanted = (False, False)
            await until(look)
            with pulse.answering():
                async for _ in opened.notifies(timeout=30, stop_after=1):
                    pass
                wanted = (True, False)
                await until(look)
                pulse.note_use(Use("qwen3:8b", {"num_ctx": 8192, "stop": ["}"], "seed": 7, "temperature": 1.3}, -1))
                pulse.note_use(Use("odd", "no options", [1]))
            wanted = (False, True)
            await until(look)
            await until(is_stored)  # after the sign
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await pulse.write_last()

    asyncio.run(answer_a_prompt())

    assert seen == [(False, False), (True, False), (False, True)]
    assert sorted(UpstreamModel.objects.values_list("name", "options", "keep_alive")) == [
        ("odd", {}, None),
        ("qwen3:8b", {"num_ctx": 8192}, -1),
    ]


def test_a_server_process_goes_on_where_postgres_is_away() -> None:
    pulse = ServerPulse("postgresql://nobody@127.0.0.1:9/nowhere")

    asyncio.run(pulse.write_last())


@pytest.mark.django_db(transaction=True)
def test_a_server_finds_a_worker_that_gives_signs_and_none_that_has_died(dsn: str) -> None:
    this = Process.this("worker")
    give_sign(Process("worker", this.host, ended_process()))
    silent_for(Process("worker", "elsewhere", 1), timedelta(seconds=16))
    give_sign(Process.this("proxy"))

    async def is_found(within_s: float) -> bool:
        try:
            await asyncio.wait_for(wait_for_worker(dsn), within_s)
        except TimeoutError:
            return False
        return True

    assert not asyncio.run(is_found(1))
    give_sign(this)
    assert asyncio.run(is_found(30))
