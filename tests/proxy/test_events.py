"""Events on their way to Postgres."""

import asyncio
import logging
import time
from typing import Any

import psycopg
import pytest

from memory.metrics import total
from memory.models import NotificationDelivery, NotificationTarget
from memory.types import NoteKey
from proxy.config.schema import Mitigations
from proxy.loops import mitigations
from proxy.loops.detector import Loop
from proxy.loops.tail import TailLoop
from proxy.models import LoopEvent
from proxy.telemetry.events import Events

EVENT: dict[str, Any] = {
    "request": "0123456789abcdef", "agent": "dobby", "model": "llama3", "wire": "chat", "block": "", "reasons": {},
    "client_request": "",
    "person": "ann", "style": "compact", "reasons_left_out": 0, "notes": [], "search": "",
    "search_ms": None, "restrictions": {}, "unread_characters": 0, "enrich_ms": 1.0,
    "conversation": "",
}  # fmt: skip


def test_what_is_being_written_when_the_server_stops_is_waited_for(dsn: str) -> None:
    async def run() -> None:
        events = Events(dsn)
        writing = asyncio.create_task(events.run())
        with psycopg.connect(dsn) as other:
            other.execute("LOCK TABLE recollection_event")
            events.add(EVENT | {"at": time.time()})
            while events.waiting:
                await asyncio.sleep(0.01)
            writing.cancel()
            last = asyncio.create_task(events.write())
            await asyncio.sleep(0.1)

            assert not last.done()
        await last

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        assert client.execute("SELECT request FROM recollection_event").fetchall() == [(EVENT["request"],)]


# --- memories and episodes ---


def test_each_note_that_was_given_is_a_row(dsn: str) -> None:
    async def run() -> None:
        events = Events(dsn)
        events.add_injected(EVENT["request"], bytes(16), time.time(), [NoteKey("memory", 1), NoteKey("episode", 1)])
        await events.write()

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        rows = client.execute("SELECT request, kind, row FROM given_note ORDER BY kind").fetchall()
    assert rows == [(EVENT["request"], "episode", 1), (EVENT["request"], "memory", 1)]


# --- loops ---

REPEATED = 'login({"user":"dobby","password":"Hunter2Hunter2"})'
MET = mitigations.mitigate(
    Loop("same", 4, 1, (REPEATED,), frozenset(), is_json_call=True), Mitigations(), takes_note=True, seed=1
)
ASKED: dict[str, Any] = {"request": EVENT["request"], "agent": "dobby", "model": "llama3", "wire": "chat"}
TOLD = [
    {
        "kind": "same",
        "count": 4,
        "period": 1,
        "steps": ["note", "temperature"],
        "repeated": [REPEATED.replace("Hunter2Hunter2", "[secret]")],
    },
    {"kind": "tail", "count": 12, "period": 1, "steps": ["stop"], "repeated": ["and on"]},
]


def meet_loops(events: Events) -> None:
    """As one request has them: what was done before the model was asked, and while it answered."""
    now = time.time()
    events.add(EVENT | {"at": now})
    assert MET is not None
    events.record_loop(MET, ASKED | {"at": now})
    events.record_tail_loop(TailLoop("and on", 12), ASKED | {"at": now + 5})


def test_what_was_done_about_loops_is_told_at_once(dsn: str) -> None:
    async def run() -> Any:
        events = Events(dsn)
        meet_loops(events)
        return await events.find(EVENT["request"])

    assert asyncio.run(run())["loops"] == TOLD


def test_what_was_done_about_loops_is_told_by_every_process(dsn: str) -> None:
    async def run() -> Any:
        events = Events(dsn)
        meet_loops(events)
        await events.write()
        return events, await Events(dsn).find(EVENT["request"])

    dropped = total("festinger_dropped_rows_total")
    events, found = asyncio.run(run())

    assert (events.waiting, total("festinger_dropped_rows_total")) == (0, dropped)
    assert found["loops"] == TOLD
    assert (found["agent"], found["person"]) == ("dobby", "ann")


def test_whoever_wants_to_know_of_loops_is_notified_without_their_text(dsn: str) -> None:
    NotificationTarget.objects.create(kind="mail", address="ada@host", events=["loop.broken"])

    async def run() -> None:
        events = Events(dsn)
        meet_loops(events)
        await events.write()
        meet_loops(events)  # written twice, where a write was cut off
        await events.write()

    asyncio.run(run())

    loops = list(LoopEvent.objects.order_by("pk").values_list("pk", flat=True))
    first, second = (row.payload for row in NotificationDelivery.objects.order_by("pk"))
    asked = {"request": EVENT["request"], "agent": "dobby", "model": "llama3"}
    assert first == {
        "summary": "A loop of dobby was broken (same)",
        "count": 1,
        "items": [asked | {"id": loops[0], "kind": "same", "steps": ["note", "temperature"]}],
    }
    assert second["items"] == [asked | {"id": loops[1], "kind": "tail", "steps": ["stop"]}]


def test_a_request_without_a_loop_says_so(dsn: str) -> None:
    async def run() -> Any:
        events = Events(dsn)
        events.add(EVENT | {"at": time.time()})
        here = await events.find(EVENT["request"])
        await events.write()
        return here, await Events(dsn).find(EVENT["request"])

    here, elsewhere = asyncio.run(run())

    assert here["loops"] == elsewhere["loops"] == []


def test_the_log_tells_of_a_loop_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        meet_loops(Events("dbname=nowhere"))

    with caplog.at_level(logging.INFO, logger="proxy.telemetry.events"):
        asyncio.run(run())

    record, tail = caplog.records
    assert (record.message, record.__dict__["kind"], record.__dict__["count"]) == ("loop.met", "same", 4)
    assert (record.__dict__["why"], record.__dict__["agent"]) == (EVENT["request"], "dobby")
    assert record.__dict__["steps"] == ["note", "temperature"]
    assert tail.__dict__["steps"] == ["stop"]
    assert "login" not in str(record.__dict__)
