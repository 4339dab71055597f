"""What the labelled sentences say of each rule of the readers."""

import re
import subprocess
import sys

from festinger_site import home as homes


def test_a_form_that_people_use_has_sentences_that_are_lost_without_it() -> None:
    command = [sys.executable, "-m", "benchmarks.ablation", "--only", "owned by", "--jobs", "1"]

    done = subprocess.run(command, cwd=homes.ROOT, capture_output=True, text=True, check=True)

    [(form, lost)] = re.findall(r"^form +forms\.(.+?) +(\d+) +\d+ +\d+ *$", done.stdout, re.MULTILINE)
    assert form == "MAYBE_BE: owned by|maintained by"
    assert int(lost) > 20
