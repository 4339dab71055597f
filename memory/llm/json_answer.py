"""Reads a language model's answer as the JSON object that it was asked for."""

import json
import math
from typing import Final, NoReturn

LONGEST: Final = 200_000  # characters; no answer within the token limit is longer
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "integer": int,
}


class AnswerMistake(ValueError):
    """The text is not what was asked for. The message says why."""


def read_object(text: str, schema: dict[str, object], *, is_strict: bool = False) -> dict[str, object]:
    """Return the one JSON object in the text that has the schema's required properties. Unless ``is_strict``, it may be
    surrounded by prose and fences.

    Only the outermost properties are checked; the caller checks what is within. Its strings can be stored in Postgres
    and its numbers are finite. Raises AnswerMistake."""
    if len(text) > LONGEST:
        raise AnswerMistake("it is too long")
    try:
        found = [_make_storable(each) for each in _find_objects(text)]
    except RecursionError:
        raise AnswerMistake("it is nested too deeply") from None
    if not found:
        raise AnswerMistake("there is no JSON object in it")
    if is_strict and not (text.strip().startswith("{") and text.strip().endswith("}") and len(found) == 1):
        raise AnswerMistake("there is more in it than a JSON object")
    fitting = [each for each in found if isinstance(each, dict) and not _find_misfits(each, schema)]
    if not fitting:
        misfits = _find_misfits(found[0], schema)
        raise AnswerMistake(f"it does not have the requested form (missing or wrong: {misfits})")
    # The same object twice leaves no doubt about what was meant.
    if any(each != fitting[0] for each in fitting):
        raise AnswerMistake("there are several JSON objects in it")
    return fitting[0]


def _find_objects(text: str) -> list[object]:
    """Return the outermost JSON objects in a text, in order."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    found: list[object] = []
    at = text.find("{")
    while at >= 0:
        try:
            each, end = decoder.raw_decode(text, at)
            found.append(each)
        except ValueError:
            end = at + 1
        at = text.find("{", end)
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _make_storable(value: object) -> object:
    """Return the value without what Postgres refuses in a text: NUL and lone surrogates. Raises AnswerMistake."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_make_storable(each) for each in value]
    if isinstance(value, dict):
        return {str(_make_storable(key)): _make_storable(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise AnswerMistake("a number in it is too large")
    return value


def _find_misfits(value: object, schema: dict[str, object]) -> str:
    """Return the names of the required properties that the object lacks or has with another type."""
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(value, dict) or not isinstance(required, list) or not isinstance(properties, dict):
        return ""
    return ", ".join(name for name in required if name not in value or not _is_of(value[name], properties.get(name)))


def _is_of(value: object, schema: object) -> bool:
    """True if a value has the schema's type; a schema without a plain type fits everything."""
    # Python takes True for a number, JSON does not.
    kind = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(kind, str) or kind not in _TYPES:
        return True
    return isinstance(value, _TYPES[kind]) and not (kind in ("number", "integer") and isinstance(value, bool))
