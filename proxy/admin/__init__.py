"""What was recalled, what was done about loops, and what a text would do, in the admin."""

from proxy.admin import events, home, trial

__all__ = ["events", "home", "trial"]
