"""Word lists that are data: one file a list, in ``english/lexicon``."""

from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "english" / "lexicon"


@cache
def load_phrases(name: str) -> frozenset[str]:
    """Return the lines of a list, in lower case, without comments."""
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))


@cache
def load_words(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(word for line in load_phrases(name) for word in line.split())
