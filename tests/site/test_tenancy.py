import os
import shutil
import threading
from collections import Counter
from pathlib import Path

import pytest

from festinger_site.launcher import home_locks


def test_the_last_to_leave_a_home_stops_what_the_first_started(tmp_path):
    calls = Counter()
    both_in = threading.Barrier(2)

    def count(what):
        calls[what] += 1
        return True

    def use():
        arrive, leave = (lambda: count("arrive")), (lambda: count("leave"))
        with home_locks.using(tmp_path, arrive=arrive, leave_last=leave):
            both_in.wait(5)

    commands = [threading.Thread(target=use) for _ in range(2)]
    for command in commands:
        command.start()
    for command in commands:
        command.join()

    assert calls == {"arrive": 2, "leave": 1}


def test_a_launcher_waits_until_no_command_uses_the_home(tmp_path):
    waits = []
    command = home_locks.using(tmp_path, arrive=lambda: True, leave_last=lambda: None)
    command.__enter__()

    def on_wait():
        waits.append(1)
        command.__exit__(None, None, None)

    with home_locks.starting_alone(tmp_path, on_wait):
        assert waits == [1]


def test_a_command_is_asked_again_until_it_has_arrived(tmp_path):
    answers = [False, True]

    with home_locks.using(tmp_path, arrive=lambda: answers.pop(0), leave_last=lambda: None):
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
