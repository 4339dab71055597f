"""Short runs of ``python -m benchmarks``."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from festinger_site.home import ROOT

# One round, with a small large world.
SMALL = ["--rounds", "1", "--tokens", "2000", "--earlier", "50", "--talks", "1"]
RUN_S = 900

Rows = dict[str, dict[str, float]]


class Run:
    """``printed`` is what a run printed, ``report`` the JSON that it wrote."""

    def __init__(self, folder: Path, *words: str, only: Iterable[str] = ()) -> None:
        """Measures these, or all. Fails where something of it is left in the temporary folder."""
        temporary = folder / "temp"
        temporary.mkdir()
        options = [*SMALL, *words, *(word for name in only for word in ("--only", name))]
        environment = os.environ | {"TMPDIR": str(temporary)}
        environment.pop("DJANGO_SETTINGS_MODULE", None)  # a shell has none
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks", *options, "--json", str(folder / "figures.json")],
            cwd=ROOT,
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

    def assert_everything_is_printed(self) -> None:
        lines = [line.strip() for line in self.printed.splitlines()]
        for name, figures in self.report["results"].items():
            assert f"{name}: {figures['title']}" in lines
            for row in figures["rows"]:
                assert any(line.startswith(f"{row}  ") for line in lines)
