"""Messages on their way to the table and the journal, beside a real Postgres that works, stops, stands still."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.learning import outbox as module
from memory.learning.journal import Journal, next_lines
from memory.learning.messages import NewMessage
from memory.learning.outbox import Buffer, Outbox, WaitingMessage
from memory.memories.scope import Scope, Speaker
from memory.metrics import total
from memory.secrets.redaction import MARK
from memory.voice import Voice
from tests import waiting
from tests.served.postgres import OwnPostgres

WITHIN_S = 15.0
eventually = partial(waiting.eventually_here, within_s=WITHIN_S)
NOWHERE = "host=/nowhere dbname=none"
DROPPED, EPISODES = "festinger_dropped_messages_total", "festinger_stored_episodes_total"
KEY = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"


@pytest.fixture(scope="module")
def own() -> Iterator[OwnPostgres]:
    with OwnPostgres() as postgres:
        yield postgres


@pytest.fixture(autouse=True)
def count_anew() -> None:
    module.DROPPED.reset()
    module.EPISODES.reset()


@pytest.fixture
def away(own: OwnPostgres) -> OwnPostgres:
    """A Postgres that can be stopped, with nothing in its tables."""
    own.run("TRUNCATE heard_message, episode CASCADE")
    return own


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def heard(number: int, **changes: object) -> NewMessage:
    message = NewMessage(
        key=number.to_bytes(32, "big"), agent="dobby", scope=Scope(Speaker("webui", "alice")), role="user",
        text=text_of(number), at=1_700_000_000.0 + number,
    )  # fmt: skip
    return message._replace(**changes)  # type: ignore[arg-type]


def text_of(number: int) -> str:
    return f"We moved zorblat{number} to the billing database."


def texts_of(*numbers: int) -> list[str]:
    return list(map(text_of, numbers))


def messages(count: int, start: int = 0) -> list[NewMessage]:
    return list(map(heard, range(start, start + count)))


def stored(dsn: str) -> list[str]:
    """The texts of what waits for a worker and is kept as an episode."""
    query = """
        SELECT heard.text, episode.text FROM heard_message AS heard FULL JOIN episode USING (digest)
        ORDER BY heard.said_at, heard.id
    """
    with psycopg.connect(dsn) as client:
        rows = client.execute(query).fetchall()
    assert all(text == kept for text, kept in rows)
    return [text for text, _ in rows]


class Woken:
    """Wakes the workers, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@asynccontextmanager
async def running(dsn: str, folder: Path, wake: Callable[[], None] | None = None) -> AsyncIterator[Outbox]:
    """A process that is stopped in the end as the server does it."""
    outbox = Outbox(dsn, folder, wake or Woken())
    task = asyncio.create_task(outbox.run())
    try:
        yield outbox
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await outbox.write_last()


def add(outbox: Outbox, *said: NewMessage) -> None:
    for message in said:
        outbox.add(message)


# --- to the table ---


