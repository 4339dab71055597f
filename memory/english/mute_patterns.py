"""Patterns of names that operators mute: ``self.*``, ``com.acme.*``, ``*.md``. A ``*`` matches anything, including
nothing."""

import re
from collections.abc import Iterable
from typing import Final

from memory.english.non_words import MAX_TOKEN_LENGTH
from memory.english.unicode import normalise

ANYTHING: Final = "*"
SIGNS_MIN: Final = 2  # letters and digits: with fewer, a pattern would mute half of the vocabulary
STARS_MAX: Final = 4
_OTHER: Final = re.compile(r"[^\w\-.'@+*]")  # characters that occur in no name
_STARS: Final = re.compile(r"\*+")


class PatternMistake(ValueError):
    """The pattern cannot be used. The message says why."""


def clean_pattern(text: str) -> str:
    """Return the pattern as it is stored. Raises PatternMistake."""
    pattern = _STARS.sub(ANYTHING, normalise(text.strip()).text.lower())
    if len(pattern) > MAX_TOKEN_LENGTH:
        raise PatternMistake(f"A pattern has {MAX_TOKEN_LENGTH} characters at most.")
    if _OTHER.search(pattern):
        raise PatternMistake("A pattern is letters, digits and _ - . ' @ +, with * for anything.")
    if sum(map(str.isalnum, pattern)) < SIGNS_MIN:
        raise PatternMistake(f"A pattern has {SIGNS_MIN} letters or digits at least, or it would mute too much.")
    if pattern.count(ANYTHING) > STARS_MAX:
        raise PatternMistake(f"A pattern has {STARS_MAX} * at most.")
    return pattern


def as_regex(patterns: Iterable[str]) -> str:
    """Return a regular expression that matches exactly the names of any of the patterns; "" if there are none."""
    alternatives = [".*".join(map(_escape, pattern.split(ANYTHING))) for pattern in sorted(patterns)]
    return f"^({'|'.join(alternatives)})$" if alternatives else ""


def compile_patterns(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """Compile the patterns, to ``match`` names with; None if there are none."""
    regex = as_regex(patterns)
    return re.compile(regex) if regex else None


def _escape(text: str) -> str:
    return re.sub(r"([.+\-])", r"\\\1", text)
