"""Statements on their way to the table, beside a real Postgres that works, refuses, stops, stands still, is away."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import psycopg
import pytest

from memory.domain.statement import Statement, encode
from memory.learning import outbox as module
from memory.learning.buffer import Backlog
from memory.learning.journal import Journal, next_lines
from memory.learning.outbox import Outbox
from tests import waiting
from tests.served.postgres import OwnPostgres

WITHIN_S = 15.0
eventually = partial(waiting.eventually_here, within_s=WITHIN_S)
NOWHERE = "host=/nowhere dbname=none"


@pytest.fixture(scope="module")
def own() -> Iterator[OwnPostgres]:
    with OwnPostgres() as postgres:
        yield postgres


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def statement(number: int, **changes: object) -> Statement:
    said = Statement(
        key=number.to_bytes(32, "big"), subject=f"zorblat{number}", parent="repo", dimension="type", is_isa=True,
        confidence=0.8, role="user", agent="dobby", at=1_700_000_000.0 + number, evidence=f"zorblat{number} is a repo",
    )  # fmt: skip
    return said._replace(**changes)  # type: ignore[arg-type]


def statements(count: int, start: int = 0) -> list[Statement]:
    return [statement(number) for number in range(start, start + count)]


def concepts(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as client:
        return [concept for (concept,) in client.execute("SELECT concept FROM observation ORDER BY said_at, id")]


def names(count: int, start: int = 0) -> list[str]:
    return [f"zorblat{number}" for number in range(start, start + count)]


class Woken:
    """What wakes the workers; counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@asynccontextmanager
async def running(dsn: str, folder: Path, wake: Callable[[], None] | None = None) -> AsyncIterator[Outbox]:
    """A process that is stopped in the end as the server does it."""
    observations = Outbox(dsn, folder, wake or Woken())
    task = asyncio.create_task(observations.run())
    try:
        yield observations
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await observations.write_last()


# --- to the table ---


