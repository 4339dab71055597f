"""Tells what looks like a word and is none: numbers, versions, dates, digests, keys."""

import re

MAX_TOKEN_LENGTH = 64  # characters; the width of the vocabulary's column
SHORT = 12  # characters; no digest and no random string is shorter

_NUMBER = r"[\d_.\-'@+]+"
_RELEASE = r"(?:alpha|beta|rc|preview|pre|post|dev|rev|build|snapshot|final|release|lts|stable|a|b|c|p|r|x)"
# At most three suffixes: `rc` is also `r` and `c`, so an unbounded repeat would try every split.
_SUFFIX = rf"(?:[-._+]?{_RELEASE}[-._]?\d*|\+[a-z0-9.]+|[-+]\d+){{0,3}}"
_VERSION = rf"v\d+(?:\.\d+)*{_SUFFIX}|\d+(?:\.\d+)+{_SUFFIX}|\d+(?:\.\d+)*\.x|\d+(?:alpha|beta|rc)\d*"
_DATE = r"\d{4}-?\d\d-?\d\d(?:t[\d.]+)?(?:[+-]\d+)?z?|\d+(?:\.\d+)?z|\d{4}-(?:w\d\d?|q[1-4])"
_HEX = r"(?:0x)?[0-9a-f]{12,}"
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
# Prefixes that providers put before their keys so that scanners find them.
_KEY = (
    r"(?:sk-|sk_live_|sk_test_|pk_live_|pk_test_|rk_live_|rk_test_|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|xapp-"
    r"|dckr_pat_|pypi-ageichl|shp(?:at|ca|pa|ss)_|dop_v1_|whsec_|tvly-|npg_|ya29\.)[\w\-.'@+]*"
    r"|(?:hf|npm|gsk|r8|pplx|nvapi|xai|lin_api|key|token|secret)[_-][a-z0-9]{20,}"
)
_WRITTEN_NUMBER = re.compile(rf"(?:{_NUMBER}|{_VERSION}|{_DATE})\Z", re.IGNORECASE)
_DIGEST = re.compile(rf"(?:{_HEX}|(?:.*[_\-.'@+])?{_UUID})\Z", re.IGNORECASE)
_PREFIXED_KEY = re.compile(rf"(?:{_KEY})\Z", re.IGNORECASE)
# These are keys only in their own case: `akiachak` is a town.
_CASED_KEY = re.compile(r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{8,}|AIza[\w\-]{16,}|eyJ[A-Za-z0-9_\-.]{12,}|SG\.[\w\-.]{16,}")
_LONG_PART = re.compile(r"[^_\-.'@+]{12,}")
_HEX_PART = re.compile(r"(?=.*\d)[0-9a-f]{12,}\Z", re.IGNORECASE)
_RANDOM_LENGTH = 20  # characters


def is_noise(word: str) -> bool:
    """True if a word, in its original case, is kept out of the vocabulary. If false for a word, it is false for the
    word in lower case, too."""
    if len(word) < SHORT:
        return not word.isalpha() and (_is_number(word) or _PREFIXED_KEY.match(word) is not None)
    if len(word) > MAX_TOKEN_LENGTH or _is_number(word):
        return True
    if _DIGEST.match(word) or is_key(word):
        return True
    return any(_is_random(part) for part in _LONG_PART.findall(word))


def is_key(word: str) -> bool:
    """True if a word, in its original case, begins like the keys of a provider."""
    return _PREFIXED_KEY.match(word) is not None or _CASED_KEY.match(word) is not None


def _is_number(word: str) -> bool:
    return (word[0].isdigit() or word[0] in "vV") and _WRITTEN_NUMBER.match(word) is not None


def _is_random(part: str) -> bool:
    """True if a piece between joiners is a digest, or too mixed to be spelled by a person."""
    if _HEX_PART.match(part):
        return True
    if len(part) < _RANDOM_LENGTH or not any(c.isdigit() for c in part):
        return False
    return part != part.lower() and part != part.upper()
