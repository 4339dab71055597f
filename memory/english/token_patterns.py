"""The regular expressions of the tokeniser, for ASCII and for all of Unicode."""

import re
from functools import cache
from typing import Final, NamedTuple

from memory.english.name_numbers import NUMBER
from memory.english.unicode import LETTER_MARK_CLASS, character_class

_JOINER: Final = r"[_\-.'@+]"
_UPPER_CODES: Final = [code for code in range(0x10000) if chr(code).isupper() or chr(code).istitle()]
UPPER: Final = frozenset(map(chr, _UPPER_CODES))


class _Alphabet(NamedTuple):
    """Pieces of regular expressions: one letter or digit, what may follow it in a word, an upper-case letter, a
    character of a word."""

    letter: str
    rest: str
    upper: str
    inner: str  # without its brackets


CapitalRun = tuple[str, str, str, str]  # what is found in one: see `Patterns.capitals`


class Patterns(NamedTuple):
    # Capitalised words one space apart, in groups: the words, and a space if a digit follows; or one word.
    run: re.Pattern[str]
    word: re.Pattern[str]
    # The words of such a run; empty if they are inside a sentence; the number after them; the word after that.
    capitals: re.Pattern[str]
    inside: re.Pattern[str]  # any first character inside a sentence


ASCII: Final = _Alphabet("[A-Za-z0-9]", "[A-Za-z0-9]*", "[A-Z]", "A-Za-z0-9_")
UNICODE_WITHOUT_MARKS: Final = _Alphabet(
    r"[^\W_]", r"[^\W_]*", f"[{character_class(_UPPER_CODES)}]", rf"\w{LETTER_MARK_CLASS}"
)
UNICODE: Final = UNICODE_WITHOUT_MARKS._replace(rest=rf"[^\W_]*(?:[{LETTER_MARK_CLASS}]+[^\W_]*)*")

_OPENING: Final = "[\"'(*_`\\[]"


@cache
def patterns_of(alphabet: _Alphabet) -> Patterns:
    letter, rest, upper, inner = alphabet
    joined = f"(?:{_JOINER}{letter}{rest})*"
    word = letter + rest + joined
    capitalised = upper + rest + joined
    at_start = f"(?<!{letter}.)(?<!{letter}{_JOINER}.)"
    more = f"(?: {capitalised})*"
    # A capital is inside a sentence if, on its line, a space and a word (or a comma, a closing quote) precede it, with
    # at most two opening marks in between. Fixed widths, because a lookbehind needs them.
    before = rf"[{inner},;'\"]"
    inside = rf"(?<={before} .)|(?<={before} {_OPENING}.)|(?<={before} {_OPENING}{_OPENING}.)"
    capitals = f"({upper}{at_start}(?:{inside}|(?<=(.))){rest}{joined}{more})(?:{NUMBER})?"
    return Patterns(
        run=re.compile(f"({capitalised}{more})( (?=\\d))?|{word}"),
        word=re.compile(word),
        capitals=re.compile(capitals),
        inside=re.compile(f".(?:{inside})"),
    )