def test_what_was_observed_is_a_row_soon(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as observations:
            observations.add([statement(1)])
            assert await eventually(lambda: concepts(dsn) == ["zorblat1"])
            assert await eventually(lambda: observations.waiting == 0)
            assert (observations.journaled, observations.dropped) == (0, 0)

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        row = client.execute(
            "SELECT kind, digest, concept, parent, dimension, is_isa, confidence, role, agent,"
            " extract(epoch FROM said_at)::float8, evidence, channel, says, is_hedged,"
            " instead_of, state, next_attempt_at <= now() FROM observation"
        ).fetchone()
    said = statement(1)
    assert row == ("triple", *said, "pending", True)
    assert not folder.exists()


def test_the_statements_of_one_message_keep_their_order(dsn: str, folder: Path) -> None:
    said = [statement(number, key=bytes(32), at=1_700_000_000.0 + number / 1e6) for number in range(50)]

    async def run() -> None:
        async with running(dsn, folder) as observations:
            observations.add(said)

    asyncio.run(run())

    assert concepts(dsn) == names(50)


def test_what_is_there_already_stays_as_it_is_and_wakes_nobody(dsn: str, folder: Path) -> None:
    woken = Woken()

    async def run() -> None:
        async with running(dsn, folder, woken) as observations:
            observations.add([statement(1)])
            assert await eventually(lambda: woken.times == 1)
            with psycopg.connect(dsn) as client:
                client.execute("UPDATE observation SET state = 'done'")
            observations.add([statement(1, at=1_900_000_000.0)])
            assert await eventually(lambda: observations.waiting == 0)

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        rows = client.execute("SELECT state, extract(epoch FROM said_at)::float8 FROM observation").fetchall()
    assert (rows, woken.times) == ([("done", 1_700_000_001.0)], 1)


def test_a_statement_that_the_table_refuses_takes_no_other_along(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = {3: {"key": b"short"}, 7: {"confidence": 2.0}, 8: {"parent": "x" * 65}, 11: {"confidence": float("nan")}}

    async def run() -> None:
        async with running(dsn, folder) as observations:
            observations.add(statement(number, **bad.get(number, {})) for number in range(20))
            assert await eventually(lambda: observations.waiting == 0)
            assert observations.dropped == len(bad)

    asyncio.run(run())

    assert concepts(dsn) == [name for number, name in enumerate(names(20)) if number not in bad]
    assert [record.message for record in caplog.records].count("observation.refused") == len(bad)


def test_what_a_clock_puts_into_the_future_is_said_now_in_its_order(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as observations:
            observations.add(statement(number, at=5e9 + number) for number in (1, 2))
            observations.add([statement(3, at=time.time() + 0.5)])
            assert await eventually(lambda: observations.waiting == 0)

    asyncio.run(run())

    assert concepts(dsn) == names(4)[1:]
    with psycopg.connect(dsn) as client:
        query = "SELECT concept FROM observation WHERE said_at <= created_at ORDER BY said_at, id"
        assert [name for (name,) in client.execute(query)] == names(3)[1:]


def test_texts_that_postgres_does_not_take_are_mended(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as observations:
            observations.add(
                [
                    statement(1, evidence="nul\x00 and \ud800 half a pair"),
                    statement(2, evidence="x" * 2_000, agent="a" * 300, role="r" * 30),
                ]
            )
            assert await eventually(lambda: len(concepts(dsn)) == 2)

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        said = client.execute("SELECT evidence, length(agent), length(role) FROM observation ORDER BY said_at")
        assert said.fetchall() == [("nul  and ? half a pair", 5, 4), ("x" * 500, 120, 16)]


def test_many_statements_at_once_are_all_written_soon(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as observations:
            observations.add(statements(5_000))
            assert await eventually(lambda: len(concepts(dsn)) == 5_000)
            assert await eventually(lambda: observations.journaled == 0)
            assert observations.dropped == 0

    asyncio.run(run())


def test_what_comes_together_is_one_statement_over_a_kept_connection(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as observations:
            for number in range(5):
                observations.add([statement(number)])
            assert await eventually(lambda: len(concepts(dsn)) == 5)
            observations.add([statement(9)])
            assert await eventually(lambda: len(concepts(dsn)) == 6)
            with psycopg.connect(dsn) as client:
                kept = client.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE application_name = 'festinger observations' AND datname = current_database()"
                ).fetchone()
            assert kept == (1,)

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        assert client.execute("SELECT count(DISTINCT xmin::text) FROM observation").fetchone() == (2,)


# --- waking the workers ---


class Blocking:
    """A broker that takes a wake-up only when it is let; how many came, and whether ever two at once."""

    def __init__(self) -> None:
        self.times = self.under_way = self.most_at_once = 0
        self.go_on = threading.Event()

    def __call__(self) -> None:
        self.times += 1
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        self.go_on.wait(WITHIN_S)
        self.under_way -= 1


def test_a_wake_up_stands_for_all_that_was_written_before_it(dsn: str, folder: Path) -> None:
    broker = Blocking()

    async def run() -> None:
        async with running(dsn, folder, broker) as observations:
            for number in range(6):  # written one after the other, while the first wake-up blocks
                observations.add([statement(number)])
                assert await eventually(lambda number=number: len(concepts(dsn)) > number)  # type: ignore[misc]
                assert await eventually(lambda: broker.times > 0)
            assert broker.times == 1
            broker.go_on.set()
            assert await eventually(lambda: broker.times >= 2)

    asyncio.run(run())

    assert broker.times <= 3  # what was written last is asked for after it is seen: perhaps after the second began
    assert broker.most_at_once == 1


def test_a_broker_that_fails_is_told_of_once_and_asked_again(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    woken = Woken()

    def wake() -> None:
        woken()
        raise ConnectionError("no broker")

    async def run() -> None:
        async with running(dsn, folder, wake) as observations:
            for number in range(3):
                observations.add([statement(number)])
                assert await eventually(lambda number=number: woken.times == number + 1)  # type: ignore[misc]

    asyncio.run(run())

    assert [record.message for record in caplog.records] == ["wake.failed"]
    assert concepts(dsn) == names(3)


# --- Postgres is away ---


def test_while_postgres_is_away_statements_go_to_the_journal_and_then_to_the_table(
    own: OwnPostgres, folder: Path
) -> None:
    own.run("TRUNCATE observation")
    woken = Woken()

    async def run() -> None:
        async with running(own.url, folder, woken) as observations:
            observations.add([statement(0)])
            assert await eventually(lambda: woken.times == 1)
            await asyncio.to_thread(own.stop)
            for number in range(1, 4):
                observations.add([statement(number)])
                assert await eventually(lambda number=number: observations.journaled == number)  # type: ignore[misc]
            assert (observations.waiting, observations.dropped) == (0, 0)
            await asyncio.to_thread(own.start)
            assert await eventually(lambda: observations.journaled == 0)
            assert await eventually(lambda: woken.times >= 2)

    asyncio.run(run())

    assert concepts(own.url) == names(4)
    assert left_in(folder) == []


def test_a_postgres_that_stands_still_stops_nothing_from_being_safe_soon(
    own: OwnPostgres, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.learning.table.WRITE_S", 0.6)
    own.run("TRUNCATE observation")

    async def run() -> None:
        async with running(own.url, folder) as observations:
            observations.add([statement(0)])
            assert await eventually(lambda: observations.waiting == 0)
            own.freeze()
            try:
                for number in range(1, 4):
                    observations.add([statement(number)])
                    assert await eventually(lambda number=number: observations.journaled == number)  # type: ignore[misc]
                assert await eventually(lambda: observations._table._connection is None)  # the write is given up
                assert observations.is_away
            finally:
                own.thaw()
            assert await eventually(lambda: observations.journaled == 0)

    asyncio.run(run())

    assert concepts(own.url) == names(4)


def test_a_write_that_is_late_is_in_the_journal_meanwhile_and_in_the_table_once(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as observations:
            with psycopg.connect(dsn) as other:
                other.execute("LOCK TABLE observation")
                observations.add(statements(3))
                assert await eventually(lambda: observations.journaled == 3)
            assert await eventually(lambda: observations.journaled == 0)

    asyncio.run(run())

    assert concepts(dsn) == names(3)


def test_the_last_write_goes_to_the_journal_where_postgres_stands_still(own: OwnPostgres, folder: Path) -> None:
    own.run("TRUNCATE observation")

    async def run() -> None:
        async with running(own.url, folder) as observations:
            observations.add([statement(0)])
            assert await eventually(lambda: observations.waiting == 0)
            own.freeze()
            observations.add(statements(20, start=1))
        assert (observations.waiting, observations.dropped) == (0, 0)

    try:
        asyncio.run(run())
    finally:
        own.thaw()

    assert Journal(folder).count() == 20
    replay(own.url, folder)
    assert concepts(own.url) == names(21)


def test_what_is_being_written_when_the_server_stops_is_waited_for(dsn: str, folder: Path) -> None:
    async def run() -> None:
        observations = Outbox(dsn, folder, Woken())
        task = asyncio.create_task(observations.run())
        with psycopg.connect(dsn) as other:
            other.execute("LOCK TABLE observation")
            observations.add(statements(3))
            assert await eventually(lambda: not observations._backlog)  # it is under way
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert observations.waiting == 3
        await observations.write_last()

    asyncio.run(run())
    replay(dsn, folder)

    assert concepts(dsn) == names(3)


# --- the journal is replayed ---


def left_in(folder: Path) -> list[Path]:
    return Journal(folder).files()


def replay(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as observations:
            assert await eventually(lambda: not left_in(folder))
            assert observations.dropped == 0

    asyncio.run(run())


def left_behind(folder: Path, *lines: bytes) -> None:
    """The journal of a process that has died."""
    journal = Journal(folder)
    journal.append(lines)
    journal.seal()


def test_a_torn_line_is_left_out_and_all_whole_ones_are_replayed(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    left_behind(folder, *map(encode, statements(3)))
    [file] = folder.iterdir()
    with file.open("ab") as writer:
        writer.write(encode(statement(3))[:-20])

    async def run() -> None:
        async with running(dsn, folder) as observations:
            assert await eventually(lambda: not left_in(folder))
            assert await eventually(lambda: observations.dropped == 1)

    asyncio.run(run())

    assert concepts(dsn) == names(3)
    assert "observations.dropped" in [record.message for record in caplog.records]


def test_a_replay_that_broke_off_is_repeated_and_doubles_nothing(
    dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    left_behind(folder, *map(encode, statements(5)))
    insert = module.ObservationTable.insert
    batches = 0

    async def breaking(table: Any, batch: Any) -> Any:
        nonlocal batches
        batches += 1
        if batches == 3:
            raise psycopg.OperationalError
        return await insert(table, batch)

    monkeypatch.setattr(module.ObservationTable, "insert", breaking)
    monkeypatch.setattr(module, "REPLAY_S", 0.05)
    replay(dsn, folder)

    assert batches > 3
    assert concepts(dsn) == names(5)


def test_a_journal_that_the_disk_does_not_give_stops_none_behind_it(
    dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        left_behind(folder, encode(statement(number)))
    bad = left_in(folder)[0]
    is_mended = False

    def read(file: BinaryIO, count: int) -> list[bytes]:
        if file.name == str(bad) and not is_mended:
            raise OSError("Input/output error")
        return next_lines(file, count)

    monkeypatch.setattr(module, "next_lines", read)
    monkeypatch.setattr(module, "REPLAY_S", 0.05)

    async def run() -> None:
        nonlocal is_mended
        async with running(dsn, folder) as observations:
            assert await eventually(lambda: left_in(folder) == [bad])
            assert concepts(dsn) == names(2, start=1)
            is_mended = True
            assert await eventually(lambda: not left_in(folder))
            assert observations.dropped == 0

    asyncio.run(run())

    assert concepts(dsn) == names(3)


def test_processes_that_replay_at_once_share_the_journals(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(12):
        left_behind(folder, *map(encode, statements(100, start=100 * number)))
    caplog.set_level(logging.INFO)

    def replayed() -> list[str]:
        return [vars(record)["file"] for record in caplog.records if record.message == "journal.replayed"]

    async def run() -> None:
        async with running(dsn, folder), running(dsn, folder):
            assert await eventually(lambda: not left_in(folder) and len(replayed()) >= 12)

    asyncio.run(run())

    assert len(set(replayed())) == len(replayed()) == 12
    assert sorted(concepts(dsn)) == sorted(names(1200))


def test_a_journal_that_a_living_process_writes_is_left_alone(dsn: str, folder: Path) -> None:
    living = Journal(folder)
    living.append([encode(statement(1))])
    left_behind(folder, encode(statement(2)))

    async def run() -> None:
        async with running(dsn, folder) as observations:
            assert await eventually(lambda: concepts(dsn) == ["zorblat2"])
            assert await eventually(lambda: observations.journaled == 1)

    asyncio.run(run())

    assert len(left_in(folder)) == 1
    living.seal()
    replay(dsn, folder)
    assert concepts(dsn) == ["zorblat1", "zorblat2"]


# --- what should not happen ---


def test_what_nobody_expected_costs_its_batch_and_nothing_after_it(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd = statement(1, confidence=object())

    async def run() -> None:
        async with running(dsn, folder) as observations:
            observations.add([odd])
            assert await eventually(lambda: observations.dropped == 1)
            observations.add([statement(2)])
            assert await eventually(lambda: concepts(dsn) == ["zorblat2"])

    asyncio.run(run())

    async def run_without_postgres() -> None:
        observations = Outbox(NOWHERE, folder / "other", Woken())
        for said in (statement(3), odd, statement(4)):
            observations.add([said])
            await observations.write()
        assert (observations.waiting, observations.journaled, observations.dropped) == (0, 2, 1)
        await observations.write_last()

    asyncio.run(run_without_postgres())

    assert "journal.failed" in [record.message for record in caplog.records]


# --- no room ---


def test_what_finds_no_room_in_the_journal_waits_in_memory(
    dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.touch()  # no folder can be made there

    async def run() -> None:
        observations = Outbox(NOWHERE, folder, Woken())
        observations.add(statements(10))
        await observations.write()
        assert (observations.waiting, observations.journaled, observations.dropped) == (10, 0, 0)

        observations._table._dsn = dsn
        task = asyncio.create_task(observations.run())
        assert await eventually(lambda: observations.waiting == 0)
        task.cancel()
        await observations.write_last()

    asyncio.run(run())

    assert concepts(dsn) == names(10)


def test_the_oldest_go_when_there_is_no_room_in_memory_either(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.touch()

    async def run() -> None:
        observations = Outbox(NOWHERE, folder, Woken())
        observations._backlog = Backlog(count_max=30)
        for number in range(10):
            observations.add(statements(10, start=10 * number))
            await observations.write()

        assert (observations.waiting, observations.dropped) == (30, 70)
        await observations.write_last()
        assert [waiting.statement for waiting in observations._backlog.take(30)] == statements(30, start=70)

    asyncio.run(run())

    messages = [record.message for record in caplog.records]
    assert messages.count("observations.dropped") == 1
    assert "observations.lost" in messages
