"""Describes what a setting accepts, in the same words in the environment and in the admin."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin

from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

SHOWN_MAX: Final = 60  # characters of a refused value


@dataclass(frozen=True, slots=True)
class Takes:
    """An annotation that says what a value must be, if its type and range do not. A value that ``is_secret`` is never
    repeated."""

    words: str
    is_secret: bool = False


def describe_mistake(field: FieldInfo, raw: str) -> str:
    """Describe a mistake, such as "takes a whole number from 1 to 64, not 'many'"."""
    is_secret = any(said.is_secret for said in field.metadata if isinstance(said, Takes))
    # Refused values are logged, and an address may contain a password.
    found = "" if is_secret else f", not {quote(re.sub(r'//.*@', '//...@', raw, flags=re.DOTALL))}"
    return f"takes {describe_accepted(field)}{found}"


def describe_accepted(field: FieldInfo) -> str:
    for said in field.metadata:
        if isinstance(said, Takes):
            return said.words
    kind: Any = field.annotation
    if get_origin(kind) is Literal:
        *choices, last = get_args(kind)
        return f"{', '.join(choices)} or {last}"
    least, most = find_range(field)
    return f"{'a whole number' if kind is int else 'a number'} from {least} to {most}"


def find_range(field: FieldInfo) -> tuple[Any, Any]:
    """Return the least and the greatest value of a number."""
    [least] = [limit.ge for limit in field.metadata if isinstance(limit, Ge)]
    [most] = [limit.le for limit in field.metadata if isinstance(limit, Le)]
    return least, most


def quote(raw: str) -> str:
    """Quote the beginning of a text, without characters that would break a line of a log."""
    text = f"'{raw}'" if raw.isprintable() else repr(raw)
    return text if len(raw) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}...'"
