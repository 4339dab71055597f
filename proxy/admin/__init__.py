"""What was recalled, and what was done about loops, in the admin."""

from proxy.admin import events, home

__all__ = ["events", "home"]
