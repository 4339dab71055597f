"""The demo as a person runs it: a process of its own, which leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import psutil
import pytest

from festinger_site import home
from festinger_site.management.commands.demo import Command, NotShown, prompt

START_S, STOP_S = 240, 60
TITLES = [
    "1. A word it does not know",
    "2. Teach it",
    "3. The next prompt carries it",
    "4. Contradict it",
    "5. Decide it",
    "6. It learns by itself",
    "Done",
]


@pytest.fixture
def demo(tmp_path) -> Iterator[subprocess.Popen[str]]:
    """``manage.py demo`` with ``tmp_path`` as the place for temporary files and a home of its own."""
    (tmp_path / "temp").mkdir()
    ours = {"TMPDIR": str(tmp_path / "temp"), "FESTINGER_HOME": str(tmp_path / "home"), "FESTINGER_PORT": "1"}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo"],
        cwd=home.ROOT,
        env=os.environ | ours,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with process:
        yield process
        process.terminate()


def started_below(folder: Path) -> list[psutil.Process]:
    """The processes with this folder in their environment: what the demo starts inherits its TMPDIR."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TMPDIR", "").startswith(str(folder)):
                found.append(process)
        except psutil.Error:
            pass
    return found


@pytest.mark.slow
def test_the_demo_tells_its_story_and_leaves_nothing(demo, tmp_path):
    told = demo.communicate(timeout=START_S + STOP_S)[0]

    assert demo.returncode == 0, told
    lines = told.splitlines()
    assert [line for line in lines if line in TITLES] == TITLES
    story = [
        "  | ? gnommoweb: no recollection. If this is a typo, ignore.",
        "  $ gutask iknowthat 'gnommoweb -isa repo'",
        "  | gnommoweb is a repo.",
        "  | gnommoweb is part of Glitch University.",
        "  $ gutask iknowthat 'gnommoweb -isa container'",
        "  | (exit status 3)",
        "  | gnommoweb is a repo or container (disputed).",
        "  | gnommoweb is part of Glitch University.",
        "  | gnommoweb is a container (deployment-type).",
        "  | gnommoweb is a repo (artifact-type).",
        "  | gnommoweb is part of Glitch University.",
        "  | kvasir is a service (glitch_university).",
    ]
    assert [line for line in lines if line in story] == story
    assert "\x1b" not in told
    assert not list((tmp_path / "temp").iterdir())
    assert not (tmp_path / "home" / "postgres").exists()  # of whoever runs the demo
    assert not started_below(tmp_path)


@pytest.mark.slow
def test_an_interrupted_demo_leaves_nothing(demo, tmp_path):
    assert demo.stdout.readline().startswith("Starting")
    while not (found := list((tmp_path / "temp").glob("*/home/postgres/PG_VERSION"))):
        assert demo.poll() is None
        time.sleep(0.05)
    data = found[0].parent.resolve()  # elsewhere, where Postgres is another user

    demo.send_signal(signal.SIGINT)
    told = demo.communicate(timeout=STOP_S)[0]

    assert demo.returncode == 128 + signal.SIGINT
    assert "Traceback" not in told
    assert not list((tmp_path / "temp").iterdir())
    assert not data.exists()
    assert not started_below(tmp_path)


class Deaf:
    """A Festinger whose prompts arrive without a block."""

    def prompt(self, message: str) -> tuple[str, str]:
        return f"curl -d '{message}'", message


def test_a_step_that_does_not_show_what_it_should_is_a_failure():
    step = prompt("Restart kvasir.", "kvasir is a service")

    with pytest.raises(NotShown, match="a line should begin with: <recollection>"):
        Command(stdout=StringIO()).show(step, Deaf())
