"""Recognises the prompts that programs write on their own account: to name a conversation, to tag it, to digest, sort,
grade or translate something. Nobody has said what is in them, or it was said before, in the conversation itself.

By their form: one system text, made for one task, that names nobody to talk with and wants an answer that a program
reads; one message; no tools. What one message alone asks has to hold the record of a conversation besides.
"""

import re
from collections.abc import Container
from typing import Final

from memory.domain.authorship.agent_envelopes import is_person_envelope, unwrap
from memory.domain.authorship.openings import find_openings
from memory.domain.language.english import programs as english
from proxy.domain.formats.base import Payload, Prompt

LOOKED_AT: Final = 20_000  # characters of a system text, and of a message without one

_FOR_PROGRAM: Final = re.compile(english.FOR_PROGRAM)
_PARTNER: Final = re.compile(english.PARTNER)
_TOOLS: Final = re.compile(english.TOOLS)
_TAGGED: Final = re.compile(rf"<({english.HISTORY_TAGS})>.*</\1>", re.DOTALL | re.IGNORECASE)
_TURNS: Final = re.compile(
    r"^[ \t*#]*user:(?:.*\n)+?[ \t*#]*(?:assistant|ai):.*(?:\n.*:(?=[ ]).*)*", re.MULTILINE | re.IGNORECASE
)


def find_program(prompt: Prompt, payload: Payload, templates: Container[bytes] = ()) -> str:
    """Why a prompt is a program's own; empty where it is not. ``templates``: digests of openings that programs of this
    speaker fill in."""
    parts = prompt.parts
    if payload.get("tools") or payload.get("functions"):
        return ""
    if any(part.role == "tool" or part.calls or part.has_media for part in parts):
        return ""
    said = [part for part in parts if part.role != "system"]
    if not said or any(part.role != "user" for part in said) or any(is_person_envelope(part.text) for part in said):
        return ""
    system = "\n".join(part.text for part in parts if part.role == "system")[:LOOKED_AT].casefold()
    if system.strip() and _is_for_program(system) and not _TOOLS.search(system):
        return "a prompt made for one task"
    text = said[0].text
    if len(said) == 1 and templates and any(one.digest in templates for one in find_openings(unwrap(text, "user")[0])):
        return "what a program fills into a template"
    record = (_TAGGED.search(text) or _TURNS.search(text)) if len(said) == 1 else None
    if record is None:
        return ""
    asked = f"{text[: record.start()][:LOOKED_AT]}\n{text[record.end() :][-LOOKED_AT:]}".casefold()
    return "a task about a conversation" if _is_for_program(asked) else ""


def _is_for_program(instruction: str) -> bool:
    return _FOR_PROGRAM.search(instruction) is not None and _PARTNER.search(instruction) is None
