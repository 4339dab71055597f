"""Digests how messages begin: a program that fills in a template begins each with the same words, and goes on with
others."""

import re
from hashlib import blake2b
from typing import Final, NamedTuple

from memory.attribution.folding import fold

LEAST: Final = 80  # characters: shorter ones begin many messages of people
WITHIN: Final = 4_000  # characters of a message that are looked at
OPENINGS_MAX: Final = 4  # of one message
SHOWN_MAX: Final = 300  # characters
# An opening ends at a line break or a colon that something follows.
_ENDS: Final = re.compile(r"(?:\n|:(?=[ \t]))(?=\s*\S)")
_WORDS: Final = re.compile(r"\w+")


class Opening(NamedTuple):
    """The beginning of a message. ``digest``: 16 bytes, equal if only case, white space and punctuation differ;
    ``rest``: 16 bytes of what follows; ``text``: its end, as it is shown."""

    digest: bytes
    rest: bytes
    text: str


def find_openings(text: str) -> list[Opening]:
    folded = fold(text).text
    begins = len(folded) - len(folded.lstrip())
    found: list[Opening] = []
    for end in _ENDS.finditer(folded, begins + LEAST, begins + WITHIN):
        opening = folded[begins : end.start()]
        found.append(Opening(_digest(opening), _digest(folded[end.end() :]), opening[:SHOWN_MAX]))
        if len(found) == OPENINGS_MAX:
            break
    return found


def _digest(text: str) -> bytes:
    words = " ".join(_WORDS.findall(text.casefold()))
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
