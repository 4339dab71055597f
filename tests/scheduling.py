"""Which process of a run gets which tests, and when. What takes longest begins first, so that at the end no process
waits for another; the seconds are from ``pytest --durations=0`` and need not be exact."""

from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

TESTS = Path(__file__).parent
# Folders whose files share what takes seconds to start: a whole Festinger and a browser; LiteLLM.
TOGETHER = ("browser", "conformance")
LONGEST_FIRST = (
    "browser",
    "served/test_matrix.py",
    "served/test_week.py",
    "served/test_order.py",
    "served/test_red_team.py",
    "served/test_strange_requests.py",
    "everyday",
    "site/test_compose_runs.py",
    "served/test_write_path.py",
    "served/test_trust.py",
    "served/test_golden.py",
    "served/test_kills.py",
    "served/test_in_step.py",
    "site/test_demo.py",
    "site/test_launch.py",
    "served/test_prefix.py",
    "served/test_lossy_broker.py",
    "served/test_learns.py",
    "upgrade",
    "conformance",
    "site/test_permissions.py",
    "resolution/test_undo_properties.py",
    "resolution/test_slot_sequences.py",
    "resolution/test_races.py",
    "site",
    "served",
    "resolution",
)


class FilesTogether(LoadScopeScheduling):
    """Each file as a whole to one process, in the order of the collection."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False  # it would put the files with the most tests first
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid.partition("::")[0].removeprefix(f"{TESTS.name}/"))


def unit_of(file: str) -> str:
    folder = file.partition("/")[0]
    return folder if folder in TOGETHER else file


def place_of(item: pytest.Item) -> int:
    file = item.path.relative_to(TESTS).as_posix()
    return next((place for place, beginning in enumerate(LONGEST_FIRST) if file.startswith(beginning)), 1000)
