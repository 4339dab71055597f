"""Finds secrets that a label announces: `password: x`, `API_KEY=x`, `"token": "x"`, `Authorization: Bearer x`,
`--password x`, `Set-Cookie: name=x`. What people write around a label, "the password for staging is x", is in
``wording``."""

import re
from collections.abc import Iterator
from typing import Final

from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words
from memory.english.spans import merge_spans
from memory.secrets.shapes import (
    PLACEHOLDER,
    REFERENCE,
    STATES,
    TECHNICAL,
    VALUE,
    Value,
    ends_line,
    looks_secret,
    read_value,
)
from memory.secrets.wording import (
    Label,
    ends_clause,
    find_code,
    find_in_apposition,
    find_in_wording,
    find_login,
    find_means,
    is_ordinary,
    is_predicate,
)
from memory.types import Span

# Every label has one of these where `_LABEL` begins: searching literals is many times as fast.
_ROOTS: Final = (
    b"pass", b"pw", b"kennwort", b"contrase", b"key", b"token", b"secret", b"credential", b"creds", b"authori",
    b"bearer", b"phrase", b"mnemonic", b"pin", b"otp", b"code", b"cvv", b"cvc", b"login", b"log in",
    b"sign in", b"unlock", b"cookie", b"magic word", b"safe word",
)  # fmt: skip
# The same beyond Latin, in scripts without case.
_FOREIGN_ROOTS: Final = (
    "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4", "\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638",
    "\u043f\u0430\u0440\u043e\u043b\u044c",
)  # fmt: skip
_KEY_KINDS: Final = load_words("kinds_of_keys")
_CODE_KINDS: Final = load_words("kinds_of_codes")
_KEY: Final = "(?:" + "|".join(f"(?<={kind})|(?<={kind}[ _-])" for kind in sorted(_KEY_KINDS)) + ")key"
_CODE: Final = "(?:" + "|".join(f"(?<={kind}[ _-])" for kind in sorted(_CODE_KINDS | {"time"})) + ")code"
_NETWORK_KEY: Final = (
    "(?:" + "|".join(f"(?<={kind}[ _-])" for kind in ("wifi", "wi-fi", "wlan", "wpa", "wpa2")) + ")key"
)
# In lower case. The value after a password's label need not look like a secret; after a weak label it must. A code is a
# few digits.
_LABEL: Final = re.compile(
    r"(?P<phrase>pass[ _-]?phrase|secret[ _-]phrase|(?<=seed[ _-])phrase|(?<=recovery[ _-])phrase|mnemonic)"
    r"|(?P<password>(?<![a-z])(?:secret|magic|code|safe)[ _-]?word|pass(?:word|wort|wd|code)|(?<![a-z])(?:pwd|pw)"
    r"|kennwort|(?<=mot de )passe|contrase[n\u00f1]a"
    rf"|(?<=require)pass(?![a-z])|{_NETWORK_KEY}|{'|'.join(_FOREIGN_ROOTS)})"
    rf"|(?P<strong>authori[sz]ation|{_KEY})"
    rf"|(?P<code>(?<![a-z])(?:pin|otp|cvv2?|cvc2?)(?![a-z])|{_CODE})"
    r"|(?P<unlock>unlock(?:s|ed|ing)?(?![a-z_]))|(?P<cookie>cookie)"
    r"|(?P<login>(?<![a-z])(?:log[ -]?in(?:to)?|sign[ -]in|creds)(?![a-z_]))|(?P<logins>credentials?(?![a-z_]))"
    r"|(?P<weak>secret|token|credentials?|bearer|(?<![a-z])pass)|(?P<key>(?<=\bthe )key|(?<=\bmy )key|(?<=\bour )key)"
)
_LINK: Final = re.compile(
    r"(?P<suffix>(?:_[A-Z0-9]{1,20}){1,3})?+\\{0,3}[\"'`*]{0,3}[ \t]{0,8}"
    r"(?:(?P<assigned>:[ \t]?(?:str|string|bytes)(?: \| None)?[ \t]?=|:=|=>|={1,2}|:|>(?=\S))\*{0,2}"
    r"|(?:is|was)(?=[ \t:])[ \t]{0,8}:?"
    r"|(?P<copula>[\u662f\u4e3a\u70ba\u306f\ub294\uc740]|\u044d\u0442\u043e)(?=[ \t]{0,8}[!-~])|(?<=[ \t])(?:\|[ \t])?)"
    r"(?P<wrapped>(?<=[:=])[ \t]{0,8}\r?\n)?[ \t]{0,8}(?:(?:bearer|basic|digest|token)[ \t]{1,8})?",
    re.IGNORECASE,
)
_LINE: Final = re.compile(r"[\"'`]?(?P<bare>[^\n\"'`]++)")
_NETRC: Final = re.compile(
    r"\b(?:login[ \t]+|(?:login|user(?:name)?)[:=][ \t]*|username[ \t]+)[\w.@\-]{1,64}+,?[ \t]+"
    r"(?:(?:and|with)[ \t]+)?\Z"
)
_SET_VARIABLE: Final = re.compile(r"(?:\A|\n)[ \t]*(?:(?:ENV|export|set|SET)[ \t]+)?[A-Z0-9_]*\Z")
_DIRECTIVE: Final = re.compile(r"(?:\A|\n)[ \t]*require\Z")
_LOOK_BACK: Final = 80  # characters
_COOKIES_MAX: Final = 30
_COOKIE: Final = r"[ \t]{0,4}(?P<name>[\w!#$%&*+.^|~\-]{1,64}+)=\"?(?P<value>[^\s\"'`;,\\]++)"
_FIRST_COOKIE: Final = re.compile(rf"[\"'`]?[ \t]{{0,4}}[:=][ \t]{{0,4}}[\"'`]?{_COOKIE}")
_NEXT_COOKIE: Final = re.compile(rf"\"?;{_COOKIE}")


