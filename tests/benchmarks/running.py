"""Short runs of ``python -m benchmarks``."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from festinger_site.home import PROJECT

TARGETS = ["direct", "bare forwarder", "Festinger", "Festinger, off"]
FACTS = ["borogove", "dobby", "gnommoweb", "kvasir", "tulgey"]
# One round, with a small large world.
SMALL = ["--rounds", "1", "--tokens", "2000", "--turns", "6", "--conversations", "50", "--llm-exercises", "2",
         "--talks", "1", "--memories", "500", "--episodes", "4000"]  # fmt: skip
RUN_S = 900

Rows = dict[str, dict[str, float]]


class Run:
    """``printed`` is what a run printed, ``report`` the JSON that it wrote."""

    def __init__(self, folder: Path, *, only: Iterable[str] = ()) -> None:
        """Measures these, or all. Fails where something of it is left in the temporary folder."""
        temporary = folder / "temp"
        temporary.mkdir()
        options = [
            *SMALL,
            *(word for name in only for word in ("--only", name)),
            "--json",
            str(folder / "figures.json"),
        ]
        environment = os.environ | {"TMPDIR": str(temporary)}
        environment.pop("DJANGO_SETTINGS_MODULE", None)  # a shell has none
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks", *options],
            cwd=PROJECT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                self.printed: str = process.communicate(timeout=RUN_S)[0]
            finally:
                process.terminate()  # it cleans up behind itself
        assert process.returncode == 0
        assert list(temporary.iterdir()) == []
        self.report: dict[str, Any] = json.loads((folder / "figures.json").read_text())

    @property
    def rows(self) -> dict[str, Rows]:
        """By figures, their rows."""
        return {name: figures["rows"] for name, figures in self.report["results"].items()}

    @property
    def blocks(self) -> dict[str, dict[str, str]]:
        """By figures and target, the last block that the model got."""
        return {name: figures["seen"] for name, figures in self.report["results"].items()}

    def assert_everything_is_printed(self) -> None:
        lines = [line.strip() for line in self.printed.splitlines()]
        for name, figures in self.report["results"].items():
            assert f"{name}: {figures['title']}" in lines
            for row in figures["rows"]:
                assert any(line.startswith(f"{row}  ") for line in lines)


def concepts(block: str) -> list[str]:
    """The concepts of its facts; what was said before has a date in place of one."""
    names = (line.partition(":")[0] for line in block.splitlines()[1:-1])
    return sorted(name for name in names if not name.endswith(" user"))
