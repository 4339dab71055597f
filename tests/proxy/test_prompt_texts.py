"""What is kept of what prompts said, where an operator wants it."""

import asyncio
import time
from typing import Any

import psycopg
import pytest

from memory.graph import retention
from memory.learning.reader import Reading
from memory.metrics import total
from memory.models import Config
from memory.secrets.redaction import MARK
from proxy import tasks
from proxy.formats.base import Part
from proxy.models import RecollectionEvent
from proxy.telemetry import prompt_texts
from proxy.telemetry.events import Events
from proxy.telemetry.prompt_texts import KEPT_MAX, READ_MAX, find_last_user_text, mask_text

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


# --- what was said ---


def read(role: str) -> Reading:
    return Reading(b"", b"", role, "", 0)


def test_the_last_message_of_a_user_is_what_was_said() -> None:
    parts = [Part("user", "one", 0), Part("user", "two", 1), Part("assistant", "three", 2), Part("user", "", 3)]

    assert find_last_user_text(parts, [None] * 4) == "two"


def test_what_a_tool_returned_is_not_what_a_user_said_however_the_client_calls_it() -> None:
    parts = [Part("user", "deploy it", 0), Part("user", '{"tool_name": "x", "tool_result": "y"}', 1)]

    assert find_last_user_text(parts, [read("user"), read("tool")]) == "deploy it"


def test_where_no_user_spoke_nothing_was_said() -> None:
    assert find_last_user_text([Part("system", "be kind", 0)], [None]) == ""


def test_only_the_beginning_of_a_long_message_is_taken_along() -> None:
    assert find_last_user_text([Part("user", "x" * 10**6, 0)], [None]) == "x" * READ_MAX


# --- what is kept of it ---


def test_secrets_are_masked() -> None:
    assert mask_text(f"use {SECRET} there") == f"use {MARK} there"


def test_of_an_envelope_only_what_is_in_it_is_kept() -> None:
    assert mask_text('{"user_message": "deploy it", "attachments": []}') == "deploy it"


def test_a_long_prompt_text_is_cut() -> None:
    assert mask_text("a b " * 900) == ("a b " * 900)[:KEPT_MAX]


@pytest.mark.parametrize("before", range(READ_MAX - len(SECRET), READ_MAX))
def test_a_secret_that_is_cut_in_two_is_not_kept(before: int) -> None:
    """Long secrets before it make room for what is at the end of what was read."""
    text = ("word " * 100 + SECRET * 80)[: before - 1] + " " + SECRET

    found = mask_text(text[:READ_MAX])

    assert "ghp_" not in found
    assert MARK in found


def test_what_postgres_does_not_store_is_replaced() -> None:
    assert mask_text("a\0b") == "a\ufffdb"


# --- on its way to Postgres ---

EVENT: dict[str, Any] = {
    "request": "0123456789abcdef", "agent": "dobby", "model": "llama3", "wire": "chat", "block": "", "reasons": {},
    "client_request": "",
    "person": "", "style": "compact", "reasons_left_out": 0, "notes": [], "search": "",
    "search_ms": None, "restrictions": {}, "unread_characters": 0, "enrich_ms": 1.0,
    "conversation": "",
}  # fmt: skip


def write(dsn: str, **more: Any) -> list[Any]:
    """What ``/why`` is told before it is written and after, by this process and by another; writes the event."""

    async def run() -> list[Any]:
        events, dropped = Events(dsn), total("festinger_dropped_rows_total")
        events.add(EVENT | {"at": time.time()} | more)
        waiting = await events.find(EVENT["request"])
        await events.write()
        assert (events.waiting, total("festinger_dropped_rows_total")) == (0, dropped)
        return [waiting, await events.find(EVENT["request"]), await Events(dsn).find(EVENT["request"])]

    return asyncio.run(run())


def test_what_was_said_is_stored_masked_and_told_to_nobody_else(dsn: str) -> None:
    told = write(dsn, said=f"use {SECRET} there")

    with psycopg.connect(dsn) as client:
        stored = client.execute("SELECT row_to_json(event)::text, prompt_text FROM recollection_event event").fetchall()
    [(row, text)] = stored
    assert text == f"use {MARK} there"
    assert SECRET not in row
    assert not any("there" in str(each) for each in told)


def test_where_nothing_is_to_be_kept_nothing_is_stored(dsn: str) -> None:
    write(dsn)

    with psycopg.connect(dsn) as client:
        assert client.execute("SELECT prompt_text FROM recollection_event").fetchall() == [("",)]


def test_what_could_not_be_written_is_written_later_all_the_same(dsn: str) -> None:
    async def run() -> int:
        events = Events("host=/nowhere dbname=nothing")
        events.add(EVENT | {"at": time.time(), "said": f"use {SECRET} there"})
        await events.write()
        waiting = events.waiting
        events._dsn = dsn
        await events.write()
        return waiting

    assert asyncio.run(run()) == 1
    with psycopg.connect(dsn) as client:
        assert client.execute("SELECT prompt_text FROM recollection_event").fetchall() == [(f"use {MARK} there",)]


# --- turned off again ---


def keep_five() -> None:
    RecollectionEvent.objects.bulk_create(
        RecollectionEvent(
            request=f"{number:016x}", agent="dobby", model="m", wire="chat", enrich_ms=1, prompt_text="deploy it"
        )
        for number in range(5)
    )


@pytest.mark.django_db
def test_what_is_kept_is_deleted_in_batches_when_an_operator_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "PAUSE_S", 0)
    keep_five()
    Config.objects.create(key="live_prompt_text", value="on")
    tasks.forget_prompt_texts()
    while_on = RecollectionEvent.objects.filter(prompt_text="deploy it").count()
    Config.objects.update(value="off")

    tasks.forget_prompt_texts()

    assert while_on == 5
    assert set(RecollectionEvent.objects.values_list("prompt_text", flat=True)) == {""}
    assert RecollectionEvent.objects.count() == 5


@pytest.mark.django_db
def test_how_many_were_deleted_is_told() -> None:
    keep_five()

    assert [prompt_texts.forget(), prompt_texts.forget()] == [5, 0]
