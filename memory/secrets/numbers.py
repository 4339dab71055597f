"""Finds numbers that are secrets by themselves: of payment cards, bank accounts (IBAN), social security."""

import re
from collections.abc import Iterator
from typing import Final

from memory.english.spans import merge_spans
from memory.types import Span

# A text in bytes of a few kinds: digits as 0, capitals as A, blanks and dashes unchanged, a full stop for everything
# else. Searching it for a literal takes a tenth of the time of a pattern.
_KINDS: Final = bytes(
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
_PATTERNS: Final = (
    (b"0000 0000 0000 0000", _CARD), (b"0000-0000-0000-0000", _CARD), (b"0000 000000 00000", _CARD),
    (b"0000-000000-00000", _CARD), (b"0" * 15, _CARD), (b"AA00", _IBAN), (b"000-00-0000", _SOCIAL),
)  # fmt: skip


def find_numbers(text: str) -> list[Span]:
    """Return the spans in ascending order; they do not overlap."""
    kinds = text.encode("latin-1", "replace").translate(_KINDS)
    return merge_spans(span for start, pattern in _PATTERNS for span in _find(text, kinds, start, pattern))


def _find(text: str, kinds: bytes, start: bytes, pattern: re.Pattern[str]) -> Iterator[Span]:
    at = kinds.find(start)
    while at >= 0:
        if (match := pattern.match(text, at)) is not None and _has_check_digits(match[0]):
            yield match.span()
        at = kinds.find(start, at + 1)


def _has_check_digits(number: str) -> bool:
    if number[0].isalpha():
        return _is_iban(number.replace(" ", ""))
    digits = [int(digit) for digit in number if digit.isdigit()]
    return len(digits) < 15 or _luhn_sum(digits) % 10 == 0


def _luhn_sum(digits: list[int]) -> int:
    """Return the sum of ISO/IEC 7812-1: from the right, every second digit doubled, less 9 if that has two digits."""
    doubled = (2 * digit - 9 * (digit > 4) for digit in digits[-2::-2])
    return sum(digits[-1::-2]) + sum(doubled)


def _is_iban(number: str) -> bool:
    """True if the check of ISO 13616 holds: with the first four characters moved to the end, and letters as 10 to 35,
    the number modulo 97 is 1."""
    return int("".join(str(int(letter, 36)) for letter in number[4:] + number[:4])) % 97 == 1
