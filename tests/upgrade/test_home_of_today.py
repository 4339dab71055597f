"""Upgrades of a home, and of a backup, that version 0.2.0 has left: nothing in them is lost, and all of it works.

``tests/upgrade/make_home.py`` made both and counted what is in them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import psycopg
import pytest

from festinger_site import home as homes
from festinger_site.dev.scratch_instance import free_port
from festinger_site.run import postgres_cluster
from memory.settings import retired
from tests.launched import Run, environment, wait_until
from tests.llm_server import KEY
from tests.prepared_postgres import embedded_url
from tests.served.server import PROJECT, manage
from tests.standin import StandIn
from tests.upgrade.contents import Contents, find_differences, read_contents
from tests.upgrade.home_archive import temporary_home, unpack

pytestmark = pytest.mark.slow

FOLDER: Final = Path(__file__).parent
RECORDED: Final[Contents] = json.loads((FOLDER / "counts.json").read_text())
# Tables and lists of which an upgrade leaves another content, each with the clause of the specification that says so.
ALLOWED: Final[dict[str, str]] = {
    "rows of django_migrations": "Upgrade",
    "rows of forget_request": "Requests to forget have a table.",
    **dict.fromkeys(
        (f"rows of {table}" for table in ("auth_permission", "auth_group_permissions", "django_content_type")),
        "A new table brings permissions.",
    ),
    "rows of config": "Configuration: one of the 29 settings",
    "rows of asked_search": "Searches on request are not counted any more.",
    "rows of detective_mark": "Narrative detective: it reads what has changed since its last run.",
    "rows of run": "Upgrade: memories that rules made from prose become candidates, in a run",
    "runs": "Upgrade: the same",
    "rows of decision": "Upgrade: the same, as decisions of the run",
    "rows of idempotent_call": "The header `Idempotency-Key`: answers to what may be sent again.",
    "rows of decision_change": "Undo: a row trigger on all tables logs to decision_change.",
    "rows of installed_version": "Upgrade: a version that has prepared the database has a row.",
    "rows of upstream_model": "Language models: the models of the upstream, last used first.",
    "rows of support": "Data model: the support of facts is rows, not a number.",
    **dict.fromkeys(("rows of layer_slot", "rows of slot_claim"), "Slots and claims: claims are stored with the row."),
    **dict.fromkeys(
        ("rows of conflict_member", "members"), "Detection: the fact that a queued statement disputes is a member."
    ),
}
# Settings that an upgrade adds, or gives another value that stands for the same.
SETTINGS: Final = {"recollection_placement": "tail", "recollection_max_profile_tokens": "150", "idle_s": "600.0"}
# Settings that are constants now; what an operator had changed of them stays, to be told.
FIXED: Final = import_module("memory.migrations.0021_fixed_limits").DEFAULTS
RECORDED["settings"] = sorted(
    [*pair] for pair in (dict(RECORDED["settings"]) | SETTINGS).items() if pair not in FIXED.items()
)
# Schedules that an upgrade joins; the detective's was switched off, and its job stays off.
JOINED: Final = import_module("resolution.migrations.0012_one_lock_for_nightly_jobs").JOBS
RECORDED["schedules"] = [
    ["Nightly jobs", "resolution.tasks.nightly", True, None, None, "0 3 * * *"],
    *(row for row in RECORDED["schedules"] if row[1] not in {*JOINED, "resolution.tasks.keep_schedule"}),
]
RECORDED["rows"]["django_celery_beat_periodictask"] -= len(JOINED)
# Memories that rules had made, and the sentences that they become.
REWRITTEN: Final = {
    "The team decided to use Kafka as the event bus.": "We decided to use Kafka as the event bus.",
    "The user wants to be called Ann.": "Call me Ann.",
    "The user asked to answer in Spanish from now on.": "From now on, answer in Spanish.",
    "The user prefers tabs to spaces.": "I prefer tabs to spaces.",
    "The user lives in Oslo.": "I live in Oslo.",
    "The user's favourite colour is green.": "My favourite colour is green.",
    "The user's birthday is 3 May.": "My birthday is 3 May.",
    "The user is a nurse.": "I'm a nurse.",
}
# Lists that the work of a worker only adds to; it may also close conflicts, and let memories and candidates expire.
KEPT: Final = (
    "agents", "aliases", "decided", "decisions", "dimensions", "episodes", "facts", "models", "muted", "project_state",
    "projects", "schedules", "settings", "users", "webhooks",
)  # fmt: skip
MERGED_AT_NIGHT: Final = "The team decided to use Kafka for the event bus."
MEMORY_TEXT, MEMORY_STATUS = 4, 5  # of its row in RECORDED
PROCESSED_S: Final = 120.0


class Upgraded(NamedTuple):
    run: Run
    url: str  # of the database
    upstream: StandIn

    def read(self) -> Contents:
        return read_contents(self.run.home, self.url)

    def ask(self, text: str) -> str:
        """Send a prompt as an agent of old; return what reached the model."""
        token = RECORDED["tokens"]["zero"]
        body = {"model": "llama3", "stream": False, "messages": [{"role": "user", "content": text}]}
        url = f"http://127.0.0.1:{self.run.port}/api/chat"
        answer = httpx.post(url, json=body, headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=30)
        assert answer.status_code == 200
        return str(self.upstream.last("/api/chat").json()["messages"][-1]["content"])


@pytest.fixture(scope="module")
def upgraded() -> Iterator[Upgraded]:
    with temporary_home() as home, StandIn() as upstream:
        unpack(FOLDER / "home-0.2.0.tar.xz", home)
        run = Run(home, free_port(), home.parent / "said", FESTINGER_UPSTREAM=upstream.url)
        try:
            run.wait_ready()
            yield Upgraded(run, embedded_url(home, homes.DATABASE), upstream)
        finally:
            run.stop()


def test_a_backup_is_restored_and_migrated_without_a_difference() -> None:
    with temporary_home() as home:
        for words in (["restore", str(FOLDER / "backup-0.2.0.tar")], ["prepare"]):
            manage(*words, FESTINGER_HOME=str(home), DATABASE_URL="")
        postgres = postgres_cluster.start(home)
        try:
            found = read_contents(home, embedded_url(home, homes.DATABASE))
        finally:
            postgres_cluster.stop(home)
            postgres.wait()

        differing = find_differences(RECORDED, found)
        assert {name: change for name, change in differing.items() if name not in ALLOWED} == {}
        assert differing["members"][0] == []
        disputed = {conflict for conflict, kind, *_ in found["members"] if kind == "edge"}
        assert {conflict for conflict, *_ in found["claims"]} <= disputed
        assert (home / "config.yaml").exists()


def test_settings_that_are_gone_are_named_where_an_operator_had_changed_them(upgraded: Upgraded) -> None:
    known = {key: value for key, value in RECORDED["settings"] if key in FIXED}

    ignored = upgraded.run.health()["ignored_settings"]

    of_file = [line.removeprefix("config.yaml: ") for line in ignored if line.startswith("config.yaml: ")]
    of_table = ignored[: len(ignored) - len(of_file)]
    assert [line.partition(":")[0] for line in of_table] == [f"{key} = '{known[key]}'" for key in sorted(known)]
    assert {line.split()[0] for line in of_file} == set(retired.CONFIG_FILE)
    assert of_file[-1].startswith("limits.conversations = '10000': ")


def test_a_prompt_is_given_a_fact_that_was_stored_before(upgraded: Upgraded) -> None:
    arrived = upgraded.ask("What is pensieve?")

    assert "<recollection>" in arrived
    assert "pensieve is a database" in arrived


def test_messages_that_waited_in_the_table_and_in_the_journal_are_learned(upgraded: Upgraded) -> None:
    waited = {"bifrost": {"gateway", "tyr-3"}, "ratatosk": {"courier", "tyr-4"}}
    remembered = {"The fuse box is in the cellar.", "The spare keys hang in the workshop."}

    def is_learned() -> bool:
        found = upgraded.read()
        facts = {name: {parent for concept, parent, *_ in found["facts"] if concept == name} for name in waited}
        texts = {memory[MEMORY_TEXT] for memory in found["memories"]}
        return facts == waited and remembered <= texts and not found["journal"] and not found["waiting"]

    wait_until(is_learned, PROCESSED_S)


def test_every_schedule_names_a_task_that_runs_and_secrets_are_readable(upgraded: Upgraded) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.upgrade.probe"],
        cwd=PROJECT, env=environment(upgraded.run.home), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"unknown": [], "failed": {}, "secrets": [KEY, "whsec-0123456789abcdef"]}


def test_after_all_tasks_have_run_what_was_stored_is_still_there(upgraded: Upgraded) -> None:
    found = upgraded.read()

    lost = {name: [row for row in RECORDED[name] if row not in found[name]] for name in KEPT}
    assert {name: rows for name, rows in lost.items() if rows and name not in ALLOWED} == {}
    assert {REWRITTEN.get(text, text) for text in texts(RECORDED)} <= texts(found)
    candidates = {memory[MEMORY_TEXT] for memory in found["memories"] if memory[MEMORY_STATUS] == "candidate"}
    assert set(REWRITTEN.values()) <= candidates
    assert {conflict[0] for conflict in RECORDED["conflicts"]} <= {conflict[0] for conflict in found["conflicts"]}


def test_decisions_of_before_are_undone_newest_first(upgraded: Upgraded) -> None:
    with psycopg.connect(upgraded.url) as connection:
        merges = connection.execute("SELECT id FROM decision WHERE kind = 'consolidate' AND run_id IS NULL").fetchall()
    assert len(merges) == 1
    undone = {row[5] for row in RECORDED["decisions"]}
    left = [row for row in RECORDED["decisions"] if row[1] != "undo" and row[0] not in undone]
    assert {row[1] for row in left} >= {"update", "decompose", "relocate", "supersede"}
    headers = {"Authorization": f"Bearer {RECORDED['tokens']['carla']}"}
    refused = {}
    for decision, kind, *_ in [(*merges[0], "merge of memories"), *sorted(left, reverse=True)]:
        url = f"http://127.0.0.1:{upgraded.run.port}/decisions/{decision}/undo"
        answer = httpx.post(url, json={}, headers=headers, trust_env=False, timeout=30)
        if answer.status_code != 200:
            refused[kind] = answer.json()["error"]

    assert refused == {}
    now = {memory[MEMORY_TEXT]: memory[MEMORY_STATUS] for memory in upgraded.read()["memories"]}
    assert now[MERGED_AT_NIGHT] == "active"


def texts(contents: Contents) -> set[str]:
    return {memory[MEMORY_TEXT] for memory in contents["memories"]}
