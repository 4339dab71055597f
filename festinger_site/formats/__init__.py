"""The format of dates, the same on every page, instead of Django's for English."""
