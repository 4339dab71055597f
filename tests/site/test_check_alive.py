"""Whether a part is alive, as containers ask it."""

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from festinger_site import settings
from festinger_site.dev.scratch_instance import free_port
from festinger_site.home import ROOT
from festinger_site.run.liveness_probe import complaint
from memory.running.heartbeats import Process, give_sign
from tests.site.test_launch import environment


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> str:
    address = make_conninfo(django_settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])
    monkeypatch.setattr(settings, "DATABASE_URL", address)
    return address


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """A server in the proxy's place; what it says of its health is the test's to set."""
    said = {"health": b""}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/health" else 404)
            self.end_headers()
            self.wfile.write(said["health"])

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setattr(settings, "FESTINGER_HOST", "0.0.0.0")  # it is asked over loopback all the same
        monkeypatch.setattr(settings, "FESTINGER_PORT", server.server_port)
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield said
        server.shutdown()
        thread.join()


def test_a_worker_that_never_ran_is_not_alive(database):
    give_sign(Process("beat"))

    assert complaint("worker") == "has given no sign of life yet"


def test_a_young_sign_of_life_is_enough(database):
    give_sign(Process.this("worker"))

    assert complaint("worker") == ""


def test_an_old_sign_of_life_is_not_enough(database):
    give_sign(Process.this("worker"))
    with psycopg.connect(database) as other:
        other.execute("UPDATE heartbeat SET at = now() - interval '100 seconds'")

    assert complaint("worker") == "has given no sign of life for 100 s"


def test_a_container_asks_for_the_worker_in_it_and_not_for_another(database):
    give_sign(Process.this("worker"))
    with psycopg.connect(database) as other:
        other.execute("UPDATE heartbeat SET at = now() - interval '100 seconds'")
    give_sign(Process("worker", "elsewhere", 1))

    assert complaint("worker") == "has given no sign of life for 100 s"


def test_where_no_worker_runs_one_elsewhere_is_asked_for(database):
    give_sign(Process("worker", "elsewhere", 1))

    assert complaint("worker") == ""


def test_without_its_database_nobody_can_tell(monkeypatch):
    monkeypatch.setattr(settings, "DATABASE_URL", f"postgresql://u:hunter2@127.0.0.1:{free_port()}/name")

    why_not = complaint("worker")

    assert why_not.startswith("the database cannot be asked (")
    assert "hunter2" not in why_not
    assert "\n" not in why_not


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        (b'{"ready": true}', ""),
        (b'{"ready": false}', "answers, but is not ready"),
        (b"<html>", "does not answer on port"),
    ],
)
def test_a_proxy_is_alive_when_it_is_ready(answering, health, expected):
    answering["health"] = health

    assert complaint("proxy").startswith(expected)
    assert bool(complaint("proxy")) == bool(expected)


def test_a_proxy_that_does_not_run_is_not_alive(monkeypatch):
    monkeypatch.setattr(settings, "FESTINGER_PORT", free_port())

    assert complaint("proxy") == f"does not answer on port {settings.FESTINGER_PORT}"


def said_by(tmp_path, *words: str, **variables: str) -> str:
    """The only line of standard error of a command that ends with 1."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment(tmp_path / "home", **variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    return line


NOWHERE = "postgresql://u:hunter2@127.0.0.1:9/name"
NO_PART = "usage: python -m festinger_site.run.programs worker|proxy"


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        ("-m festinger_site.run.liveness_probe worker", {}, "worker: the database cannot be asked ("),
        ("-m festinger_site.run.liveness_probe", {}, "usage: python -m festinger_site.run.liveness_probe"),
        ("-m festinger_site.run.liveness_probe proxy", {"FESTINGER_PORT": "x"}, "proxy: FESTINGER_PORT: takes "),
        (
            "-m festinger_site.run.programs proxy",
            {"DATABASE_URL_FILE": "/absent"},
            "DATABASE_URL_FILE=/absent: cannot be",
        ),
        ("-m festinger_site.run.programs postgres", {}, NO_PART),
        ("-m festinger_site.run.programs", {}, NO_PART),
        ("manage.py prepare", {}, "CommandError: DATABASE_URL cannot be used: "),
        ("manage.py prepare", {"FESTINGER_PORT": "x"}, "FESTINGER_PORT: takes "),
    ],
)
def test_what_cannot_be_is_one_line_and_touches_no_home(tmp_path, words, variables, expected):
    line = said_by(tmp_path, *words.split(), DATABASE_URL=NOWHERE, FESTINGER_SECRET_KEY="k", **variables)

    assert line.startswith(expected)
    assert "hunter2" not in line
    assert not (tmp_path / "home").exists()
