"""Reports, for ``/health`` and the home page, whether texts are found by meaning, and if not, why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory.search.encoder import adapter
from memory.search.vectors.embedders import BUILTIN, NONE
from memory.search.vectors.schema import describe_lack

COUNTED_MAX: Final = 10_000  # waiting texts: more are not counted
CONDITION: Final = f"""
    SELECT
        to_regclass('memory_vector') IS NOT NULL AS has_tables,
        (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS available,
        (SELECT count(*) FROM (SELECT FROM pending_embedding LIMIT {COUNTED_MAX}) waiting) AS waiting,
        embedder.name, embedder.dimensions, embedder.last_error AS error
    FROM (SELECT) one LEFT JOIN embedder ON is_current
"""


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition. ``embedder`` is empty if there is none; ``error``: why vectors are missing, empty if none are.
    ``waiting``: texts, at most COUNTED_MAX."""

    embedder: str = ""
    dimensions: int | None = None
    waiting: int = 0
    error: str = ""
    is_off: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "embedder": self.embedder or None,
            "dimensions": self.dimensions,
            "waiting": self.waiting,
            "error": self.error or None,
        }


def read_condition(row: Mapping[str, Any], setting: str) -> Condition:
    """Read the condition from a row of CONDITION, by its columns. ``setting``: the embedder's."""
    if setting == NONE:
        return Condition(is_off=True)
    if not row["has_tables"]:
        return Condition(error=describe_lack(row["available"] or ""))
    mistake = adapter.find_mistake() if setting == BUILTIN else ""
    return Condition(row["name"] or "", row["dimensions"], row["waiting"], row["error"] or mistake)
