"""``festinger doctor``: what operators can get wrong, and what mends it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from tests.served.server import PROJECT, Served, free_port, new_database
from tests.standin import StandIn


class Examined:
    def __init__(self, **environment: str) -> None:
        done = subprocess.run(
            [sys.executable, "manage.py", "doctor", "--json"],
            cwd=PROJECT,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.status = done.returncode
        self.results: dict[str, dict[str, Any]] = {each["part"]: each for each in json.loads(done.stdout)}

    def tell(self, part: str) -> tuple[str, str]:
        return self.results[part]["level"], self.results[part]["message"]


@pytest.fixture(scope="module")
def own() -> str:
    return new_database(settings.DATABASE_URL, "festinger_examined")


@pytest.fixture(scope="module")
def examined(own: str, upstream: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Examined:
    """A server runs, without a worker."""
    home = tmp_path_factory.mktemp("examined")
    (home / "prepared").touch()
    served = Served(upstream=upstream.url, database=own, FESTINGER_HOME=str(home))
    served.wait_ready()
    with psycopg.connect(own) as connection:
        connection.execute("UPDATE installed_version SET at = now() - interval '2 days'")
        connection.execute("UPDATE django_celery_beat_periodictask SET enabled = false WHERE task LIKE '%back_up'")
    elsewhere = Examined(DATABASE_URL=own, FESTINGER_HOME=str(home), FESTINGER_PORT=(other := str(free_port())))
    assert elsewhere.tell("Port")[1] == f"Nothing listens on port {other}; the server does on {served.port}."
    found = Examined(
        DATABASE_URL=own,
        FESTINGER_HOME=str(home),
        FESTINGER_PORT=str(served.port),
        FESTINGER_UPSTREAM=upstream.url,
        FESTINGER_UPSTREAM_URL="http://gpu:11434",
    )
    served.stop()
    return found


@pytest.mark.parametrize(
    "part",
    ["Home", "config.yaml", "Port", "Upstream", "Database", "Search", "Migrations", "Tokens", "Keys", "Listener"],
)
def test_what_is_well_is_said_so(examined: Examined, part: str) -> None:
    assert examined.results[part]["level"] == "ok", examined.results[part]


@pytest.mark.parametrize(
    ("part", "level", "message"),
    [
        ("Environment", "warning", "FESTINGER_UPSTREAM_URL is not read: did you mean FESTINGER_UPSTREAM?"),
        ("Schedules", "note", "Switched off: backup."),
        ("Backups", "warning", "There is none yet."),
        ("Worker", "problem", "No heartbeat from a worker yet: statements are not placed, conflicts are not decided."),
    ],
)
def test_what_is_wrong_is_said_with_what_mends_it(examined: Examined, part: str, level: str, message: str) -> None:
    assert examined.tell(part) == (level, message)
    assert examined.results[part]["hint"]


def test_a_problem_is_in_the_exit_status(examined: Examined) -> None:
    assert examined.status == 1


def test_what_keeps_it_from_starting_is_found_while_it_does_not_run(
    own: str, upstream: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "prepared").touch()
    (tmp_path / "config.yaml").write_text("loop: 1\n")
    with psycopg.connect(own) as connection:
        connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_later', now())")
    try:
        found = Examined(
            DATABASE_URL=own,
            FESTINGER_HOME=str(tmp_path),
            FESTINGER_HOST="0.0.0.0",
            FESTINGER_PORT=upstream.url.rpartition(":")[2],
            FESTINGER_UPSTREAM=f"http://127.0.0.1:{free_port()}",
        )
    finally:
        with psycopg.connect(own) as connection:
            connection.execute("DELETE FROM django_migrations WHERE name = '9999_later'")

    problems = {part for part, result in found.results.items() if result["level"] == "problem"}
    assert problems == {"config.yaml", "Access", "Port", "Upstream", "Migrations"}
    assert "loop: there is no such key" in found.tell("config.yaml")[1]
    assert "memory 9999_later" in found.tell("Migrations")[1]
