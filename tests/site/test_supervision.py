"""The supervisor with programs that only sleep. ``test_launch`` has the real ones."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from festinger_site.run import home_locks, supervision
from festinger_site.run.preflight import LaunchFailed
from festinger_site.run.supervision import Child, Program, Supervisor
from tests.waiting import eventually

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(99)"
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with home_locks.launching(tmp_path, on_wait=lambda: None):
        yield tmp_path


@pytest.fixture
def supervisor(home: Path) -> Iterator[Supervisor]:
    """With one program, which runs."""
    supervisor = Supervisor(home, [Program("sleeper", ["sleep", "1000"], stop_wait_s=5)])
    supervisor.start("sleeper")
    try:
        yield supervisor
    finally:
        supervisor.stop()


@pytest.fixture
def stubborn(home: Path) -> Child:
    """One that TERM does not end."""
    child = make(home, sys.executable, "-c", STUBBORN)
    child.start()
    assert eventually(lambda: "ready" in read_log(home), within_s=20)
    return child


def make(home: Path, *command: str) -> Child:
    return Child(Program("program", list(command), stop_wait_s=1), home)


def read_log(home: Path) -> str:
    return (home / "log" / "program.log").read_text()


def wait_dead(child: Child) -> None:
    assert eventually(lambda: not child.pid, within_s=10)


def test_a_program_that_is_killed_is_started_again(supervisor: Supervisor) -> None:
    sleeper = supervisor.children["sleeper"]
    before = sleeper.pid
    os.kill(before, signal.SIGKILL)
    wait_dead(sleeper)

    assert eventually(lambda: supervisor.keep() or sleeper.pid, within_s=10)
    assert sleeper.pid != before


def test_one_that_keeps_dying_is_started_less_and_less_often(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(supervision.time, "monotonic", lambda: now)
    failing, starts = make(home, "false"), []
    for _ in range(240):
        if failing.is_due or not failing.starts:
            failing.start()
            failing.stop()  # waits for its end
            starts.append(now)
        now += 0.5

    waits = [after - before for before, after in pairwise(starts)]
    assert waits[:7] == [1, 2, 4, 8, 16, 30, 30]
    now += supervision.STEADY_S
    failing.start()
    failing.stop()
    now += 1
    assert failing.is_due


def test_one_that_keeps_dying_before_festinger_is_ready_ends_the_start_with_its_log(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "RESTART_S", 0.0)
    supervisor = Supervisor(home, [Program("failing", ["sh", "-c", "echo no luck; false"], stop_wait_s=5)])
    supervisor.start("failing")

    with pytest.raises(LaunchFailed, match=r"(?s)failing keeps dying.*failing\.log.*no luck"):
        eventually(lambda: supervisor.check("failing"), within_s=10)
    supervisor.stop()


def test_one_that_cannot_be_started_is_tried_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "RESTART_S", 0.0)
    program = home / "program"
    supervisor = Supervisor(home, [Program("late", [str(program)], stop_wait_s=5)])
    supervisor.start("late")
    assert not supervisor.children["late"].pid

    program.symlink_to(shutil.which("true") or "")

    supervisor.keep()
    assert supervisor.children["late"].starts == 2
    supervisor.stop()


def test_one_that_hangs_is_aborted_and_leaves_a_traceback(home: Path, stubborn: Child) -> None:
    stubborn.kill()

    wait_dead(stubborn)
    assert "Fatal Python error: Aborted" in read_log(home)


def test_one_that_not_even_an_abort_ends_is_killed(stubborn: Child) -> None:
    psutil.Process(stubborn.pid).suspend()

    stubborn.kill()

    wait_dead(stubborn)


def test_one_that_does_not_stop_is_killed(stubborn: Child) -> None:
    stubborn.stop()

    assert not stubborn.pid


def test_programs_stop_in_reverse_order_each_by_its_signal(home: Path) -> None:
    says = "trap 'echo $0 >> order; exit' {}; echo up; while :; do sleep 0.1; done"
    options = {"cwd": home}
    programs = [
        Program("first", ["sh", "-c", says.format("INT"), "first"], 5, signal.SIGINT, options),
        Program("second", ["sh", "-c", says.format("TERM"), "second"], 5, signal.SIGTERM, options),
    ]
    supervisor = Supervisor(home, programs)
    supervisor.start("first", "second")
    for name in ("first", "second"):
        assert eventually(lambda name=name: "up" in (home / "log" / f"{name}.log").read_text(), within_s=20)

    supervisor.stop()

    assert (home / "order").read_text().split() == ["second", "first"]


def test_a_process_belongs_to_the_program_that_it_descends_from(supervisor: Supervisor) -> None:
    assert supervisor.owns("sleeper", supervisor.children["sleeper"].pid)
    assert not supervisor.owns("sleeper", os.getpid())
    assert not supervisor.owns("other", os.getpid())


def test_a_long_log_begins_anew_and_the_last_three_are_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "LOG_MAX_BYTES", 5)
    child = make(home, "true")
    log = home / "log" / "program.log"
    log.parent.mkdir()
    for number in range(5):
        log.write_text(f"log {number}")
        child.rotate_log()

    assert log.read_text() == ""
    assert sorted(file.read_text() for file in log.parent.glob("program.log.*")) == ["log 2", "log 3", "log 4"]


def test_nothing_is_started_in_a_home_that_another_launcher_has(supervisor: Supervisor) -> None:
    (supervisor.home / home_locks.RUN).write_text("1")
    os.kill(supervisor.children["sleeper"].pid, signal.SIGKILL)
    wait_dead(supervisor.children["sleeper"])

    with pytest.raises(LaunchFailed, match="was deleted while Festinger ran"):
        eventually(supervisor.keep, within_s=10)


def test_what_a_killed_launcher_has_left_is_ended(supervisor: Supervisor) -> None:
    [left] = supervision.find_orphans(supervisor.home)

    assert supervision.stop_orphans(supervisor.home) is True
    assert left.pid not in psutil.pids() or left.status() == psutil.STATUS_ZOMBIE
    assert supervision.stop_orphans(supervisor.home) is False
