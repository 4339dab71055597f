"""Word lists as data: a line holds phrases, separated by commas, and behind ``#`` what they are for."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent


def read_phrases(name: str) -> tuple[str, ...]:
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(phrase for line in lines for part in line.partition("#")[0].split(",") if (phrase := part.strip()))


def read_pattern(name: str) -> str:
    """Return the phrases as alternatives of a regular expression for lower-case text; phrases may hold such
    expressions."""
    return f"(?:{'|'.join(read_phrases(name))})"
