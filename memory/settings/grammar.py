"""What a setting takes, in the same words wherever it is made: in the environment, in config.yaml, in the admin."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

SHOWN_MAX: Final = 60  # characters of a value that is refused


@dataclass(frozen=True, slots=True)
class Takes:
    """In an annotation: what a value must be, where its type and range do not say it. ``item``: each item of a list.
    A value that ``is_secret`` is never repeated."""

    words: str
    item: str = ""
    is_secret: bool = False


def describe_mistake(field: FieldInfo, value: object, *, of_item: bool = False) -> str:
    """Such as "takes a whole number from 1 to 64, not 'many'"."""
    is_secret = any(said.is_secret for said in field.metadata if isinstance(said, Takes))
    found = "" if is_secret else f", not {show_value(value)}"
    return f"takes {describe_accepted(field, of_item=of_item)}{found}"


def describe_accepted(field: FieldInfo, *, of_item: bool = False) -> str:
    """What the setting takes, or each item of its list."""
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
    """Before validation: the comma-separated parts of a text, stripped; what is no text stays as it is."""
    return [part.strip() for part in raw.split(",") if part.strip()] if isinstance(raw, str) else raw


def show_value(value: object) -> str:
    """A value as a file may have it; of a text its beginning."""
    if isinstance(value, str):
        # What is refused is logged, and an address may hold a password.
        text = re.sub(r"//.*@", "//...@", value, flags=re.DOTALL)
        return f"'{abbreviate(text)}'" if text.isprintable() else abbreviate(text)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return "nothing" if value is None else "a list" if isinstance(value, list | tuple) else "a section"


def abbreviate(text: str) -> str:
    """Without characters that would break a line of a log."""
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."
