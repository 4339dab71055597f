"""The launcher as a person meets it: real processes, a real home, a real port."""

import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from festinger_site import home as homes
from festinger_site.dev.scratch_instance import free_port
from festinger_site.environment import Environment
from festinger_site.run import postgres_cluster, preflight, programs, supervision
from tests.launched import START_S, STOP_S, Run, environment, wait_until


class Place:
    """A home, and the runs from it, one after the other."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.runs: list[Run] = []

    def start(self) -> Run:
        port = self.runs[-1].port if self.runs else free_port()
        self.runs.append(Run(self.home, port, self.home.parent / f"said-{len(self.runs)}"))
        self.runs[-1].wait_ready()
        return self.runs[-1]

    def running(self) -> Run:
        """The last run, or a new one where that has ended."""
        is_up = bool(self.runs) and self.runs[-1].process.poll() is None
        return self.runs[-1] if is_up else self.start()


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """With a blank and another odd sign in the name of its home."""
    folder = Path(tempfile.mkdtemp(prefix="festinger-launch-")).resolve()
    folder.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    home = folder / "a home" / "#1"
    home.parent.mkdir(mode=0o711)
    place = Place(home)
    try:
        yield place
    finally:
        if place.runs:
            place.runs[-1].stop()
        supervision.stop_orphans(home)
        postgres_cluster.remove(home)
        shutil.rmtree(folder)


@pytest.fixture
def run(place: Place) -> Run:
    """A Festinger that runs; a test may end it."""
    return place.running()


def refusal(home: Path, **more: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "festinger_site.run.launch"],
        cwd=homes.ROOT,
        env=environment(home, **more),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr.splitlines()


# --- what keeps it from starting ---


EXPOSED = "FESTINGER_HOST=0.0.0.0 lets other machines reach Festinger."


@pytest.mark.parametrize(
    ("host", "more", "missing"),
    [
        ("127.0.0.1", {"FESTINGER_SECRET_KEY": "short"}, []),
        ("localhost", {}, []),
        ("::1", {}, []),
        ("0.0.0.0", {}, ["FESTINGER_REQUIRE_TOKEN=1"]),
        ("::", {}, ["FESTINGER_OPEN=1"]),
        ("172.17.0.1", {}, ["FESTINGER_HOST=172.17.0.1"]),
        ("0.0.0.0", {"FESTINGER_REQUIRE_TOKEN": True}, []),
        ("0.0.0.0", {"FESTINGER_OPEN": True}, []),
        ("0.0.0.0", {"FESTINGER_OPEN": True, "FESTINGER_SECRET_KEY": "x" * 31}, ["FESTINGER_SECRET_KEY"]),
        ("0.0.0.0", {"FESTINGER_OPEN": True, "FESTINGER_SECRET_KEY": "x" * 32}, []),
        ("0.0.0.0", {"FESTINGER_SECRET_KEY": "x"}, ["FESTINGER_OPEN=1", "FESTINGER_SECRET_KEY"]),
        ("0.0.0.0", {"FESTINGER_PUBLISHED": "127.0.0.1"}, []),
        ("127.0.0.1", {"FESTINGER_PUBLISHED": "0.0.0.0"}, ["FESTINGER_PUBLISHED=0.0.0.0", "FESTINGER_OPEN=1"]),
    ],
)
def test_what_lets_other_machines_in_has_to_be_said(host, more, missing):
    if not missing:
        preflight.check_exposure(Environment(**more), host)
        return

    with pytest.raises(preflight.LaunchFailed) as raised:
        preflight.check_exposure(Environment(**more), host)

    assert all(words in str(raised.value) for words in missing)


def test_an_open_address_is_refused_however_it_is_started(tmp_path):
    home, open_address = tmp_path / "home", {"FESTINGER_HOST": "0.0.0.0"}
    served = subprocess.run(
        [*programs.uvicorn("0.0.0.0", free_port())],
        cwd=homes.ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert refusal(home, **open_address)[0] == EXPOSED
    assert (served.returncode, served.stderr.splitlines()[0]) == (1, EXPOSED)


@pytest.mark.parametrize(
    ("variables", "lines"),
    [
        ({"FESTINGER_PORT": "{taken}"}, ["Port {taken} on 127.0.0.1 is taken: free it, or set FESTINGER_PORT."]),
        ({"FESTINGER_PORT": "70000"}, ["FESTINGER_PORT: takes a whole number from 1 to 65535, not '70000'"]),
        (
            {"FESTINGER_PORT": "{free}", "DATABASE_URL": "postgresql://u:hunter2@127.0.0.1:{free}/name"},
            ["DATABASE_URL cannot be used: connection failed: .* Connection refused"],
        ),
        (
            {"FESTINGER_CONFIG": "{folder}/own.yaml"},
            [
                "{folder}/own.yaml cannot be used:",
                "  upstream.url: Input should be a valid string",
                r"  loop: there is no such key; did you mean loops\?",
            ],
        ),
    ],
)
def test_what_keeps_it_from_starting_is_told_in_a_line_each(tmp_path, variables, lines):
    (tmp_path / "own.yaml").write_text("upstream: {url: 5}\nloop: {}\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        known = {"taken": server.getsockname()[1], "free": free_port(), "folder": tmp_path}

        told = refusal(tmp_path / "home", **{name: value.format(**known) for name, value in variables.items()})

    assert len(told) == len(lines)
    assert all(re.fullmatch(line.format(**known), said) for line, said in zip(lines, told, strict=True))
    assert "hunter2" not in str(told)


@pytest.mark.parametrize("command", [["create_agent", "zero"], ["doctor"], ["backup"], ["resolve_conflicts"]])
def test_a_mistyped_home_does_not_become_another_festinger(tmp_path, command):
    home = tmp_path / "mistyped"

    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=homes.ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"There is no Festinger at {home}: start one there")
    assert not home.exists()


# --- running ---


@pytest.mark.slow
def test_prepare_finds_a_database_and_leaves_none_running():
    folder = Path(tempfile.mkdtemp(prefix="festinger-command-")).resolve()
    folder.chmod(0o711)
    home = folder / "home"
    try:
        done = subprocess.run(
            [sys.executable, "manage.py", "prepare"],
            cwd=homes.ROOT,
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=START_S,
            check=False,
        )

        assert done.returncode == 0, done.stderr
        assert postgres_cluster.data_folder(home).exists()
        assert postgres_cluster.processes(home) == []
    finally:
        postgres_cluster.remove(home)
        shutil.rmtree(folder)


@pytest.mark.slow
def test_the_first_run_says_where_it_is_and_how_to_log_in(place, run):
    first = place.runs[0]

    assert run.health()["ready"] is True
    assert f"http://127.0.0.1:{first.port}/admin/" in first.said
    assert "What users and models say is kept" in first.said
    assert "Admin account: admin, password: " in first.said.splitlines()[-1]


@pytest.mark.slow
def test_a_config_file_to_begin_with_is_in_the_home(run):
    assert (run.home / "config.yaml").read_bytes() == (homes.ROOT / "config.example.yaml").read_bytes()
    assert run.health()["config"]["exists"] is True


@pytest.mark.slow
def test_worker_and_beat_give_signs_of_life_through_the_broker(run):
    wait_until(lambda: run.health()["database"]["heartbeat_ages_s"].keys() == {"proxy", "worker", "beat"}, 60)
    ages = run.health()["database"]["heartbeat_ages_s"]

    assert max(ages.values()) < 30


@pytest.mark.slow
def test_a_second_launch_on_the_same_home_is_refused(run):
    assert refusal(run.home, FESTINGER_PORT=str(free_port())) == [
        f"Festinger is already running from {run.home} (pid {run.process.pid})"
    ]


@pytest.mark.slow
def test_the_log_of_postgres_quotes_no_rows_and_no_statements(run):
    with postgres_cluster.connect(run.home) as client:
        client.execute("CREATE TEMPORARY TABLE said (text text CONSTRAINT said_short CHECK (length(text) < 5))")
        with pytest.raises(psycopg.errors.CheckViolation):
            client.execute("INSERT INTO said VALUES ('hunter2 /* hunter2 */')")

    log = run.home / "log" / "postgres.log"
    wait_until(lambda: "said_short" in log.read_text(), 10)
    assert "hunter2" not in log.read_text()


# --- killed, and stopped ---


@pytest.mark.slow
def test_a_killed_worker_comes_back_and_the_proxy_does_not_notice(run):
    wait_until(lambda: run.main_process("worker"), 30)
    worker, proxy = run.main_process("worker"), run.main_process("festinger_site.serve.serve")

    worker.kill()
    worker.wait(5)

    wait_until(lambda: run.main_process("worker"), 20)
    assert run.main_process("worker") != worker
    assert run.main_process("festinger_site.serve.serve") == proxy
    assert run.health()["ready"] is True


@pytest.mark.slow
def test_killed_but_for_some_of_its_programs_it_starts_again_and_replaces_them(place, run):
    wait_until(lambda: run.main_process("worker"), 30)
    for process in [psutil.Process(run.process.pid), *postgres_cluster.processes(run.home)]:
        with suppress(psutil.NoSuchProcess):  # a child of Postgres, which ends with it
            process.kill()
    run.process.wait()
    before = supervision.find_orphans(run.home)

    again = place.start()

    assert before
    assert not any(process.is_running() for process in before)
    assert "Stopped what was left running." in again.said
    assert again.health()["database"]["reachable"] is True
    assert "password" not in again.said


@pytest.mark.slow
def test_a_later_start_is_ready_with_its_worker_and_then_adds_what_is_missing(place, run):
    with postgres_cluster.connect(run.home, homes.DATABASE) as client:
        client.execute("DELETE FROM django_celery_beat_periodictask WHERE name = 'Hourly metrics'")
    run.stop()

    again = place.start()

    with postgres_cluster.connect(again.home, homes.DATABASE) as client:
        assert client.execute("SELECT FROM heartbeat WHERE name = 'worker'").fetchone() is not None
        added = "SELECT name FROM django_celery_beat_periodictask WHERE name = 'Hourly metrics'"
        wait_until(lambda: client.execute(added).fetchone(), START_S)


@pytest.mark.slow
def test_told_to_stop_it_leaves_nothing_running(run):
    wait_until(lambda: run.main_process("worker"), 30)

    run.process.terminate()

    assert run.process.wait(STOP_S) == 0
    assert run.everything() == []
