"""The admin pages of recollections, loops, agents and persons, the home page and *Try a text*."""

from proxy.admin import events, home, speakers, trial

__all__ = ["events", "home", "speakers", "trial"]
