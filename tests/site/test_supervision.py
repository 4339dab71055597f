import shlex
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from supervisor.options import UnhosedConfigParser

from festinger_site.launcher.supervision import Program, configuration

words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")))


@given(st.lists(words, min_size=1))
@example(["/my home/#1 ;x", "-D", "50%", "it's", '"', "\\", "%(here)s"])
def test_supervisord_reads_a_command_as_it_was_given(command):
    parser = UnhosedConfigParser()
    parser.expansions = {"here": "/", "ENV_FESTINGER_PROJECT": "/"}

    parser.read_string(configuration(Path("/h"), [Program("worker", command, stop_wait_s=7)]))

    assert shlex.split(parser.saneget("program:worker", "command")) == command