def test_what_was_heard_is_a_row_soon(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as outbox:
            add(outbox, heard(1))
            assert outbox.waiting == 1
            assert await eventually(lambda: stored(dsn) == texts_of(1))
            assert await eventually(lambda: outbox.waiting == 0)
            assert (outbox.journaled, total(DROPPED), total(EPISODES)) == (0, 0, 1)

    asyncio.run(run())

    assert not folder.exists()


def test_what_is_added_together_keeps_its_order(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as outbox:
            add(outbox, *(heard(number, at=1_700_000_000.0) for number in range(50)))

    asyncio.run(run())

    assert stored(dsn) == texts_of(*range(50))


def test_what_is_there_already_stays_as_it_is_and_wakes_nobody(dsn: str, folder: Path) -> None:
    woken = Woken()

    async def run() -> None:
        async with running(dsn, folder, woken) as outbox:
            add(outbox, heard(1))
            assert await eventually(lambda: woken.times == 1)
            add(outbox, heard(1, at=1_800_000_000.0))
            assert await eventually(lambda: outbox.waiting == 0)

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        rows = client.execute("SELECT extract(epoch FROM said_at)::float8 FROM heard_message").fetchall()
    assert (rows, woken.times) == ([(1_700_000_001.0,)], 1)


def test_what_the_table_refuses_takes_no_other_along_and_is_counted(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as outbox:
            add(outbox, *(heard(number, **({"key": b"short"} if number == 3 else {})) for number in range(9)))
            assert await eventually(lambda: outbox.waiting == 0)
            assert (total(DROPPED), total(EPISODES)) == (1, 8)

    asyncio.run(run())

    assert stored(dsn) == texts_of(0, 1, 2, 4, 5, 6, 7, 8)


def test_many_messages_at_once_are_all_written_soon(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as outbox:
            add(outbox, *messages(3_000))
            assert await eventually(lambda: len(stored(dsn)) == 3_000)
            assert await eventually(lambda: outbox.journaled == 0)
            assert total(DROPPED) == 0

    asyncio.run(run())


def test_what_comes_together_is_one_statement_over_a_kept_connection(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as outbox:
            add(outbox, *messages(5))
            assert await eventually(lambda: len(stored(dsn)) == 5)
            add(outbox, heard(9))
            assert await eventually(lambda: len(stored(dsn)) == 6)
            with psycopg.connect(dsn) as client:
                kept = client.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE application_name = 'festinger messages' AND datname = current_database()"
                ).fetchone()
            assert kept == (1,)

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        writes = "SELECT xmin::text FROM heard_message UNION SELECT xmin::text FROM episode"
        assert len(client.execute(writes).fetchall()) == 2


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
        async with running(dsn, folder, broker) as outbox:
            for number in range(6):  # written one after the other, while the first wake-up blocks
                add(outbox, heard(number))
                assert await eventually(lambda number=number: len(stored(dsn)) > number)  # type: ignore[misc]
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
        async with running(dsn, folder, wake) as outbox:
            for number in range(3):
                add(outbox, heard(number))
                assert await eventually(lambda number=number: woken.times == number + 1)  # type: ignore[misc]

    asyncio.run(run())

    assert [record.message for record in caplog.records] == ["wake.failed"]
    assert stored(dsn) == texts_of(0, 1, 2)


# --- Postgres is away ---


def test_while_postgres_is_away_messages_go_to_the_journal_and_then_to_the_table(
    away: OwnPostgres, folder: Path
) -> None:
    woken = Woken()

    async def run() -> None:
        async with running(away.url, folder, woken) as outbox:
            add(outbox, heard(0))
            assert await eventually(lambda: woken.times == 1)
            await asyncio.to_thread(away.stop)
            for number in range(1, 4):
                add(outbox, heard(number))
                assert await eventually(lambda number=number: outbox.journaled == number)  # type: ignore[misc]
            assert (outbox.waiting, total(DROPPED)) == (0, 0)
            await asyncio.to_thread(away.start)
            assert await eventually(lambda: outbox.journaled == 0)
            assert await eventually(lambda: woken.times >= 2)
            assert total(EPISODES) == 4

    asyncio.run(run())

    assert stored(away.url) == texts_of(0, 1, 2, 3)
    assert left_in(folder) == []


def test_a_postgres_that_stands_still_stops_nothing_from_being_safe_soon(
    away: OwnPostgres, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.learning.message_table.WRITE_S", 0.6)

    async def run() -> None:
        async with running(away.url, folder) as outbox:
            add(outbox, heard(0))
            assert await eventually(lambda: outbox.waiting == 0)
            away.freeze()
            try:
                for number in range(1, 4):
                    add(outbox, heard(number))
                    assert await eventually(lambda number=number: outbox.journaled == number)  # type: ignore[misc]
                assert await eventually(lambda: outbox._table.connection.opened is None)  # the write is given up
                assert outbox.is_away
            finally:
                away.thaw()
            assert await eventually(lambda: outbox.journaled == 0)

    asyncio.run(run())

    assert stored(away.url) == texts_of(0, 1, 2, 3)


def test_a_write_that_is_late_is_in_the_journal_meanwhile_and_in_the_table_once(dsn: str, folder: Path) -> None:
    async def run() -> None:
        async with running(dsn, folder) as outbox:
            with psycopg.connect(dsn) as other:
                other.execute("LOCK TABLE heard_message")
                add(outbox, *messages(3))
                assert await eventually(lambda: outbox.journaled == 3)
            assert await eventually(lambda: outbox.journaled == 0)
            assert total(EPISODES) == 3

    asyncio.run(run())

    assert stored(dsn) == texts_of(0, 1, 2)


def test_the_last_write_goes_to_the_journal_where_postgres_stands_still(away: OwnPostgres, folder: Path) -> None:
    async def run() -> None:
        async with running(away.url, folder) as outbox:
            add(outbox, heard(0))
            assert await eventually(lambda: outbox.waiting == 0)
            away.freeze()
            add(outbox, *messages(20, start=1))
        assert (outbox.waiting, total(DROPPED)) == (0, 0)

    try:
        asyncio.run(run())
    finally:
        away.thaw()

    assert Journal(folder).count() == 20
    replay(away.url, folder)
    assert stored(away.url) == texts_of(*range(21))


def test_what_is_being_written_when_the_server_stops_is_waited_for(dsn: str, folder: Path) -> None:
    async def run() -> None:
        outbox = Outbox(dsn, folder, Woken())
        task = asyncio.create_task(outbox.run())
        with psycopg.connect(dsn) as other:
            other.execute("LOCK TABLE heard_message")
            add(outbox, *messages(3))
            assert await eventually(lambda: not outbox._backlog)  # it is under way
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert outbox.waiting == 3
        await outbox.write_last()

    asyncio.run(run())
    replay(dsn, folder)

    assert stored(dsn) == texts_of(0, 1, 2)


def test_secrets_do_not_get_into_the_journal(dsn: str, folder: Path) -> None:
    async def run_without_postgres() -> None:
        outbox = Outbox(NOWHERE, folder, Woken())
        add(outbox, heard(1, text=f"{text_of(1)} The token is {KEY}"))
        add(outbox, heard(2, text="5433", before=f"Which port does {KEY} open?"))
        await outbox.write()
        assert outbox.journaled == 2
        await outbox.write_last()

    asyncio.run(run_without_postgres())

    [journal] = left_in(folder)
    lines = list(map(orjson.loads, journal.read_bytes().splitlines()))
    assert [line["text"] for line in lines] == [f"{text_of(1)} The token is {MARK}", "5433"]
    assert [line["before"] for line in lines] == ["", f"Which port does {MARK} open?"]
    replay(dsn, folder)
    with psycopg.connect(dsn) as client:
        episodes = [text for (text,) in client.execute("SELECT text FROM episode ORDER BY id")]
    assert episodes == [f"{text_of(1)} The token is {MARK}", f'Asked "Which port does {MARK} open?": 5433']


# --- the journal is replayed ---


def left_in(folder: Path) -> list[Path]:
    return Journal(folder).files()


def replay(dsn: str, folder: Path, dropped: int = 0) -> None:
    async def run() -> None:
        async with running(dsn, folder):
            assert await eventually(lambda: not left_in(folder))
            assert await eventually(lambda: total(DROPPED) == dropped)
        assert total(DROPPED) == dropped

    asyncio.run(run())


def left_behind(folder: Path, *lines: bytes) -> None:
    """The journal of a process that has died."""
    journal = Journal(folder)
    journal.append(lines)
    journal.seal()


@pytest.mark.parametrize(
    "message",
    [
        heard(1, scope=Scope(Speaker("webui", "bob"), 7), is_dated=False, is_live=False, before="Which?"),
        heard(2, scope=None, role="assistant", voice=Voice.QUOTED, place=b"p" * 17, request="trace-7"),
    ],
    ids=["history", "nobody's"],
)
def test_what_was_journaled_is_what_was_heard(message: NewMessage) -> None:
    assert NewMessage.from_line(message.to_line()) == message


def test_a_torn_line_is_left_out_and_all_whole_ones_are_replayed(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    left_behind(folder, *map(NewMessage.to_line, messages(3)))
    [file] = folder.iterdir()
    with file.open("ab") as writer:
        writer.write(heard(3).to_line()[:-20])

    replay(dsn, folder, dropped=1)

    assert stored(dsn) == texts_of(0, 1, 2)
    assert "messages.dropped" in [record.message for record in caplog.records]


def test_lines_that_are_no_messages_are_left_out(dsn: str, folder: Path) -> None:
    changes: list[dict[str, Any]] = [
        {"key": "00"}, {"key": "no digits"}, {"text": None}, {"at": "yesterday"}, {"scope": "alice"},
        {"scope": [["webui", "alice"]]}, {"sequel": "of another version"},
    ]  # fmt: skip
    odd = [orjson.dumps(orjson.loads(heard(1).to_line()) | change) for change in changes]
    left_behind(folder, *odd, heard(2).to_line())

    replay(dsn, folder, dropped=len(odd))

    assert stored(dsn) == texts_of(2)


def test_a_replay_that_broke_off_is_repeated_and_doubles_nothing(
    dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    left_behind(folder, *map(NewMessage.to_line, messages(5)))
    insert = module.MessageTable.insert
    batches = 0

    async def breaking(table: Any, batch: Any) -> Any:
        nonlocal batches
        batches += 1
        if batches == 3:
            raise psycopg.OperationalError
        return await insert(table, batch)

    monkeypatch.setattr(module.MessageTable, "insert", breaking)
    monkeypatch.setattr(module, "REPLAY_S", 0.05)
    replay(dsn, folder)

    assert batches > 3
    assert stored(dsn) == texts_of(*range(5))


def test_a_journal_that_the_disk_does_not_give_stops_none_behind_it(
    dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        left_behind(folder, heard(number).to_line())
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
        async with running(dsn, folder):
            assert await eventually(lambda: left_in(folder) == [bad])
            assert stored(dsn) == texts_of(1, 2)
            is_mended = True
            assert await eventually(lambda: not left_in(folder))
            assert total(DROPPED) == 0

    asyncio.run(run())

    assert stored(dsn) == texts_of(0, 1, 2)


def test_processes_that_replay_at_once_share_the_journals(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(12):
        left_behind(folder, *map(NewMessage.to_line, messages(50, start=50 * number)))
    caplog.set_level(logging.INFO)

    def replayed() -> list[str]:
        return [vars(record)["file"] for record in caplog.records if record.message == "journal.replayed"]

    async def run() -> None:
        async with running(dsn, folder), running(dsn, folder):
            assert await eventually(lambda: not left_in(folder) and len(replayed()) >= 12)

    asyncio.run(run())

    assert len(set(replayed())) == len(replayed()) == 12
    assert stored(dsn) == texts_of(*range(600))


def test_a_journal_that_a_living_process_writes_is_left_alone(dsn: str, folder: Path) -> None:
    living = Journal(folder)
    living.append([heard(1).to_line()])
    left_behind(folder, heard(2).to_line())

    async def run() -> None:
        async with running(dsn, folder) as outbox:
            assert await eventually(lambda: stored(dsn) == texts_of(2))
            assert await eventually(lambda: outbox.journaled == 1)

    asyncio.run(run())

    assert len(left_in(folder)) == 1
    living.seal()
    replay(dsn, folder)
    assert stored(dsn) == texts_of(1, 2)


# --- what should not happen ---


def test_what_nobody_expected_costs_its_batch_and_nothing_after_it(
    dsn: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd = heard(1, at=object())

    async def run() -> None:
        async with running(dsn, folder) as outbox:
            add(outbox, odd)
            assert await eventually(lambda: total(DROPPED) == 1)
            add(outbox, heard(2))
            assert await eventually(lambda: stored(dsn) == texts_of(2))

    asyncio.run(run())

    async def run_without_postgres() -> None:
        outbox = Outbox(NOWHERE, folder / "other", Woken())
        for message in (heard(3), odd, heard(4)):
            add(outbox, message)
            await outbox.write()
        assert (outbox.waiting, outbox.journaled, total(DROPPED)) == (0, 2, 2)
        await outbox.write_last()

    asyncio.run(run_without_postgres())

    logged = [record.message for record in caplog.records]
    assert {"messages.failed", "journal.failed"} <= set(logged)


# --- no room ---


def test_what_finds_no_room_in_the_journal_waits_in_memory(
    dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.touch()  # no folder can be made there

    async def run() -> None:
        outbox = Outbox(NOWHERE, folder, Woken())
        add(outbox, *messages(10))
        await outbox.write()
        assert (outbox.waiting, outbox.journaled, total(DROPPED)) == (10, 0, 0)

        outbox._table.connection.dsn = dsn
        task = asyncio.create_task(outbox.run())
        assert await eventually(lambda: outbox.waiting == 0)
        task.cancel()
        await outbox.write_last()

    asyncio.run(run())

    assert stored(dsn) == texts_of(*range(10))


def test_the_oldest_go_when_there_is_no_room_in_memory_either(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.touch()

    async def run() -> None:
        outbox = Outbox(NOWHERE, folder, Woken())
        outbox._backlog = Buffer(bytes_max=30 * heard(99).size)
        for number in range(10):
            add(outbox, *messages(10, start=10 * number))
            await outbox.write()

        assert (outbox.waiting, total(DROPPED)) == (30, 70)
        await outbox.write_last()
        assert [waiting.message for waiting in outbox._backlog.take(30)] == messages(30, start=70)

    asyncio.run(run())

    logged = [record.message for record in caplog.records]
    assert logged.count("messages.dropped") == 1
    assert "messages.lost" in logged


def backlog_of(*numbers: int, now: float = 1.0, room: int = 9) -> Buffer:
    backlog = Buffer(bytes_max=room * heard(0, text="").size)
    for number in numbers:
        backlog.add(heard(number, text=""), now)
    return backlog


def numbers(batch: list[WaitingMessage]) -> list[int]:
    return [int.from_bytes(waiting.message.key) for waiting in batch]


def test_the_oldest_are_taken_first_and_can_be_put_back() -> None:
    backlog = backlog_of(0, 1, 2)
    for number in (3, 4):
        backlog.add(heard(number, text=""), now=2.0)

    taken = backlog.take(2)
    assert (numbers(taken), backlog.waits_since()) == ([0, 1], 1.0)
    backlog.put_back(taken)
    assert numbers(backlog.take(4)) == [0, 1, 2, 3]
    assert (backlog.waits_since(), len(backlog)) == (2.0, 1)
    assert (numbers(backlog.take(9)), backlog.waits_since()) == ([4], float("inf"))


def test_the_oldest_go_when_there_is_no_room() -> None:
    backlog = backlog_of(0, 1, 2, room=3)

    assert [backlog.add(heard(number, text=""), now=1.0) for number in (3, 4)] == [1, 1]
    assert numbers(backlog.take(9)) == [2, 3, 4]


def test_what_is_put_back_has_gone_where_others_took_its_room() -> None:
    backlog = backlog_of(0, 1, 2, room=3)
    taken = backlog.take(2)
    for number in (3, 4):
        backlog.add(heard(number, text=""), now=2.0)

    assert backlog.put_back(taken) == 2
    assert numbers(backlog.take(9)) == [2, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 3)), max_size=40))
def test_a_backlog_never_holds_more_than_its_bytes_and_tells_of_all_that_it_loses(
    steps: list[tuple[int, int]],
) -> None:
    backlog = Buffer(bytes_max=3_000)
    added = told = taken = 0

    for number, (length, count) in enumerate(steps):
        told += backlog.add(heard(number, text="x" * length), now=0.0)
        added += 1
        if count == 3:
            told += backlog.put_back(backlog.take(2))
        else:
            taken += len(backlog.take(count))

    rest = backlog.take(100)
    assert added == told + taken + len(rest)
    assert sum(waiting.message.size for waiting in rest) <= 3_000
