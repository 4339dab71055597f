"""The browser that operators are played with: the distribution's Chromium, headless, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Root may not use the sandbox, containers often have a tiny /dev/shm, and nothing here needs a graphics card.
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")


class NoBrowser(Exception):
    """There is none, or it does not start. The message says what was tried."""


def path() -> str:
    """Raises NoBrowser."""
    named = os.environ.get("FESTINGER_CHROMIUM")
    for name in (named,) if named else NAMES:
        if found := shutil.which(name):
            return found
    if named:
        raise NoBrowser(f"{named}, which FESTINGER_CHROMIUM names, is no program")
    raise NoBrowser("there is no Chromium on the PATH (apt-get install chromium), and FESTINGER_CHROMIUM names none")


@contextmanager
def browser() -> Iterator[Browser]:
    """Raises NoBrowser. While it is open, this thread counts as one with a running event loop."""
    program = path()
    try:
        driver = sync_playwright().start()
    except (Error, OSError) as error:
        raise NoBrowser(f"Playwright's driver does not start: {error}") from error
    try:
        try:
            opened = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        except Error as error:
            raise NoBrowser(f"{program} does not start: {error}") from error
        yield opened
        opened.close()
    finally:
        driver.stop()
