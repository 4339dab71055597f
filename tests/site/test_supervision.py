import shlex
import threading
from collections import Counter
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from supervisor.options import UnhosedConfigParser

from festinger_site import tenancy
from festinger_site.supervision import Program, configuration

words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")))


@given(st.lists(words, min_size=1))
@example(["/my home/#1 ;x", "-D", "50%", "it's", '"', "\\", "%(here)s"])
def test_supervisord_reads_a_command_as_it_was_given(command):
    parser = UnhosedConfigParser()
    parser.expansions = {"here": "/", "ENV_FESTINGER_PROJECT": "/"}

    parser.read_string(configuration(Path("/h"), [Program("worker", command, stop_wait_s=7)]))

    assert shlex.split(parser.saneget("program:worker", "command")) == command


def test_the_last_to_leave_a_home_stops_what_the_first_started(tmp_path):
    calls = Counter()
    both_in = threading.Barrier(2)

    def use():
        arrive, leave = (lambda: calls.update(["arrive"])), (lambda: calls.update(["leave"]))
        with tenancy.using(tmp_path, arrive=arrive, leave_last=leave):
            both_in.wait(5)

    commands = [threading.Thread(target=use) for _ in range(2)]
    for command in commands:
        command.start()
    for command in commands:
        command.join()

    assert calls == {"arrive": 2, "leave": 1}


def test_a_launcher_waits_until_no_command_uses_the_home(tmp_path):
    waits = []
    command = tenancy.using(tmp_path, arrive=lambda: None, leave_last=lambda: None)
    command.__enter__()

    def on_wait():
        waits.append(1)
        command.__exit__(None, None, None)

    with tenancy.starting_alone(tmp_path, on_wait):
        assert waits == [1]
