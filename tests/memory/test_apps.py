"""What a process has from the start, before any server runs in it. No test here may use the database."""

import asyncio

from django.apps import apps

from memory.apps import MemoryConfig
from proxy.runtime import Runtime


def test_the_app_is_ready_with_an_empty_cache_and_its_loader_also_under_a_running_event_loop() -> None:
    async def start() -> MemoryConfig:
        app = MemoryConfig.create("memory")
        assert isinstance(app, MemoryConfig)
        app.ready()
        return app

    app = asyncio.run(start())

    assert app.coherence.cache is app.cache
    assert (app.cache.loads, app.cache.soas_by_token) == (0, {})


def test_a_server_serves_from_the_cache_of_the_app() -> None:
    app = apps.get_app_config("memory")
    assert isinstance(app, MemoryConfig)

    runtime = Runtime()

    assert runtime.cache is app.cache
    assert runtime.coherence is app.coherence
