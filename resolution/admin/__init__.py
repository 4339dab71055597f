"""The graph, what is disputed in it, and what was decided, in the admin."""

from memory.admin import settings_audit
from resolution.admin import (
    candidates,
    concepts,
    conflicts,
    decisions,
    dimensions,
    facts,
    history,
    memories,
    messages,
    mirror,
    observations,
    runs,
    templates,
    transfer,
)
from resolution.resolver import schedule

__all__ = [
    "candidates",
    "concepts",
    "conflicts",
    "decisions",
    "dimensions",
    "facts",
    "history",
    "memories",
    "messages",
    "mirror",
    "observations",
    "runs",
    "templates",
    "transfer",
]

# Beat's row follows the setting at once; what changes it elsewhere than in the admin is noticed within a minute.
settings_audit.followers[schedule.SETTING] = schedule.keep
