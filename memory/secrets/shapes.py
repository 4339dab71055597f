"""The shapes of secrets and of placeholders, shared by the modules that find secrets."""

import re
from typing import Final

from memory.english.function_words import split_words
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

# States of a field or a password, in place of a value.
STATES: Final = split_words(
    "any ask authentication bool boolean bytes changed disabled empty enabled expired false field hidden "
    "incorrect int invalid missing nil no none null number optional policy protected required reset see set str "
    "string stored true undefined unknown unset wrong yes"
)


def looks_secret(value: str) -> bool:
    if len(value) < 6 or value.isalpha() or TECHNICAL.match(value):
        return False
    has_letter = any(map(str.isalpha, value))
    return has_letter and (any(map(str.isdigit, value)) or _SYMBOL.search(value) is not None)


def span_of(text: str, value: re.Match[str]) -> Span:
    """Return the span of a match of VALUE, without quotes and without the punctuation after it."""
    start, end = value.span(value.lastgroup or "bare")
    return (start, start + len(text[start:end].rstrip(CLOSING))) if value.lastgroup == "bare" else (start, end)


def ends_line(text: str, end: int) -> bool:
    return text[end : end + 8].lstrip(" \t")[:1] in ("", "\n", "\r")
