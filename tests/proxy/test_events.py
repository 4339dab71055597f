"""Events on their way to Postgres."""

import asyncio
import time
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from proxy.events import Events

EVENT: dict[str, Any] = {
    "request": "0123456789abcdef", "agent": "dobby", "model": "llama3", "wire": "chat", "block": "", "reasons": {},
    "reasons_left_out": 0, "unread_characters": 0, "enrich_ms": 1.0,
}  # fmt: skip


@pytest.fixture
def dsn(transactional_db: None) -> str:
    return make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])


def test_what_is_being_written_when_the_server_stops_is_waited_for(dsn: str) -> None:
    async def run() -> None:
        events = Events(dsn)
        writing = asyncio.create_task(events.run())
        with psycopg.connect(dsn) as other:
            other.execute("LOCK TABLE recollection_event")
            events.add(EVENT | {"at": time.time()})
            while events._waiting:
                await asyncio.sleep(0.01)
            writing.cancel()
            last = asyncio.create_task(events.write_last())
            await asyncio.sleep(0.1)

            assert not last.done()
        await last

    asyncio.run(run())

    with psycopg.connect(dsn) as client:
        assert client.execute("SELECT request FROM recollection_event").fetchall() == [(EVENT["request"],)]
