"""The words by which an episode is found: in SQL, and for queries without asking PostgreSQL."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from memory.english.stems import stem

# For a row ``said``, whose texts are folded. A: a user's own words; C: the model's answer; D: quotations in a message.
LEXEMES: Final = """
    setweight(to_tsvector('english', own), CASE role WHEN 'user' THEN 'A'::"char" ELSE 'C' END)
        || setweight(to_tsvector('english', passed_on), 'D')
"""
STOP_WORDS: Final = frozenset(
    """a about above after again against all am an and any are as at be because been before being below between both
    but by can did do does doing don down during each few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on
    once only or other our ours ourselves out over own s same she should so some such t than that the their theirs
    them themselves then there these they this those through to too under until up very was we were what when where
    which while who whom why will with you your yours yourself yourselves""".split()  # noqa: SIM905
)
_ASCII: Final = "[A-Za-z0-9]"
_HOST: Final = rf"(?:{_ASCII}(?:[A-Za-z0-9_-]*{_ASCII})?\.)+[A-Za-z]{{2,}}(?!{_ASCII})"
_WORD: Final = r"[^\W_]+"
# The types of tokens of PostgreSQL's default parser, where several are possible the one that it prefers.
_TOKEN: Final = re.compile(
    rf"""
    (?P<skipped><(?P<name>script|style)\b.*?(?:</(?P=name)>|\Z) | <!--.*?-->
        | </?(?!\w+://)[A-Za-z?](?:"[^"]*"|'[^']*'|[\w\s=\-#/:.&?%~])*> | &(?:\#\d+|\#[xX][0-9a-fA-F]+|[A-Za-z]\w*);
        | [A-Za-z]+://)
    |(?P<email>{_ASCII}[A-Za-z0-9._-]*@{_HOST})
    |(?P<host>{_HOST}(?::\d+)?)(?P<path>/[^\s"<>^`{{|}}]*)?
    |(?P<file>(?:\A[.~](?=/))?(?:(?:[A-Za-z]{_ASCII}*|\d+{_ASCII}*)?/\.?|[A-Za-z]{_ASCII}*\.)[A-Za-z0-9_]+
        (?:-|[./]?[A-Za-z0-9_]+|/\.)*(?<![./]))
    |(?P<number>[+-]?\d+(?:\.\d+)?[eE][+-]?\d+ | \d+(?:\.\d+){{2,}} | [+-]?\d+\.\d+ | [+-]\d+ | \d+(?![^\W_]))
    |(?P<joined>{_WORD}(?<![^\W\d_]-\d)(?:-(?!\d+(?![^\W_])){_WORD})+)(?:-(?=\d))?
    |(?P<word>{_WORD})
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


class _Folding(dict[int, str]):
    """A table for ``str.translate``."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        category = unicodedata.category(letter)
        # Marks that belong to no letter, then punctuation, symbols, spaces, and numbers such as fractions.
        self[code] = "" if category == "Mn" else " " if category[0] in "PSZ" or category == "No" else letter
        return self[code]


_FOLDING: Final = _Folding({code: chr(code) for code in range(128)})


def fold(text: str) -> str:
    """Return the text in lower case and with spaces for signs beyond ASCII: to PostgreSQL they are letters in some
    locales, such as that of the embedded one."""
    return unicodedata.normalize("NFC", text.lower()).translate(_FOLDING)


def find_lexemes(text: str) -> set[str]:
    """Return the different lexemes of the text, as ``to_tsvector('english', ...)`` makes them of the folded one."""
    return set(_read(fold(text)))


def _read(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0].lower()
        if kind == "word":
            yield from _stem(token)
        elif kind == "joined":
            for word in (match["joined"].lower(), *match["joined"].lower().split("-")):
                yield from _stem(word)
        elif kind in ("host", "path"):
            yield match["host"].lower()
            if match["path"] and match["path"] != "/":
                yield token
                yield match["path"].lower()
        elif kind != "skipped" and kind != "name":
            yield token


def _stem(word: str) -> tuple[str, ...]:
    return () if word in STOP_WORDS else (stem(word),)
