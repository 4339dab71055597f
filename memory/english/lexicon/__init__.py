"""Word lists and phrases that are data: one file a list, whose lines behind ``#`` say what it is for."""

from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent


def _read(name: str) -> list[str]:
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()


@cache
def load_lines(name: str) -> frozenset[str]:
    """Return the lines of a list, without comments."""
    return frozenset(line.strip() for line in _read(name) if line.strip() and not line.startswith("#"))


@cache
def load_words(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(word for line in load_lines(name) for word in line.split())


def read_phrases(name: str) -> tuple[str, ...]:
    """Return the phrases of a list, which commas separate, in the order of the file."""
    return tuple(
        phrase for line in _read(name) for part in line.partition("#")[0].split(",") if (phrase := part.strip())
    )


def read_pattern(name: str) -> str:
    """Return the phrases as alternatives of a regular expression for lower-case text; phrases may hold such
    expressions."""
    return f"(?:{'|'.join(read_phrases(name))})"
