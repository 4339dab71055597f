"""What the labelled sentences say of each rule of the readers."""

import re
import subprocess
import sys

from festinger_site import home as homes


def test_a_form_that_people_use_has_sentences_that_are_lost_without_it() -> None:
    command = [sys.executable, "-m", "benchmarks.ablation", "--only", "statements.patterns.IS_O", "--jobs", "1"]

    done = subprocess.run(command, cwd=homes.PROJECT, capture_output=True, text=True, check=True)

    lost = dict(re.findall(r"^form +statements\.patterns\.(\w+) +(\d+)", done.stdout, re.MULTILINE))
    assert set(lost) == {"IS_OUR", "IS_OWNED_BY"}
    assert int(lost["IS_OUR"]) > int(lost["IS_OWNED_BY"]) > 0
