"""Tells which numbers belong to a name: `Kiox 300`, but not `page 12`, `300 people`, `3 GB`."""

import re
from functools import lru_cache
from typing import Final

from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words

_NUMBERED: Final = load_words("counted") | load_words("months_and_days")
_UNITS: Final = load_words("units")
_AFTER_NAMES: Final = load_words("closing_adverbs") | load_words("neutral_adverbs") | load_words("verbs_after_names")

# A number that may belong to the name before it: up to four digits, one dot allowed, but not an amount, date or time.
NUMBER: Final = (
    r" (\d{1,4}|\d\.\d{1,3}|\d\d\.\d\d?|\d{3}\.\d)(?![\w%\u00b0]|[_\-.'@+/:,]\w| ?[%\u00b0$\u20ac\u00a3])"
    r"(?=(?: ([^\W\d_]\w*))?)"
)
_NUMBER_THEN: Final = re.compile(NUMBER)


def number_after(text: str, name: str, end: int) -> str:
    """Return the number that belongs to a name that ends there, as in ``node 18``; "" if there is none."""
    found = _NUMBER_THEN.match(text, end)
    return found[1] if found is not None and found[1] and takes_number(name, found[2]) else ""


@lru_cache(maxsize=4_096)
def takes_number(run: str, following: str | None) -> bool:
    """True if a number after these capitalised words, before that word, belongs to the name and counts nothing."""
    last = run.rpartition(" ")[2].lower()
    if last in _NUMBERED or "'" in last:
        return False
    if not following or (following.islower() and is_closed_class(following)):
        return True
    if following.lower() in _UNITS:
        return False
    if not following[0].islower():
        return True
    return following in _AFTER_NAMES or following.endswith(("ed", "ly"))
