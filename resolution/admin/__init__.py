"""Admin pages for the graph, its conflicts and the decisions about them."""

from memory.admin import settings
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
from resolution.nightly import schedule
from resolution.pages.queue_summary import describe_models

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

# Beat's row follows the setting at once. Changes made outside the admin are noticed within a minute.
settings.followers[schedule.SETTING] = schedule.sync_beat_schedule
settings.notes["resolution_mode"] = describe_models
