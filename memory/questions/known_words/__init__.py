"""Words that nobody is asked about, because every model knows them: names of technology, everyday words of the larger
languages, and rarer words of English. README.md names the sources."""

import mmap
from bisect import bisect_right
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

WORDS: Final = Path(__file__).with_name("words.txt")
# Prefixes of lines that are not known words by themselves: a word that is English only in lower case, because
# ``Kestrel`` is a name; a function word of another language.
SMALL_LETTERS: Final = "~"
FUNCTION_WORD: Final = "="
BLOCK_BYTES: Final = 2_000  # of lines that one look-up searches


def is_known(token: str) -> bool:
    return _has_line(token)


def is_rare_english(word: str) -> bool:
    """True if a lower-case word is English, though not frequent enough for the dictionary."""
    return _has_line(SMALL_LETTERS + word)


def is_foreign(word: str) -> bool:
    """True if it is a function word of another language than English."""
    return _has_line(FUNCTION_WORD + word)


class _Blocks(NamedTuple):
    """The file, sorted by bytes, and where each block of lines begins, with its first line."""

    words: mmap.mmap
    starts: list[int]
    first: list[bytes]


@lru_cache(maxsize=1)
def _open() -> _Blocks:
    """Map the file and index its blocks. All processes of a machine share the file's pages. A set of the words would
    take 26 MB of each process and 40 ms to load; these blocks take 0.1 MB and 1 ms."""
    with WORDS.open("rb") as file:
        words = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    starts = [0]
    while (start := words.find(b"\n", starts[-1] + BLOCK_BYTES) + 1) and start < len(words):
        starts.append(start)
    return _Blocks(words, starts, [words[start : words.find(b"\n", start)] for start in starts])


@lru_cache(maxsize=4096)
def _has_line(line: str) -> bool:
    """True if the file has the line. Takes a microsecond."""
    (words, starts, first), wanted = _open(), line.encode("utf-8", "surrogatepass")
    block = bisect_right(first, wanted) - 1
    if block < 0 or first[block] == wanted:
        return block >= 0
    end = starts[block + 1] if block + 1 < len(starts) else len(words)
    return b"\n%b\n" % wanted in words[starts[block] : end]
