"""Finds out which person speaks through an agent: there may be many, as with Open WebUI or a bridge to a chat."""

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import orjson

from memory.graph.statement import PERSON_MAX

READ_MAX: Final = 4_096  # characters of a name that is parsed; nobody has a longer one

# Claude Code's user_id: for the same person only what comes before this is the same in each session.
_SESSION: Final = re.compile(r"_session_[0-9a-f-]{36}\Z")
_SESSION_KEY: Final = "session_id"


def find_person(given: str, payload: Mapping[str, Any]) -> str:
    """Return the first that is set: ``given`` by a header, the body's ``user``, its ``metadata.user_id``, its
    ``safety_identifier``; else empty."""
    metadata = payload.get("metadata")
    user_id = metadata.get("user_id") if isinstance(metadata, dict) else None
    named = (given, payload.get("user"), user_id, payload.get("safety_identifier"))
    return next(filter(None, map(clean_person, named)), "")


def clean_person(value: object) -> str:
    """Return a person's name without session ids; a name that is too long is replaced by its digest, so that no two
    become one."""
    if isinstance(value, dict):  # Open WebUI's pipelines
        value = value.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    person = str(value)
    if len(person) <= READ_MAX:
        person = _SESSION.sub("", _without_session("".join(filter(str.isprintable, person)).strip()))
    if len(person) <= PERSON_MAX:
        return person
    return blake2b(person.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _without_session(person: str) -> str:
    if not (person.startswith("{") and _SESSION_KEY in person):
        return person
    try:
        parts = orjson.loads(person)
        parts.pop(_SESSION_KEY, None)
        return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # orjson reads deeper nesting than it writes
        return person
