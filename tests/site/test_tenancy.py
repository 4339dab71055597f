import os
import shutil
import threading
from collections import Counter
from pathlib import Path

import pytest

from festinger_site.run import home_locks


def use(home, start=lambda: None, is_usable=lambda: True, stop=lambda: None):
    return home_locks.using(home, start=start, is_usable=is_usable, stop=stop)


def test_the_first_to_come_starts_and_the_last_to_leave_stops(tmp_path):
    calls = Counter()
    all_in = threading.Barrier(3)

    def work():
        with use(tmp_path, start=lambda: calls.update(["start"]), stop=lambda: calls.update(["stop"])):
            all_in.wait(5)

    commands = [threading.Thread(target=work) for _ in range(3)]
    for command in commands:
        command.start()
    for command in commands:
        command.join()

    assert calls["start"] >= 1
    assert calls["stop"] == 1


def test_what_runs_is_never_stopped_under_a_command(tmp_path):
    """What one command has started may be stopped by another before the first uses it: then it is started again."""
    is_running, seen = threading.Event(), []

    def work():
        for _ in range(40):
            with use(tmp_path, is_running.set, is_running.is_set, is_running.clear):
                seen.append(is_running.is_set())

    commands = [threading.Thread(target=work) for _ in range(4)]
    for command in commands:
        command.start()
    for command in commands:
        command.join()

    assert seen == [True] * 160
    assert not is_running.is_set()


def test_a_launcher_waits_until_no_command_uses_the_home(tmp_path):
    waits = []
    command = use(tmp_path)
    command.__enter__()

    def on_wait():
        waits.append(1)
        command.__exit__(None, None, None)

    with home_locks.starting(tmp_path, on_wait):
        assert waits == [1]


def test_a_command_asks_again_until_what_it_needs_is_usable(tmp_path):
    answers = [False, True]

    with use(tmp_path, is_usable=lambda: answers.pop(0)):
        assert answers == []


def test_one_launcher_has_a_home_and_the_next_waits_while_it_stops(tmp_path, monkeypatch):
    monkeypatch.setattr(home_locks, "PATIENCE_S", 0)
    first = home_locks.launching(tmp_path, on_wait=lambda: None)
    first.__enter__()

    with (
        pytest.raises(home_locks.HomeInUse, match="already running"),
        home_locks.launching(tmp_path, lambda: None),
    ):
        pass
    home_locks.tell_stopping(tmp_path)

    with home_locks.launching(tmp_path, on_wait=lambda: first.__exit__(None, None, None)):
        assert home_locks.is_launched(tmp_path)


def test_a_launcher_whose_home_was_deleted_stops_all_the_same(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()

    with home_locks.launching(home, on_wait=lambda: None):
        assert home_locks.read_launcher(home) == os.getpid()
        shutil.rmtree(home)
        assert home_locks.read_launcher(home) == 0
        home_locks.tell_stopping(home)  # it raises nothing, and what comes after it is done
