"""The graph, what is disputed in it, and what was decided, in the admin."""

from resolution.admin import (
    candidates,
    concepts,
    conflicts,
    decisions,
    dimensions,
    facts,
    history,
    memories,
    mirror,
    observations,
    runs,
    transfer,
)

__all__ = [
    "candidates",
    "concepts",
    "conflicts",
    "decisions",
    "dimensions",
    "facts",
    "history",
    "memories",
    "mirror",
    "observations",
    "runs",
    "transfer",
]
