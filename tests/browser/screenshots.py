"""``make screenshots``: pictures of the admin's pages, from a Festinger that is made for it and thrown away.

Those that the docs show go to docs/screenshots; ``--all FOLDER`` takes every page, light, dark and on a phone, to be
looked at.
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
from tests.browser import chromium, showcase, world  # noqa: E402
from tests.browser.people import DESK, Person, add_people, address, logged_in, person  # noqa: E402
from tests.llm_server import LlmServer  # noqa: E402
from tests.served.learning import Festinger, festinger  # noqa: E402
from tests.served.postgres import OwnPostgres  # noqa: E402
from tests.standin import StandIn  # noqa: E402

DOCS = ROOT / "docs" / "screenshots"
PHONE = {"width": 390, "height": 844}
SETTLED_MS = 900  # charts and pictures of graphs move until they stand


@dataclass(frozen=True, slots=True)
class Look:
    name: str
    scheme: str
    viewport: dict[str, int]


LIGHT, DARK = Look("light", "light", DESK), Look("dark", "dark", DESK)
SMALL, SMALL_DARK = Look("phone", "light", PHONE), Look("phone-dark", "dark", PHONE)
IN_DOCS = {
    "home": (LIGHT,),
    "conflicts": (LIGHT,),
    "conflict": (LIGHT, SMALL),
    "concept": (LIGHT,),
    "live": (LIGHT,),
    "request": (LIGHT,),
    "agent": (LIGHT,),
    "candidate": (LIGHT,),
    "memory": (LIGHT,),
    "run": (LIGHT,),
    "mirror": (LIGHT,),
    "palette": (LIGHT,),
}


RELEASES = "SELECT id FROM memory WHERE text LIKE '%%first Monday%%' ORDER BY id LIMIT 2"


WITH_MOST_LINES = """
    SELECT request, conversation FROM recollection_event ORDER BY jsonb_array_length(notes) DESC, request LIMIT 1
