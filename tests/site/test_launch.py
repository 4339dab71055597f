"""The launcher as a person meets it: real processes, a real home, a real port."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from festinger_site import home as homes
from festinger_site.launcher import postgres_cluster, supervision

pytestmark = pytest.mark.slow

START_S = 90  # the first one makes a database and loads the dictionary, perhaps on a slow machine
STOP_S = 20


class Run:
    """One ``make run``: its process, what it said, and what belongs to it."""

    def __init__(self, home: Path, port: int) -> None:
        self.home, self.port = home, port
        self.log = home.parent / "said"
        with self.log.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "festinger_site.launcher.launch"],
                cwd=homes.PROJECT,
                env=environment(home, FESTINGER_PORT=str(port)),
                stderr=said,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    def wait_ready(self) -> None:
        wait_until(lambda: "is ready" in self.said or self.process.poll() is not None, START_S)
        assert self.process.poll() is None, self.said

    def health(self) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/health")
            return json.load(connection.getresponse())
        finally:
            connection.close()

    def main_process(self, word: str) -> psutil.Process | None:
        """The supervised process with this word in its command, which supervisord itself started."""
        for process in supervision.leftovers(self.home):
            if word in process.cmdline() and "supervisor.supervisord" in process.parent().cmdline():
                return process
        return None

    def everything(self) -> list[psutil.Process]:
        return [*supervision.leftovers(self.home), *postgres_cluster.processes(self.home)]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(STOP_S)


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FESTINGER_", "DATABASE_URL", "MAKE"))}
    return kept | {"FESTINGER_HOME": str(home), "FESTINGER_UPSTREAM": "http://127.0.0.1:9"} | more


def wait_until(is_so, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, f"not so within {timeout_s} s"
        time.sleep(0.1)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


LAST: list[Run] = []


@pytest.fixture(scope="module")
def home():
    """A home with a blank and a sign in its name that supervisord's file would take for a comment."""
    folder = Path(tempfile.mkdtemp(prefix="festinger-launch-")).resolve()
    folder.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    yield folder / "a home" / "#1"
    supervision.end_leftovers(folder / "a home" / "#1")
    postgres_cluster.remove(folder / "a home" / "#1")
    shutil.rmtree(folder)


@pytest.fixture
def run(home):
    """A Festinger that runs: the one before, or a new start of the same home."""
    if not (LAST and LAST[-1].process.poll() is None):
        LAST.append(Run(home, free_port()))
    LAST[-1].wait_ready()
    return LAST[-1]


@pytest.fixture(scope="module", autouse=True)
def stop_the_last(home):
    yield
    if LAST:
        LAST[-1].stop()
        LAST.clear()


def refusal(home: Path, **more: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "festinger_site.launcher.launch"],
        cwd=homes.PROJECT,
        env=environment(home, **more),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr.splitlines()


def test_a_command_finds_a_database_and_leaves_none_running(home):
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=homes.PROJECT,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert postgres_cluster.processes(home) == []


def test_it_says_where_it_is_and_how_to_log_in(run):
    assert run.health()["ready"] is True
    assert f"http://127.0.0.1:{run.port}/admin/" in run.said
    assert "Admin account: admin, password: " in run.said.splitlines()[-1]


def test_a_config_file_to_begin_with_is_in_the_home(run):
    assert (run.home / "config.yaml").read_bytes() == (homes.PROJECT / "config.example.yaml").read_bytes()
    assert run.health()["config"]["exists"] is True


def test_worker_and_beat_give_signs_of_life_through_the_broker(run):
    wait_until(lambda: run.health()["database"]["heartbeat_ages_s"].keys() == {"proxy", "worker", "beat"}, 60)
    ages = run.health()["database"]["heartbeat_ages_s"]

    assert max(ages.values()) < 30


def test_a_second_launch_on_the_same_home_is_refused(run):
    assert refusal(run.home, FESTINGER_PORT=str(free_port())) == [
        f"Festinger is already running from {run.home} (pid {run.process.pid})"
    ]


def test_a_killed_worker_comes_back_and_the_proxy_does_not_notice(run):
    wait_until(lambda: run.main_process("worker"), 30)
    worker, proxy = run.main_process("worker"), run.main_process("festinger_site.server.serve")

    worker.kill()
    worker.wait(5)

    wait_until(lambda: run.main_process("worker"), 20)
    assert run.main_process("worker") != worker
    assert run.main_process("festinger_site.server.serve") == proxy
    assert run.health()["ready"] is True


def test_killed_as_a_whole_it_starts_again(run):
    for process in [psutil.Process(run.process.pid), *run.everything()]:
        process.kill()
    run.process.wait()

    again = Run(run.home, run.port)
    LAST.append(again)

    again.wait_ready()
    assert again.health()["database"]["reachable"] is True
    assert "password" not in again.said


def test_without_its_launcher_it_is_replaced_by_the_next_start(run):
    run.process.kill()
    run.process.wait()
    before = run.everything()

    again = Run(run.home, run.port)
    LAST.append(again)

    again.wait_ready()
    assert "Stopped what was left running." in again.said
    assert not any(process.is_running() for process in before)


def test_a_killed_supervisord_takes_all_down_with_a_word_about_it(run):
    psutil.Process(run.process.pid).children()[0].kill()

    assert run.process.wait(STOP_S) == 1
    assert "supervisord died" in run.said
    assert run.everything() == []


def test_told_to_stop_it_leaves_nothing_running(run):
    wait_until(lambda: run.main_process("worker"), 30)

    run.process.terminate()

    assert run.process.wait(STOP_S) == 0
    assert run.everything() == []


def test_a_taken_port_is_one_line(home):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])

        assert refusal(home, FESTINGER_PORT=port) == [
            f"Port {port} on 127.0.0.1 is taken: free it, or set FESTINGER_PORT."
        ]


def test_a_database_that_does_not_answer_is_one_line(home):
    url = f"postgresql://u:hunter2@127.0.0.1:{free_port()}/name"

    [line] = refusal(home, FESTINGER_PORT=str(free_port()), DATABASE_URL=url)

    assert line.startswith("DATABASE_URL cannot be used: ")
    assert "hunter2" not in line


def test_a_broken_config_file_is_told_with_all_that_is_wrong(tmp_path):
    (tmp_path / "own.yaml").write_text("upstream: {url: 5}\nloop: {}\n")

    assert refusal(tmp_path / "home", FESTINGER_CONFIG=str(tmp_path / "own.yaml")) == [
        f"{tmp_path}/own.yaml cannot be used:",
        "  upstream.url: takes an address such as http://127.0.0.1:11434, not 5",
        "  loop: there is no such key; did you mean loops?",
    ]


def test_a_setting_out_of_range_is_one_line(home):
    assert refusal(home, FESTINGER_PORT="70000") == [
        "FESTINGER_PORT: takes a whole number from 1 to 65535, not '70000'"
    ]
