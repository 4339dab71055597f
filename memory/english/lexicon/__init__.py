"""Word lists and phrases that are data: one file a list, whose lines behind ``#`` say what it is for."""

import re
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent
_SEPARATOR: Final = re.compile(r", +|,\Z")
_REFERENCE: Final = re.compile(r"\{([a-z_]+)\}")


def read_file(name: str) -> list[str]:
    """Return all lines of a list."""
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()


@cache
def load_lines(name: str) -> frozenset[str]:
    """Return the lines of a list, without comments."""
    return frozenset(line.strip() for line in read_file(name) if line.strip() and not line.startswith("#"))


@cache
def load_words(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(word for line in load_lines(name) for word in line.split())


def load_groups(name: str) -> list[list[str]]:
    """Return the groups of a list, each of several words with slashes between them."""
    return [group.split("/") for group in sorted(load_words(name))]


def read_phrases(name: str) -> tuple[str, ...]:
    """Return the phrases of a list, which commas or line breaks separate, in the order of the file."""
    lines = (line.partition("#")[0].rstrip() for line in read_file(name))
    return tuple(phrase for line in lines for part in _SEPARATOR.split(line) if (phrase := part.strip()))


def read_pattern(name: str) -> str:
    """Return the phrases as alternatives of a regular expression for lower-case text; phrases may hold such
    expressions, and other lists by their names: ``{maybe}``."""
    return f"(?:{'|'.join(_REFERENCE.sub(lambda found: read_pattern(found[1]), each) for each in read_phrases(name))})"