def find_announced(text: str) -> list[Span]:
    """Return the spans in ascending order; they do not overlap."""
    lowered = text.replace("\u0130", "I").lower()  # the only letter that would get longer
    found: list[Span] = []
    at, start, end = 0, 0, 0  # the end of the last label; the last secret
    for root in _find_roots(lowered):
        # A label may come between another one and its value, but not within a value.
        if root < at or start <= root < end or (label := _LABEL.match(lowered, root)) is None:
            continue
        at = label.end()
        for start, end in _find_secrets(text, Label(label.lastgroup or "", label.start(), label.end())):
            found.append((start, end))
    return merge_spans(found)


_NAMED_KINDS: Final = frozenset({"code", "logins", "password", "phrase"})
_LOCKS: Final = "(?:alarm|car|door|flat|garage|gate|house|locker|lock|mailbox|office|padlock|safe|vault)"
_OF_LOCK: Final = re.compile(
    rf"\b(?:code|key|combination)s?(?: [\w'\u2019]+){{0,5}}? {_LOCKS}\b"
    rf"|\b{_LOCKS}(?:['\u2019]s)? (?:key|combination)s?\b"
)
_OWNED: Final = re.compile(r"(?:\b(?:my|our|the|his|her|their|card|phone|sim)|['\u2019]s)[ \t]\Z")
_SECRET_TOKEN: Final = re.compile(rf"\b(?:{'|'.join(sorted(_KEY_KINDS | {'bearer', 'bot', 'refresh'}))})[ _-]\Z")


def speaks_of_secret(text: str) -> bool:
    """True if a short text names a password, a PIN, a key or the code of a door, whatever it says about it."""
    lowered = text.replace("\u0130", "I").lower()
    labels = (_LABEL.match(lowered, root) for root in _find_roots(lowered))
    return _OF_LOCK.search(lowered) is not None or any(
        label is not None and _names_secret(text, lowered, label) for label in labels
    )


def _names_secret(text: str, lowered: str, label: re.Match[str]) -> bool:
    before = lowered[max(0, label.start() - _LOOK_BACK) : label.start()]
    if label[0] == "pin":  # versions are pinned, and chips have pins
        return text[label.start() : label.end()] == "PIN" or _OWNED.search(before) is not None
    if label[0] == "token":
        return _SECRET_TOKEN.search(before) is not None
    is_key = label.lastgroup == "strong" and label[0].endswith("key")
    return is_key or label[0] == "secret" or label.lastgroup in _NAMED_KINDS


def _find_roots(lowered: str) -> list[int]:
    letters = lowered.encode("latin-1", "replace")  # one byte per character: the same offsets, searched faster
    found: list[int] = []
    for root in _ROOTS:
        at = letters.find(root)
        while at >= 0:
            found.append(at)
            at = letters.find(root, at + len(root))
    if not lowered.isascii():
        found += (match.start() for root in _FOREIGN_ROOTS if root in lowered for match in re.finditer(root, lowered))
    found.sort()
    return found


