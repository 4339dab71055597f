"""One Festinger, one language model and one browser for all of these tests; each test speaks of words of its own."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, StorageState

from tests.browser import chromium
from tests.browser.people import Name, Person, add_people, logged_in, person
from tests.llm_server import LlmServer
from tests.served.learning import Festinger, festinger
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

As = Callable[..., Person]
Cookies = Callable[[Name], StorageState]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


# Not for the whole session: while it is open, nothing else in this process can run an event loop.
@pytest.fixture(scope="package")
def browser(chromium_path: str) -> Iterator[Browser]:
    try:
        with chromium.browser() as opened:
            yield opened
    except chromium.NoBrowser as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Looked for first: without a browser nothing else needs to be started."""
    try:
        return chromium.path()
    except chromium.NoBrowser as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def llm_server() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture(scope="session")
def running(chromium_path: str) -> Iterator[Festinger]:
    with OwnPostgres() as own, StandIn(echo=True) as upstream, festinger(own, "browser", upstream) as whole:
        add_people(whole)
        yield whole


@pytest.fixture(scope="package")
def cookies(browser: Browser, running: Festinger) -> Cookies:
    """Of somebody who logged in, the first time that they are asked for."""
    return cache(lambda name: logged_in(browser, running.proxies[0].url, name))


@pytest.fixture
def whole(running: Festinger) -> Festinger:
    """Nothing is disputed when a test begins."""
    running.run("UPDATE resolution_queue SET status = 'dismissed' WHERE status IN ('pending', 'proposed')")
    return running


@pytest.fixture
def as_(browser: Browser, running: Festinger, cookies: Cookies) -> Iterator[As]:
    """``as_("olga")`` is logged in. At the end, no page's script may have failed."""
    people: list[Person] = []
    opened = []

    def open_as(name: Name, **context: object) -> Person:
        opened.append(person(browser, running.proxies[0].url, cookies(name), **context))
        people.append(opened[-1].__enter__())
        return people[-1]

    yield open_as
    for one in opened:
        one.__exit__(None, None, None)
    assert [complaint for one in people for complaint in one.complaints] == []


@pytest.fixture
def olga(as_: As) -> Person:
    return as_("olga")


@pytest.fixture
def vera(as_: As) -> Person:
    return as_("vera")
