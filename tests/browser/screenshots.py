"""``make screenshots``: pictures of the admin's pages, from a Festinger that is made for it and thrown away.

They go to docs/screenshots, as WebP: half as large as PNG. ``--all FOLDER`` takes every page also dark and on a phone,
as PNG, to be looked at.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HOME = Path(tempfile.mkdtemp(prefix="festinger-screenshots-")).resolve()
HOME.chmod(0o711)  # as root, Postgres is another user, who has to pass through
os.environ["FESTINGER_HOME"] = str(HOME)
os.environ["DJANGO_SETTINGS_MODULE"] = "festinger_site.settings"

import django  # noqa: E402  it reads the environment

django.setup()

from playwright.sync_api import Browser, StorageState  # noqa: E402

from festinger_site.home import ROOT  # noqa: E402
from tests.browser import chromium, showcase  # noqa: E402
from tests.browser.pages import PAGES, Page  # noqa: E402
from tests.browser.people import DESK, add_people, address, logged_in, person  # noqa: E402
from tests.llm_server import LlmServer  # noqa: E402
from tests.served.learning import Festinger, festinger  # noqa: E402
from tests.served.postgres import OwnPostgres  # noqa: E402
from tests.standin import StandIn  # noqa: E402

DOCS = ROOT / "docs" / "screenshots"
QUALITY = 75  # of 100: letters stay sharp, and a page takes about 45 kB
PHONE = {"width": 390, "height": 844}
SETTLED_MS = 900  # charts and pictures of graphs move until they stand


@dataclass(frozen=True, slots=True)
class Look:
    name: str
    scheme: str
    viewport: dict[str, int]


LIGHT, DARK = Look("light", "light", DESK), Look("dark", "dark", DESK)
SMALL, SMALL_DARK = Look("phone", "light", PHONE), Look("phone-dark", "dark", PHONE)
IN_DOCS = {"conflict": (LIGHT, SMALL)}  # the others in the light look


def main() -> None:
    options = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    options.add_argument("--all", metavar="FOLDER", type=Path, help="every page in every look, to this folder")
    chosen: Path | None = options.parse_args().all
    folder, kind = (chosen, "png") if chosen else (DOCS, "webp")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with chromium.browser() as opened, running() as whole:
            cookies = logged_in(opened, whole.proxies[0].url, "olga")
            for name, page in PAGES.items():
                for look in (LIGHT, DARK, SMALL, SMALL_DARK) if chosen else IN_DOCS.get(name, (LIGHT,)):
                    take(opened, whole, cookies, page, look, folder / f"{name}-{look.name}.{kind}")
    except chromium.NoBrowser as reason:
        sys.exit(f"No pictures were taken: {reason}")
    finally:
        shutil.rmtree(HOME, ignore_errors=True)


@contextmanager
def running() -> Iterator[Festinger]:
    with (
        OwnPostgres() as own,
        StandIn() as upstream,
        LlmServer() as llm,
        festinger(own, "screenshots", upstream) as whole,
    ):
        add_people(whole)
        whole.run("UPDATE auth_user SET is_superuser = true WHERE username = 'olga'")  # sees accounts, too
        # As by default: tests have them otherwise.
        whole.run("UPDATE config SET value = 'on' WHERE key = 'recall_current'")
        whole.run("UPDATE config SET value = 'sentences' WHERE key = 'recollection_style'")
        showcase.show(whole, llm)
        yield whole


def take(opened: Browser, whole: Festinger, cookies: StorageState, page: Page, look: Look, file: Path) -> None:
    storage = None if page.view == "login" else cookies
    looks = {"color_scheme": look.scheme, "viewport": look.viewport}
    with person(opened, whole.proxies[0].url, storage, **looks) as someone:
        answer = someone.page.goto(find_path(whole, page))
        if answer is None or answer.status != 200:
            sys.exit(f"{file.stem} does not open: {answer.status if answer else 'no answer'}")
        if page.act is not None:
            page.act(someone)
        someone.page.wait_for_timeout(SETTLED_MS)
        someone.page.screenshot(path=file, quality=QUALITY if file.suffix == ".webp" else None)
    print(f"{file}  {file.stat().st_size // 1024} KB", flush=True)


def find_path(whole: Festinger, page: Page) -> str:
    found = whole.run(page.row)[0] if page.row else ()
    if "{}" in page.query:
        return address(page.view) + page.query.format(*found)
    return address(page.view, *found) + page.query


if __name__ == "__main__":
    main()