def _find_secrets(text: str, label: Label) -> Iterator[Span]:
    if label.kind == "cookie":
        yield from _find_cookies(text, label)
        return
    span = None
    if label.kind == "code":
        span = find_code(text, label)
    elif label.kind == "unlock":
        span = find_means(text, label)
    elif label.kind in ("login", "logins"):
        span = find_login(text, label)
    if span is None and label.kind not in ("code", "login", "unlock", "key"):
        span = _find_direct(text, label)
    if span is None and label.kind in ("phrase", "password"):
        span = find_in_apposition(text, label)
    if span is not None:
        yield span
    if (span is None or span[1] <= label.start) and label.kind not in ("code", "login", "unlock"):
        yield from find_in_wording(text, label)


def _find_cookies(text: str, label: Label) -> Iterator[Span]:
    """Yield the values of a `Cookie` header, and only the first of `Set-Cookie`: attributes follow it."""
    is_set = text[max(0, label.start - 4) : label.start].lower() == "set-"
    at, pattern = label.end, _FIRST_COOKIE
    for _ in range(1 if is_set else _COOKIES_MAX):
        if (match := pattern.match(text, at)) is None:
            return
        if not PLACEHOLDER.match(match["value"]) and not REFERENCE.match(match["value"]):
            yield match.span("value")
        at, pattern = match.end(), _NEXT_COOKIE


def _find_direct(text: str, label: Label) -> Span | None:
    """Return the span of the secret that directly follows the label, if one does."""
    link = _LINK.match(text, label.end)
    if link is None:
        return None
    # A pass phrase is several words: the whole line is the secret.
    is_line = label.kind == "phrase" and link["assigned"] and not link["wrapped"]
    value = read_value(text, link.end(), _LINE if is_line else VALUE)
    return value.span if value is not None and _is_secret(text, label, link, value) else None


def _is_secret(text: str, label: Label, link: re.Match[str], value: Value) -> bool:
    # If unclear, it is a secret: a sentence can be read with one word less.
    written, word, end = value.written, value.word, value.glance.end()
    if link["wrapped"]:
        return looks_secret(written) and ends_line(text, end)
    if looks_secret(written):
        return True
    if link["suffix"] or word in STATES:
        return False
    if value.is_quoted:
        return bool(link["assigned"] or not label.is_weak)
    before = text[max(0, label.start - _LOOK_BACK) : label.start]
    # A label that ends a command-line option: `--db-password`.
    if before[-40:].rpartition(" ")[2].startswith("--"):
        return not written.startswith("-")
    if link["copula"]:
        return not is_ordinary(word) and TECHNICAL.match(word) is None and ends_clause(text, end)
    if not link["assigned"]:
        return _is_directive(text, label, before, value)
    if is_closed_class(word):
        return False
    is_parameter = before.endswith(("?", "&"))  # of a URL
    return not label.is_weak or (not written.isdigit() and (is_parameter or _stands_alone(text, label, value.glance)))


def _is_directive(text: str, label: Label, before: str, value: Value) -> bool:
    """True if label and value are side by side as in a configuration file: `PASSWORD x`, `requirepass x`, `login bob
    password x`."""
    word, glance = value.word, value.glance
    if text[label.end : glance.start()].strip() or is_closed_class(word) or is_predicate(word):
        return False
    if label.is_weak or not word[0].isalnum() or not ends_clause(text, glance.end()):
        return False
    if _NETRC.search(before) is not None:
        return True
    if not ends_line(text, glance.end()):
        return False
    is_shouted = text[label.start : label.end].isupper() and not glance["bare"].isupper()
    return _DIRECTIVE.search(before) is not None or (is_shouted and _SET_VARIABLE.search(before) is not None)


def _stands_alone(text: str, label: Label, glance: re.Match[str]) -> bool:
    """True if no prose follows a value: the line or clause ends, or it is assigned like `SECRET=value`."""
    is_variable = text[label.start : label.end].isupper() and text[glance.start() - 1 : glance.start()] == "="
    return is_variable or ends_line(text, glance.end()) or text[glance.end() : glance.end() + 1] in (",", ";")
