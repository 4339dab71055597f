"""One Festinger, one language model and one browser for all of these tests; each test speaks of words of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, StorageState

from tests.browser import chromium
from tests.browser.people import Name, Person, add_people, begin_anew, logged_in, seat
from tests.llm_server import LlmServer
from tests.served.learning import Festinger, festinger
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

As = Callable[[Name], Person]
Cookies = Callable[[Name], StorageState]
Seats = Callable[[Name], BrowserContext]


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
    running.run("UPDATE conflict SET status = 'dismissed', resolved_at = now() WHERE status = 'open'")
    return running


@pytest.fixture(scope="package")
def seats(browser: Browser, running: Festinger, cookies: Cookies) -> Iterator[Seats]:
    """A context of the browser for each of them, kept for all tests: its cache holds the scripts and fonts, without
    which a page takes three times as long to open."""
    with ExitStack() as opened:
        yield cache(lambda name: opened.enter_context(seat(browser, running.proxies[0].url, cookies(name))))


@pytest.fixture
def as_(seats: Seats, cookies: Cookies) -> Iterator[As]:
    """``as_("olga")`` is logged in and has opened no page before. At the end, no page's script may have failed."""
    people: list[Person] = []

    def open_as(name: Name) -> Person:
        begin_anew(seats(name), cookies(name))
        people.append(Person(seats(name).new_page()))
        return people[-1]

    yield open_as
    for one in people:
        one.leaves()
    assert [complaint for one in people for complaint in one.complaints] == []


@pytest.fixture
def olga(as_: As) -> Person:
    return as_("olga")


@pytest.fixture
def vera(as_: As) -> Person:
    return as_("vera")
