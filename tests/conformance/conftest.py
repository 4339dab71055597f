"""Two stand-ins, so that each side has a history of its own: one asked directly, one behind a Festinger."""

import gc
from collections.abc import Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from tests.conformance.sides import Side
from tests.conformance.tap import Tap
from tests.served.server import Served, new_database
from tests.standin import StandIn

FACTS = ("gnommoweb -isa repo", "snark -isa boojum")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """LiteLLM and LangChain leave sockets and event loops to the garbage collector; it comes when it likes."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def _collected(collected_between_tests: None) -> None:
    """Each of these tests."""


@pytest.fixture(scope="session")
def direct() -> Iterator[Side]:
    with StandIn() as ollama, Tap(("127.0.0.1", ollama.port)) as tap:
        yield Side(tap, ollama)


@pytest.fixture(scope="session")
def festinger() -> Iterator[Side]:
    """Knows the facts: a prompt that names one of their concepts would show it, were it not for the header."""
    yield from knowing(new_database(settings.DATABASE_URL, "festinger_conformance"))


@pytest.fixture(scope="session")
def topping() -> Iterator[Side]:
    """The same, and puts blocks before the system text."""
    database = new_database(settings.DATABASE_URL, "festinger_conformance_topping")
    with psycopg.connect(database) as client:
        client.execute(
            "INSERT INTO config (key, value, updated_at) VALUES ('recollection_placement', 'system', now())"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        )
    yield from knowing(database)


def knowing(database: str) -> Iterator[Side]:
    with StandIn() as ollama:
        served = Served(upstream=ollama.url, database=database).wait_ready()
        assert [served.teach(fact).status_code for fact in FACTS] == [201, 201]
        with Tap(("127.0.0.1", served.port)) as tap:
            yield Side(tap, ollama)
        served.stop()


@pytest.fixture(scope="package")
def litellm_and_its_logging() -> Iterator[tuple[Any, set[Future[Any]]]]:
    """With the price list of its package: the newest one would come from the network."""
    logging: set[Future[Any]] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        import litellm
        from litellm.litellm_core_utils.thread_pool_executor import BoundedLoggingThreadPoolExecutor as Executor

        submit = Executor.submit

        def note(executor: Any, *work: Any, **more: Any) -> Future[Any]:
            logging.add(future := submit(executor, *work, **more))
            return future

        patch.setattr(Executor, "submit", note)
        litellm.suppress_debug_info = True
        yield litellm, logging
    gc.collect()  # while its warnings are still let pass


@pytest.fixture
def litellm(litellm_and_its_logging: tuple[Any, set[Future[Any]]]) -> Iterator[Any]:
    """Waits at the end for its logging threads, which ask for details of models: the next test would see it."""
    litellm, logging = litellm_and_its_logging
    yield litellm
    wait(logging)
    logging.clear()
