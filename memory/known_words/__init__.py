"""Words that nobody is asked about, because every model knows them: names of technology, everyday words of the larger
languages, and rarer words of English. README.md says where they are from."""

import mmap
from functools import lru_cache
from pathlib import Path
from typing import Final

WORDS: Final = Path(__file__).with_name("words.txt")
# How a line of the file begins that is no known word by itself: what ends the names of files (``.toml``); a word of
# English that is one in small letters only, for ``Kestrel`` is a name; a function word of another language.
FILE_TYPE: Final = "."
SMALL_LETTERS: Final = "~"
FUNCTION_WORD: Final = "="


def is_known(token: str) -> bool:
    return _has_line(token)


def is_file_type(ending: str) -> bool:
    return _has_line(FILE_TYPE + ending)


def is_rare_english(word: str) -> bool:
    """Whether a word in small letters is English, though not frequent enough for the dictionary."""
    return _has_line(SMALL_LETTERS + word)


def is_foreign(word: str) -> bool:
    """Whether it is a function word of another language than English."""
    return _has_line(FUNCTION_WORD + word)


@lru_cache(maxsize=1)
def _open() -> mmap.mmap:
    with WORDS.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@lru_cache(maxsize=4096)
def _has_line(line: str) -> bool:
    """By bisection in the file, which is sorted by bytes: all processes of a machine share its pages, and nothing is
    loaded. A look takes some 6 microseconds; a set of the words would take 26 MB of each process, and
    40 ms to load."""
    words, wanted = _open(), line.encode("utf-8", "surrogatepass")
    low, high = 0, len(words)  # where lines begin
    while low < high:
        start = words.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = words.find(b"\n", start)
        found = words[start:end]
        if found == wanted:
            return True
        if found < wanted:
            low = end + 1
        else:
            high = start
    return False
