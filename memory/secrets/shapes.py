"""The shapes of secrets and of placeholders, shared by the modules that find secrets."""

import re
from dataclasses import dataclass
from typing import Final

from memory.english.lexicon import load_words
from memory.types import Span

MARK: Final = "[secret]"
FILLER: Final = "\uffff"  # a noncharacter, in place of each character of a found secret

PLACEHOLDER: Final = re.compile(r"\$[{(]|\{\{|<|%s|[^\n]{0,64}\[secret|[*.\u2022\uffff_\-]+\Z|x{3,}\Z", re.IGNORECASE)
# An unquoted text that is not a value: a variable, a call, a path, an address.
REFERENCE: Final = re.compile(
    r"\$[A-Z_]+\b|\$[a-z_]+\Z|[\[{(]|[A-Za-z_.]+[(\[]|(?:~|\.{1,2})?(?:/[\w.\-]+){2,}|/\w+\Z|https?://"
    r"|(?:self|this|os|process|env|settings|config|request|args|options|ctx|params|props)\."
)
# Names of algorithms, formats and versions: letters and digits, but no secret.
TECHNICAL: Final = re.compile(
    r"(?:aes|argon|auth|base|ecdsa|ed|es|gpt|hs|http|https|ipv|iso|k|md|node|oauth|pbkdf|python|rfc|rs|rsa|s|sha|ssl|tls|"
    r"utf|v|version|web|x)[-_]?\d",
    re.IGNORECASE,
)
_SYMBOL: Final = re.compile(r"\w[!@#$%^&*?~+=|]+\w")

# Chinese and Japanese have no space between a value and the words after it.
UNSPACED: Final = "\u3000-\u30ff\u3400-\u9fff"
# A value: quoted, or up to white space. A comma, a semicolon or an ampersand may be part of a password, but not before
# the next label.
_INNER_MARK: Final = rf"[,;&](?![\s\"'`{UNSPACED}]|\Z|[\w.\-]{{1,40}}[=:])"
VALUE: Final = re.compile(
    r"(?P<quote>\\{0,3}[\"'`])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n]))*+)"
    rf"|(?P<bare>(?:[^\s\"'`<>,;&{UNSPACED}]|{_INNER_MARK})++|(?:[^\s\"'`<>,;&]|{_INNER_MARK})++)"
)
GLANCE: Final = 64  # characters of a value that decide whether it is a secret
CLOSING: Final = ".,;:)]}"

STATES: Final = load_words("values_of_secrets")


def looks_secret(value: str) -> bool:
    if len(value) < 6 or value.isalpha() or TECHNICAL.match(value):
        return False
    has_letter = any(map(str.isalpha, value))
    return has_letter and (any(map(str.isdigit, value)) or _SYMBOL.search(value) is not None)


@dataclass(frozen=True, slots=True)
class Value:
    """A possible secret. ``glance``: its beginning, by which that is decided; ``pattern``: what matches all of it."""

    text: str
    glance: re.Match[str]
    pattern: re.Pattern[str]

    @property
    def is_quoted(self) -> bool:
        return self.glance.lastgroup == "quoted"

    @property
    def written(self) -> str:
        """The value without quotes and without the punctuation after it."""
        return self.glance["quoted"] if self.is_quoted else self.glance["bare"].rstrip(CLOSING)

    @property
    def word(self) -> str:
        """The first word in lower case."""
        return next(iter(self.written.lower().split()), "")

    @property
    def span(self) -> Span:
        """The span of the whole value, like ``written``."""
        whole = self.pattern.match(self.text, self.glance.start()) or self.glance
        start, end = whole.span(whole.lastgroup or "bare")
        return (start, end) if self.is_quoted else (start, start + len(self.text[start:end].rstrip(CLOSING)))


def read_value(text: str, at: int, pattern: re.Pattern[str] = VALUE) -> Value | None:
    """Return the value that begins at a position; None if there is none, or only a placeholder or a reference."""
    # A glance first: otherwise a text of labels followed by long values would be read over and over.
    glance = pattern.match(text, at, at + GLANCE)
    if glance is None:
        return None
    value = Value(text, glance, pattern)
    written = value.written
    is_name = PLACEHOLDER.match(written) or (not value.is_quoted and REFERENCE.match(written))
    return None if not written or is_name else value


def ends_line(text: str, end: int) -> bool:
    return text[end : end + 8].lstrip(" \t")[:1] in ("", "\n", "\r")
