"""Masks the secrets in a text before any of it is stored: values that a label announces, and text that looks like a
secret."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from memory.english.non_words import is_key
from memory.english.spans import merge_spans, replace_spans
from memory.english.unicode import reveal
from memory.secrets.labels import find_announced
from memory.secrets.shapes import FILLER, MARK, PLACEHOLDER, looks_secret
from memory.types import Span

__all__ = ["MARK", "blank_secrets", "mask_secrets"]

Cover = Callable[[str], str]  # returns the replacement of a secret

# A key without an end is masked as far as its lines look like Base64.
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)*+)"
)
# A password may contain an @ or a slash, but a port is not one.
_CREDENTIALS: Final = re.compile(
    r"(://[^\s/?#:@\"'<>\[\]]{0,128}+:)(?!\d{1,5}/)(?!\[secret\]@)[^\s@\"'<>]{1,128}+@(?:[^\s/@\"'<>]{1,128}+@)?"
)
_FILLED: Final = re.compile(f"{FILLER}+")
# Without a scheme, only if the password has a digit or a mark, which no word before an address has.
_BARE_CREDENTIALS: Final = re.compile(
    r"(?<![\w.+\-:/@])(?!(?:https?|mailto|e?-?mail|from|to|b?cc|contact|reply-to|sips?|xmpp|acct|npm|git|sha\d+):)"
    r"([A-Za-z][\w.+\-]{0,63}+:)(?=[^\s@]{0,64}[\d!#$%^&*?~+=|])(?!//|\[secret\]@)([^\s/:@\"'`<>()\[\]{},]{4,64}+)"
    r"@(?=[A-Za-z][A-Za-z0-9\-]*+(?:[.:/\s]|\Z)|\d{1,3}(?:\.\d{1,3}){3})(?!sha\d)",
    re.IGNORECASE,
)
_VISIBLE: Final = re.compile(r"[^\n]")


def mask_secrets(text: str) -> str:
    """Return the text with `MARK` in place of each secret. Masking it again changes nothing; linear time on any
    text."""
    return _cover(text, lambda secret: MARK)


def blank_secrets(text: str) -> str:
    """Return the text with its secrets made unreadable, and all offsets unchanged."""
    return _cover(text, lambda secret: _VISIBLE.sub("*", secret))


def _cover(text: str, cover: Cover) -> str:
    # Found secrets are filled, so that they are not found again and all offsets stay. Whole keys and addresses first:
    # their remains would not be recognised. Each search comes after a check for something it requires, because most
    # texts have no secret.
    filled = text.replace(FILLER, "\ufffd")
    if "-----BEGIN" in text:
        filled = _PRIVATE_KEY.sub(_fill, filled)
    revealed = reveal(filled)
    spans = (revealed.source_span(*match.span()) for match in _FILLED.finditer(_fill_lines(revealed.text)))
    return replace_spans(text, spans, cover)


def _fill_lines(text: str) -> str:
    if "://" in text:
        text = _CREDENTIALS.sub(lambda match: f"{match[1]}{FILLER * (len(match[0]) - len(match[1]) - 1)}@", text)
    if "@" in text:
        text = _BARE_CREDENTIALS.sub(lambda match: f"{match[1]}{_fill(match[2])}@", text)
    text = replace_spans(text, find_announced(text), _fill)
    if " -" in text:
        text = _ARGUMENT.sub(_fill_argument, text)
    text = replace_spans(text, _find_numbers(text), _fill)
    return replace_spans(text, _find_runs(text), _fill_run)


def _fill(secret: str | re.Match[str]) -> str:
    return FILLER * len(secret if isinstance(secret, str) else secret[0])


# -- `mysql -p x`, `curl -u user:x`, `redis-cli -a x`

_ARGUMENT: Final = re.compile(
    r"(?P<option>-(?<!\S-)(?:(?P<flag>[apPwWU])[ \t=]{0,2}|(?:u|-user|-proxy-user)[ \t=]{1,2}[\"']?[^\s:\"']{1,64}:))"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"'\-][^\s\"']*+)"
)
# By the flag that announces a password, the programs that take it so. With -u a user name precedes it.
_PROGRAMS_BY_FLAG: Final = {
    "": r"mysql\w*|mariadb\w*|sshpass|login|htpasswd|ldap\w+|mongo\w*|curl|wget|http",
    "p": r"mysql\w*|mariadb\w*|sshpass|login|htpasswd|ldap\w+|mongo\w*|curl|wget|http|7z|rabbitmq\w*",
    "a": r"redis-cli|valkey-cli|keydb-cli",
    "P": r"sqlcmd|bcp|zip|unzip|isql|tsql|mosquitto_\w+|ipmitool",
    "w": r"ldap\w+|vncpasswd",
    "W": r"kinit|snmp\w+",
    "U": r"smbclient|rpcclient",
}
_TAKES_PASSWORD: Final = {
    flag: re.compile(rf"(?:^|[\s;|&(`])(?:\S*/)?(?:{programs})\b") for flag, programs in _PROGRAMS_BY_FLAG.items()
}
_PROGRAM: Final = re.compile(r"(?:java|lib|node|perl|php|python|ruby)[\w\-]*\Z")
_COMMAND_MAX: Final = 160  # characters looked back for the name of the command


def _fill_argument(match: re.Match[str]) -> str:
    option, value, flag = match["option"], match["value"], match["flag"] or ""
    line = match.string[max(0, match.start() - _COMMAND_MAX) : match.start()].rpartition("\n")[2]
    if _TAKES_PASSWORD[flag].search(line):
        is_secret = not value.isdigit() or option == "-p" or flag == "a"
    else:
        is_secret = flag == "p" and option != "-p" and value.isalnum() and looks_secret(value)
        is_secret = is_secret and _PROGRAM.match(value) is None
    if not is_secret or PLACEHOLDER.match(value):
        return match[0]
    return f"{option}{match['quote']}{_fill(value)}"


# -- Numbers with check digits: of payment cards, bank accounts (IBAN), social security

# A text in bytes of a few kinds: digits as 0, capitals as A, blanks and dashes unchanged, a full stop for everything
# else. Searching it for a literal takes a tenth of the time of a pattern.
_NUMBER_KINDS: Final = bytes(
    ord("0") if code in b"0123456789" else ord("A") if 65 <= code <= 90 else code if code in b" -" else ord(".")
    for code in range(256)
)
_CARD: Final = re.compile(
    r"(?<![\w.\-])(?:(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|65\d\d)(?P<joint>[ \-]?)\d{4}(?P=joint)\d{4}(?P=joint)\d{4}"
    r"|3[47]\d\d(?P<gap>[ \-]?)\d{6}(?P=gap)\d{5})(?![\w\-])"
)
_IBAN: Final = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)(?![A-Za-z0-9])"
)
_SOCIAL: Final = re.compile(r"(?<![\w\-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w\-])")
# By the beginning of each, in kinds.
_NUMBERS: Final = (
    (b"0000 0000 0000 0000", _CARD), (b"0000-0000-0000-0000", _CARD), (b"0000 000000 00000", _CARD),
    (b"0000-000000-00000", _CARD), (b"0" * 15, _CARD), (b"AA00", _IBAN), (b"000-00-0000", _SOCIAL),
)  # fmt: skip


def _find_numbers(text: str) -> list[Span]:
    """Return the spans in ascending order; they do not overlap."""
    kinds = text.encode("latin-1", "replace").translate(_NUMBER_KINDS)
    return merge_spans(span for start, pattern in _NUMBERS for span in _find_pattern(text, kinds, start, pattern))


def _find_pattern(text: str, kinds: bytes, start: bytes, pattern: re.Pattern[str]) -> Iterator[Span]:
    at = kinds.find(start)
    while at >= 0:
        if (match := pattern.match(text, at)) is not None and _has_check_digits(match[0]):
            yield match.span()
        at = kinds.find(start, at + 1)


def _has_check_digits(number: str) -> bool:
    """True if the check of ISO 13616 holds for an IBAN (the first four characters at the end, letters as 10 to 35:
    modulo 97 it is 1), that of ISO/IEC 7812-1 for a card (from the right every second digit doubled: the sum of the
    digits modulo 10 is 0). Others have none."""
    if number[0].isalpha():
        number = number.replace(" ", "")
        return int("".join(str(int(letter, 36)) for letter in number[4:] + number[:4])) % 97 == 1
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = sum(2 * digit - 9 * (digit > 4) for digit in digits[-2::-2])
    return len(digits) < 15 or (sum(digits[-1::-2]) + doubled) % 10 == 0


# -- Anything that looks like a secret in any context: keys with a provider's prefix, JWTs, digests, random strings.

_RUN_LETTERS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_.~-")
_RUN_CLASSES: Final = bytes(ord("w") if code in _RUN_LETTERS else ord(" ") for code in range(256))
_RUN_LENGTH: Final = 16  # characters
_RUN: Final = b"w" * _RUN_LENGTH
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/_.~\-]{16,}+={0,2}")
_OWN_TOKEN: Final = re.compile(r"fst_[\w\-]{8,}")
_DIGIT: Final = re.compile("[0-9]")
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX: Final = re.compile(r"(?<![0-9a-zA-Z])(?:0x)?[0-9a-f]{32,}+(?![0-9a-zA-Z])", re.IGNORECASE)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}\Z")
_RANDOM_LENGTH: Final = 20  # characters
_UNIT: Final = re.compile(r"[A-Z]?[a-z]++|[A-Z]++|[0-9]++")
_UNIT_LENGTH: Final = 4  # least average number of characters in a unit of text that people spell
_SEPARATOR: Final = re.compile(r"([/.~]+)")
_JOINERS: Final = re.compile(r"[+_\-]+")
_LONG_PART: Final = re.compile(r"[A-Za-z0-9]{20,}")


def _find_runs(text: str) -> Iterator[Span]:
    # Searched in bytes of two kinds, which takes a fifth of the time of a pattern.
    kinds = text.encode("latin-1", "replace").translate(_RUN_CLASSES)
    at = kinds.find(_RUN)
    while at >= 0:
        end = kinds.find(b" ", at + _RUN_LENGTH)
        end = len(text) if end < 0 else end
        padding = text[end : end + 2]
        end += len(padding) - len(padding.lstrip("="))
        yield at, end
        at = kinds.find(_RUN, end)


def _fill_run(whole: str) -> str:
    """Fill a run; a path, an address or a dotted name keeps the parts that are not secrets."""
    run = whole.rstrip(".~-")
    end = whole[len(run) :]
    if _DIGIT.search(run) is None and _LONG_PART.search(run) is None:
        return whole
    if _is_key(run) or _is_base64(run):
        return _fill(run) + end
    parts = _SEPARATOR.split(run)
    kept = [_fill(part) if _is_key(part) or _is_random(part) else part for part in parts]
    # The text between secrets is runs, too; at most once more, since its parts were examined.
    return (_LONG_RUN.sub(lambda left: _fill_run(left[0]), "".join(kept)) if kept != parts else run) + end


def _is_key(run: str) -> bool:
    if len(run) < 12:
        return False
    if _OWN_TOKEN.match(run) is not None:
        return True
    # Letters alone: `sk-learn-extra-package` is spelled in words, a key is not.
    return is_key(run) and (_DIGIT.search(run) is not None or _LONG_PART.search(run) is not None)


def _is_base64(run: str) -> bool:
    """True if a run is Base64 with slashes in it: a path has some part that is a plain word."""
    return (
        "/" in run
        and _BASE64.match(run) is not None
        and not any(len(part) > 2 and part[1:].islower() and part.isalpha() for part in run.split("/"))
        and _is_random(run.replace("/", ""))
    )


def _is_random(part: str) -> bool:
    """True if a part is a long hexadecimal number, or changes between cases and digits too often to be spelled."""
    if len(part) < _RANDOM_LENGTH:
        return False
    part = _UUID.sub("", part)
    if (digest := _HEX.search(part)) is not None and not digest[0].isdigit() and not digest[0].isalpha():
        return True
    if part.isalpha() or not any(map(str.isdigit, part)) or not any(map(str.isalpha, part)):
        return False
    changes = len(_UNIT.findall(part)) - len(_JOINERS.findall(part))
    return len(part) >= _RANDOM_LENGTH and changes * _UNIT_LENGTH > len(part)
