"""What holds for all tests: how thoroughly properties are searched, the order of files, the emptying of tables."""

import gc
import os
import signal
from collections.abc import Iterator
from typing import Any

import certifi
import hypothesis
import pytest

from tests import embedded_postgres, scheduling
from tests.receiver import Receiver

# A shell ignores Ctrl-C for what it starts with "&", and every child inherits that: then a test that interrupts one
# would wait in vain.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without deadlines: how long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("dev", max_examples=25, deadline=None)
hypothesis.settings.register_profile("ci", max_examples=25, deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("night", max_examples=300, deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=scheduling.place_of)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.FilesTogether:
    return scheduling.FilesTogether(config, log)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """True if the cluster is this run's own and goes as a whole. Dropping its database first would only wait for
    whoever is in it, an autovacuum worker, say, and then fail."""
    return bool(embedded_postgres.SERVERS)


@pytest.fixture(scope="session", autouse=True)
def _emptied_cheaply() -> Iterator[None]:
    from django.test import TransactionTestCase

    from tests.flushing import empty_tables

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty_tables())
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All is plain HTTP here, but each client reads the list of certificate authorities, for some 40 ms of processor
    time: one is enough."""
    end = "-----END CERTIFICATE-----\n"
    one = tmp_path_factory.mktemp("tls") / "authority.pem"
    with open(certifi.where()) as all_of_them:
        one.write_text(all_of_them.read().partition(end)[0] + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certifi, "where", lambda: str(one))
        yield


@pytest.fixture
def collected_between_tests() -> Iterator[None]:
    """For tests with LiteLLM, which leaves streams to the garbage collector. httpcore closes such a stream under its
    pool's lock; where the collector comes while the same thread holds that lock, the thread waits for itself, forever.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect(1)  # what is young: all of it takes LiteLLM's half a gigabyte through the processor


@pytest.fixture(scope="session")
def running_receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def receiver(running_receiver: Receiver) -> Receiver:
    """Of webhooks, with nothing received yet."""
    running_receiver.got.clear()
    running_receiver.statuses.clear()
    return running_receiver
