"""Accounts, and what people do in a browser whatever the page."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

from django.contrib.auth.hashers import make_password
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, StorageState, expect

from tests.served.learning import PATIENCE_S, Festinger

Name = Literal["olga", "otto", "vera"]
GROUPS: dict[Name, str] = {"olga": "operators", "otto": "operators", "vera": "viewers"}
PASSWORD = "correct horse battery staple"
DESK = {"width": 1280, "height": 800}
PATIENCE_MS = PATIENCE_S * 1000  # for what comes for sure, on a machine that may have much else to do

expect.set_options(timeout=PATIENCE_MS)


@cache
def password_hash() -> str:
    return make_password(PASSWORD)


def add_people(whole: Festinger) -> None:
    for name, group in GROUPS.items():
        whole.run(
            "INSERT INTO auth_user (username, password, is_staff, is_active, is_superuser,"
            " first_name, last_name, email, date_joined) VALUES (%s, %s, true, true, false, '', '', '', now())",
            name,
            password_hash(),
        )
        whole.run(
            "INSERT INTO auth_user_groups (user_id, group_id)"
            " SELECT u.id, g.id FROM auth_user u, auth_group g WHERE (u.username, g.name) = (%s, %s)",
            name,
            group,
        )


class Person:
    """Somebody in front of a page. What its scripts complain about is collected in ``complaints``."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        page.on("console", self._heard)
        page.on("dialog", lambda dialog: dialog.accept())  # a question before an action on several rows

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{self.page.url}: {message.text}")

    def opens(self, name: str, *args: object, **query: object) -> None:
        """The page of this name, as in ``memory_soas_change``."""
        said = "&".join(f"{key}={value}" for key, value in query.items())
        self.page.goto(address(name, *args) + (f"?{said}" if said else ""))

    def logs_in(self, name: Name) -> None:
        self.opens("login")
        self.page.get_by_label("Username").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(address("index"))

    def leaves(self) -> None:
        """Closes the page, and removes what it stored on the device."""
        if self.page.url.startswith("http"):
            self.page.evaluate("localStorage.clear()")
        self.page.close()

    def is_told(self, text: str) -> None:
        """By a message on top of the page."""
        expect(self.page.get_by_text(text).first).to_be_visible()

    def sees_change(self, what: str, *told: str) -> None:
        """In the timeline of a row, with all that is told of it."""
        changes = self.page.get_by_role("region", name="Timeline").get_by_role("listitem")
        for text in told:
            expect(changes.filter(has_text=what).first).to_contain_text(text)

    def types(self, *keys: str) -> None:
        self.page.wait_for_load_state()  # the page's script takes them
        for key in keys:
            self.page.keyboard.press(key)


def address(name: str, *args: object) -> str:
    return reverse(f"admin:{name}", args=args)


@contextmanager
def seat(browser: Browser, url: str, storage: StorageState | None = None, **context: Any) -> Iterator[BrowserContext]:
    """A context of the browser with no cookies, or those of ``storage``."""
    opened = browser.new_context(base_url=url, storage_state=storage, **({"viewport": DESK} | context))
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def person(browser: Browser, url: str, storage: StorageState | None = None, **context: Any) -> Iterator[Person]:
    """Somebody at a seat of their own."""
    with seat(browser, url, storage, **context) as opened:
        yield Person(opened.new_page())


def begin_anew(context: BrowserContext, storage: StorageState) -> None:
    """Leave it only the cookies of ``storage``: none of messages that an earlier test has not read."""
    context.clear_cookies()
    context.add_cookies(storage["cookies"])


def logged_in(browser: Browser, url: str, name: Name) -> StorageState:
    """The cookies of somebody who typed name and password."""
    with person(browser, url) as someone:
        someone.logs_in(name)
        kept = someone.page.context.storage_state()
    return json.loads(json.dumps(kept))  # type: ignore[no-any-return]
