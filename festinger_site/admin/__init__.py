"""The admin pages of accounts, groups and schedules: models of Django and of beat, in Festinger's look."""

from festinger_site.admin import accounts, schedules

__all__ = ["accounts", "schedules"]
