"""Puts counts, times and facts into words."""

from typing import Final

UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def format_duration(seconds: float) -> str:
    """In its largest unit, as in "3 minutes"."""
    whole = max(0, round(seconds))
    size, name = next((unit for unit in UNITS if whole >= unit[0]), UNITS[-1])
    return format_count(whole // size, name)


def format_count(count: int, one: str, many: str = "") -> str:
    """As in "1 statement" and "2,000 statements"; ``many`` where it is not made with an s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def format_fact(concept: str, parent: str, dimension: str, *, is_isa: bool) -> str:
    """``gnommoweb is a repo [type]``, ``kvasir is in turing [runs-on]``."""
    relation = "in" if not is_isa else "an" if parent[:1] in "aeiou" else "a"
    return f"{concept} is {relation} {parent} [{dimension}]"
