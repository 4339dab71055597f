"""Describes what a setting accepts, in the same words wherever it is made: in the environment, in config.yaml, in the
admin."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

SHOWN_MAX: Final = 60  # characters of a refused value


@dataclass(frozen=True, slots=True)
class Takes:
    """An annotation that says what a value must be, if its type and range do not. ``item``: for each item of a list. A
    value that ``is_secret`` is never repeated."""

    words: str
    item: str = ""
    is_secret: bool = False


def describe_mistake(field: FieldInfo, value: object, *, of_item: bool = False) -> str:
    """Describe a mistake, such as "takes a whole number from 1 to 64, not 'many'"."""
    is_secret = any(said.is_secret for said in field.metadata if isinstance(said, Takes))
    found = "" if is_secret else f", not {show_value(value)}"
    return f"takes {describe_accepted(field, of_item=of_item)}{found}"


def describe_accepted(field: FieldInfo, *, of_item: bool = False) -> str:
    """Describe what the setting takes, or each item of its list."""
    for said in field.metadata:
        if isinstance(said, Takes):
            return said.item if of_item else said.words
    kind: Any = field.annotation
    if kind is bool:
        return "true or false"
    if get_origin(kind) is Literal:
        *choices, last = get_args(kind)
        return f"{', '.join(choices)} or {last}"
    return f"{'a whole number' if kind is int else 'a number'} {describe_range(field.metadata)}"


def describe_range(metadata: Sequence[object]) -> str:
    above = [f"above {limit.gt}, at most" for limit in metadata if isinstance(limit, Gt)]
    least = [f"from {limit.ge} to" for limit in metadata if isinstance(limit, Ge)]
    most = [str(limit.le) for limit in metadata if isinstance(limit, Le)]
    return " ".join([*above, *least, *most])


def split_words(raw: object) -> object:
    """Split a text at commas into stripped parts, before validation; return anything else unchanged."""
    return [part.strip() for part in raw.split(",") if part.strip()] if isinstance(raw, str) else raw


def show_value(value: object) -> str:
    """Return a value as a file may have it; only the beginning of a text."""
    if isinstance(value, str):
        # Refused values are logged, and an address may contain a password.
        text = re.sub(r"//.*@", "//...@", value, flags=re.DOTALL)
        return f"'{abbreviate(text)}'" if text.isprintable() else abbreviate(text)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return "nothing" if value is None else "a list" if isinstance(value, list | tuple) else "a section"


def abbreviate(text: str) -> str:
    """Shorten a text, without characters that would break a line of a log."""
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."
