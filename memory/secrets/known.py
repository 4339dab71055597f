"""Finds a secret that somebody names, in whatever form it was stored."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from memory.english.tokenizer import parse_name
from memory.secrets.redaction import MARK
from memory.types import Span

SHORTEST: Final = 4  # characters; a shorter text would be found in half of all words


@dataclass(frozen=True)
class KnownSecret:
    """A named secret. ``forms``: as it was written, in NFKC, in lower case, as JSON writes it, and as a word of the
    vocabulary, if it is one."""

    forms: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "KnownSecret":
        """Compute the forms of a text. Raises ValueError if it is too short."""
        text = text.strip()
        normal = unicodedata.normalize("NFKC", text)
        written = {text, normal, text.lower(), normal.lower(), parse_name(text) or text}
        forms = written | {
            json.dumps(form, ensure_ascii=is_ascii)[1:-1] for form in written for is_ascii in (True, False)
        }
        if min(map(len, forms)) < SHORTEST:
            raise ValueError(f"a text of less than {SHORTEST} characters stands in too much else")
        return cls(tuple(sorted(forms, key=len, reverse=True)))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.forms)), re.IGNORECASE)

    def is_in(self, text: str) -> bool:
        return self._pattern.search(text) is not None

    def find(self, text: str) -> list[Span]:
        return [match.span() for match in self._pattern.finditer(text)]

    @property
    def literals(self) -> list[str]:
        """The forms as patterns of Postgres, for ``~* ANY``."""
        return [f"***={form}" for form in self.forms]

    def cover(self, value: Any, names: Mapping[str, str], mark: str = MARK) -> Any:
        """Replace the secret by the mark in a text, or in all texts of a JSON value. ``names``: words of the vocabulary
        that were renamed."""
        if isinstance(value, str):
            return names[value] if value in names else self._pattern.sub(lambda _: mark, value)
        if isinstance(value, list):
            return [self.cover(item, names, mark) for item in value]
        if isinstance(value, dict):
            return {self.cover(key, names, mark): self.cover(item, names, mark) for key, item in value.items()}
        return value
