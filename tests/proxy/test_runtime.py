"""The end of a server process."""

import asyncio
from typing import Any
from unittest.mock import AsyncMock

from proxy.runtime import Runtime

WRITERS = ("outbox", "flusher", "events", "injection_log", "pulse")
PARTS = ("settings_file", "upstream", "modelfiles", "encounters", *WRITERS)


async def fail() -> None:
    raise ValueError


def test_what_was_counted_is_written_whatever_ended_a_background_task() -> None:
    parts: dict[str, Any] = {name: AsyncMock() for name in PARTS}

    async def run() -> None:
        task = asyncio.create_task(fail())
        await asyncio.sleep(0)
        others: dict[str, Any] = dict.fromkeys(("world", "enricher", "coherence", "conversations"))
        runtime = Runtime(**others, **parts, _tasks=[task])
        await runtime.stop()

    asyncio.run(run())

    parts["flusher"].flush_last.assert_awaited_once()
    parts["outbox"].write_last.assert_awaited_once()
    parts["upstream"].aclose.assert_awaited_once()
