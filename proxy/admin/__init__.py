"""The admin pages of recollections, loops, the home page and *Try a text*."""

from proxy.admin import events, home, trial

__all__ = ["events", "home", "trial"]
