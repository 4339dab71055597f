"""supervisord as the launcher uses it, with programs that only sleep. ``test_launch`` has the real ones."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from supervisor.options import UnhosedConfigParser

from festinger_site import home as homes
from festinger_site.launcher import supervision
from festinger_site.launcher.supervision import Program, Supervisor, SupervisorFailed, configuration
from tests.waiting import eventually

# Each call to supervisord has a connection of its own, which is closed with the last reference to it.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")))


@given(st.lists(words, min_size=1))
@example(["/my home/#1 ;x", "-D", "50%", "it's", '"', "\\", "%(here)s"])
def test_supervisord_reads_a_command_as_it_was_given(command):
    parser = UnhosedConfigParser()
    parser.expansions = {"here": "/", "ENV_FESTINGER_PROJECT": "/"}

    parser.read_string(configuration(Path("/h"), [Program("worker", command, stop_wait_s=7)]))

    assert shlex.split(parser.saneget("program:worker", "command")) == command


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """With one program, which runs."""
    supervisor = Supervisor(tmp_path, [Program("sleeper", ["sleep", "1000"], stop_wait_s=5)])
    try:
        supervisor.wait_listening()
        supervisor.start("sleeper")
        assert eventually(lambda: sleeping(tmp_path), within_s=20)
        yield supervisor
    finally:
        supervisor.stop()
        shutil.rmtree(homes.run_folder(tmp_path))


def sleeping(home: Path) -> list[psutil.Process]:
    return [process for process in supervision.leftovers(home) if process.name() == "sleep"]


def test_a_killed_supervisord_is_noticed_and_what_it_started_is_stopped(supervisor: Supervisor):
    kill_supervisord(supervisor)

    with pytest.raises(SupervisorFailed, match="supervisord died"):
        supervisor.check_alive()
    assert sleeping(supervisor.home)
    supervisor.stop()
    assert supervision.leftovers(supervisor.home) == []


def test_a_new_supervisord_replaces_what_a_killed_one_has_left_the_proxy_when_that_helps(tmp_path: Path):
    sleep = "import time; time.sleep(1000)"
    command = [sys.executable, "-c", sleep]
    programs = [Program("postgres", command, 5), Program("proxy", [*command, supervision.SERVER], 5)]
    supervisor = Supervisor(tmp_path, programs)
    try:
        supervisor.wait_listening()
        supervisor.start("postgres", "proxy")
        before = {process.pid for process in supervision.leftovers(tmp_path)} - {supervisor.process.pid}
        proxy = supervisor.pid("proxy")
        kill_supervisord(supervisor)

        supervisor.revive()
        supervisor.replace_proxy(lambda: False)
        assert [pid for pid in before if psutil.pid_exists(pid)] == [proxy]
        supervisor.replace_proxy(lambda: True)

        supervisor.check_alive()
        assert not any(map(psutil.pid_exists, before))
        assert len(before) == 2
        assert all(supervisor.pid(name) for name in ("postgres", "proxy"))
    finally:
        supervisor.stop()
        shutil.rmtree(homes.run_folder(tmp_path))


def kill_supervisord(supervisor: Supervisor) -> None:
    supervisor.process.kill()
    supervisor.process.wait()


def test_a_program_that_dies_is_started_again(supervisor: Supervisor):
    [before] = sleeping(supervisor.home)
    before.kill()
    before.wait(5)

    assert eventually(lambda: sleeping(supervisor.home), within_s=20)


def test_a_program_that_stands_still_is_replaced(supervisor: Supervisor):
    [before] = sleeping(supervisor.home)
    before.suspend()

    supervisor.kill("sleeper")

    assert eventually(lambda: [one.pid for one in sleeping(supervisor.home)] not in ([], [before.pid]), within_s=20)
    assert supervisor.pid("sleeper") == sleeping(supervisor.home)[0].pid
    assert supervisor.uptime_s("sleeper") < 1_000


def test_what_supervisord_has_given_up_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(supervision, "RETRIES_MAX", 0)
    mended = tmp_path / "mended"
    program = Program("failing", ["sh", "-c", f"test -e {mended} && exec sleep 1000"], stop_wait_s=5)
    supervisor = Supervisor(tmp_path, [program])
    try:
        supervisor.wait_listening()
        supervisor.start("failing")
        assert eventually(lambda: is_given_up(supervisor), within_s=20)

        mended.touch()
        supervisor.start_given_up()

        assert eventually(lambda: sleeping(tmp_path), within_s=20)
        assert not is_given_up(supervisor)
    finally:
        supervisor.stop()
        shutil.rmtree(homes.run_folder(tmp_path))


def is_given_up(supervisor: Supervisor) -> bool:
    return bool(supervisor.remote.getProcessInfo("failing")["state"] in supervision.GIVEN_UP)


def test_what_is_left_of_a_launcher_that_was_killed_is_ended_and_supervisord_starts_nothing_again(
    supervisor: Supervisor,
):
    assert supervision.end_leftovers(supervisor.home) is True
    supervisor.process.wait()  # the launcher that is gone would be its parent

    assert supervision.leftovers(supervisor.home) == []
    assert supervision.end_leftovers(supervisor.home) is False