"""
# Of what was said before; the first waits for the speaker's messages.
ASKED_LATER = (
    "What did we move to Postgres 17?",
    "Which version of Postgres does the billing database of gnommoweb have, and on which day do we deploy it?",
)
PALETTE = "#palette"  # the search over everything, opened there


def main() -> None:
    options = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    options.add_argument("--all", metavar="FOLDER", type=Path, help="every page in every look, to this folder")
    chosen: Path | None = options.parse_args().all
    folder = chosen or DOCS
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with chromium.browser() as opened, running() as whole:
            cookies = logged_in(opened, whole.proxies[0].url, "olga")
            for name, path in pages(whole).items():
                for look in (LIGHT, DARK, SMALL, SMALL_DARK) if chosen else IN_DOCS.get(name, ()):
                    take(opened, whole, cookies, path, look, folder / f"{name}-{look.name}.png")
    except chromium.NoBrowser as reason:
        sys.exit(f"No pictures were taken: {reason}")
    finally:
        shutil.rmtree(HOME, ignore_errors=True)


@contextmanager
def running() -> Iterator[Festinger]:
    with (
        OwnPostgres() as own,
        StandIn(echo=True) as upstream,
        LlmServer() as llm,
        festinger(own, "screenshots", upstream) as whole,
    ):
        add_people(whole)
        whole.run("UPDATE config SET value = 'on' WHERE key = 'recall_current'")
        showcase.show(whole, llm)
        for asked in ASKED_LATER:
            whole.ask(("user", asked), agent="winky")
        whole.wait(lambda: whole.run("SELECT 1 FROM recollection_event WHERE notes <> '[]'"))
        yield whole


def pages(whole: Festinger) -> dict[str, str]:
    """What each picture is called, and where its page is."""
    [(request, conversation)] = whole.run(WITH_MOST_LINES)
    found = {
        "login": address("login"),
        "home": address("index"),
        "conflicts": address("resolution_conflict_changelist"),
        "conflict": address(
            "resolution_conflict_change", first(whole, "conflict", "status = 'open' AND slot_kind = 'edge_slot'")
        ),
        "conflict-of-layers": address(
            "resolution_conflict_change", first(whole, "conflict", "slot_kind = 'cross_layer'")
        ),
        "conflict-of-a-story": address(
            "resolution_conflict_change", first(whole, "conflict", "slot_kind = 'narrative'")
        ),
        "candidate": address("resolution_candidate_change", world.candidate(whole, "skadi")),
        "concepts": address("memory_soas_changelist"),
        "concept": address("memory_soas_change", world.concept(whole, "gnommoweb")),
        "neighbourhood": address("memory_soas_change", world.concept(whole, "gnommoweb")) + "#fst-picture",
        "merge": address("memory_soas_merge", world.concept(whole, "gnommoweb")) + "?into=gnw",
        "dimension": address("memory_dimension_change", world.concept(whole, "type")),
        "decision": address("resolution_decision_change", first(whole, "decision")),
        "run": address("resolution_run_change", first(whole, "run")),
        "quarantine": address("resolution_run_quarantine") + "?agent=dobby",
        "agent": address("memory_agent_change", first(whole, "agent", "name = 'winky'")),
        "person": address("memory_agent_speaker") + "?agent=winky&person=harry",
        "request": address("proxy_recollectionevent_change", request),
        "conversation": address("proxy_conversation", conversation),
        "palette": address("index") + PALETTE,
        "loop": address("proxy_loopevent_change", first(whole, "loop_event")),
        "model": address("memory_languagemodel_change", first(whole, "models")),
        "live": address("proxy_live"),
        "export-and-import": address("resolution_transfer"),
        "memory": address("memory_memory_change", first(whole, "memory", "text LIKE '%%gnommoweb%%'")),
        "write-a-memory": address("memory_memory_add"),
        "merge-memories": address("memory_memory_merge")
        + "?ids={},{}".format(*(key for (key,) in whole.run(RELEASES))),
        "search": address("memory_memory_search"),
        "episode": address("memory_episode_change", first(whole, "episode", "text LIKE 'Postgres%%'")),
        "project": address("memory_project_change", first(whole, "project")),
        "mirror": address("resolution_mirror", "glitch"),
    }
    lists = {
        "facts": "memory_edge", "dimensions": "memory_dimension", "decisions": "resolution_decision",
        "memories": "memory_memory", "episodes": "memory_episode", "projects": "memory_project",
        "project-state": "memory_projectstate",
        "candidates": "resolution_candidate", "runs": "resolution_run", "history": "memory_edgehistory",
        "decided-triples": "resolution_decidedtriple",
        "observations": "memory_observation", "evidence": "memory_evidence",
        "recollections": "proxy_recollectionevent", "loops": "proxy_loopevent", "calls": "memory_llmcall",
        "config": "memory_config", "models": "memory_languagemodel", "agents": "memory_agent",
        "heartbeats": "memory_heartbeat", "schedules": "django_celery_beat_periodictask",
    }  # fmt: skip
    return found | {name: address(f"{model}_changelist") for name, model in lists.items()}


def first(whole: Festinger, table: str, claim: str = "true") -> int:
    [(found,)] = whole.run(f"SELECT min(id) FROM {table} WHERE {claim}")
    return int(found)


def take(opened: Browser, whole: Festinger, cookies: StorageState, path: str, look: Look, file: Path) -> None:
    storage = None if path == address("login") else cookies
    looks = {"color_scheme": look.scheme, "viewport": look.viewport}
    with person(opened, whole.proxies[0].url, storage, **looks) as someone:
        show(someone, path)
        someone.page.screenshot(path=file)
    print(f"{file}  {file.stat().st_size // 1024} KB", flush=True)


def show(someone: Person, path: str) -> None:
    answer = someone.page.goto(path)
    if answer is None or answer.status != 200:
        sys.exit(f"{path} does not open: {answer.status if answer else 'no answer'}")
    if path.endswith(PALETTE):
        someone.page.keyboard.press("Control+k")
        someone.page.wait_for_timeout(SETTLED_MS)
        someone.page.keyboard.type("gnommoweb")
    someone.page.wait_for_timeout(SETTLED_MS)


if __name__ == "__main__":
    main()
