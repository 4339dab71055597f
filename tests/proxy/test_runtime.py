"""The end of a server process."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest
from django.apps import apps

from memory.apps import MemoryConfig
from proxy.runtime import Runtime
from tests.proxy.enriching import DOBBY
from tests.standin import StandIn

PROMPT = {"model": "llama3", "messages": [{"role": "user", "content": "zorblat is a repo."}]}
WRITTEN = {
    "heard_message": "SELECT text FROM heard_message",
    "recollection_event": "SELECT model FROM recollection_event",
}


@pytest.fixture
def runtime(
    dsn: str, standin: StandIn, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Runtime]:
    settings.DATABASE_URL, settings.FESTINGER_UPSTREAM = dsn, standin.url
    settings.JOURNAL, settings.CONFIG_FILE = tmp_path / "journal", tmp_path / "config.yaml"
    monkeypatch.setattr("proxy.runtime.send_wakeup", lambda task: None)
    app = apps.get_app_config("memory")
    assert isinstance(app, MemoryConfig)
    monkeypatch.setattr(app, "cache", app.cache)  # a new one for this test; both are put back
    monkeypatch.setattr(app, "coherence", app.coherence)
    app.ready()
    yield Runtime()
    gc.unfreeze()
    gc.collect()  # a connection that was not closed is found now, and fails the test


async def fail() -> None:
    raise ValueError


def test_stop_writes_what_was_counted_also_where_a_background_task_failed(runtime: Runtime, dsn: str) -> None:
    async def run() -> None:
        await runtime.start()
        runtime._tasks.append(asyncio.create_task(fail()))
        await runtime.enricher.enrich("/api/chat", orjson.dumps(PROMPT), DOBBY)
        answer = await runtime.upstream.open("GET", "/api/tags", [], None)
        await answer.read()
        await answer.aclose()

        await runtime.stop()

    asyncio.run(run())

    with psycopg.connect(dsn) as connection:
        found = {table: connection.execute(query).fetchall() for table, query in WRITTEN.items()}
    assert found == {"heard_message": [("zorblat is a repo.",)], "recollection_event": [("llama3",)]}
