"""Recognises the prompts that programs write on their own account: to name a conversation, to tag it, to digest, sort,
grade or translate something. Nobody has said what is in them, or it was said before, in the conversation itself.

They are recognised by their form: one system text, made for one task, that names nobody to talk with and wants an
answer for a program to read; one message; no tools. If there is only a message, it must also hold the record of a
conversation.
"""

import re
from collections.abc import Container
from typing import Final

from memory.attribution.envelopes import is_person_envelope, unwrap
from memory.attribution.templates import find_template_heads
from memory.english.lexicon import read_pattern
from proxy.formats.base import Payload, Prompt

LOOKED_AT: Final = 20_000  # characters of a system text, and of a message without one
RECORD_TASK_WITHIN: Final = 400  # characters of a message

_FOR_PROGRAM: Final = re.compile(read_pattern("for_program"))
_PARTNER: Final = re.compile(read_pattern("partners"))
_TOOLS: Final = re.compile(read_pattern("tools"))
_TAGGED: Final = re.compile(rf"<({read_pattern('history_tags')})>.*</\1>", re.DOTALL | re.IGNORECASE)
_TURNS: Final = re.compile(r"^[ \t*#]*(?:user|human):.*(?:\n[ \t*#]*[\w-]+:(?=[ ]).*)*", re.MULTILINE | re.IGNORECASE)
_RECORD: Final = re.compile(read_pattern("records"))
_RECORD_TASK: Final = re.compile(read_pattern("record_tasks"))


def find_program(prompt: Prompt, payload: Payload, templates: Container[bytes] = ()) -> str:
    """Return why a prompt is a program's own; empty if it is not. ``templates`` are digests of openings that this
    speaker's programs fill in."""
    parts = prompt.parts
    if payload.get("tools") or payload.get("functions"):
        return ""
    if any(part.role == "tool" or part.calls or part.has_media for part in parts):
        return ""
    said = [part.text for part in parts if part.role != "system"]
    if not said or any(part.role not in ("user", "system") for part in parts) or any(map(is_person_envelope, said)):
        return ""
    system = "\n".join(part.text for part in parts if part.role == "system")[:LOOKED_AT].casefold()
    text = said[0] if len(said) == 1 else ""
    record = _TAGGED.search(text) or _TURNS.search(text)
    is_read_by_program = len(said) == 1 and bool(payload.get("response_format") or payload.get("format"))
    is_task = _FOR_PROGRAM.search(system) is not None and (
        is_read_by_program or record is not None or _PARTNER.search(system) is None
    )
    if is_task and not _TOOLS.search(system):
        return "a prompt made for one task"
    if text and templates and any(one.digest in templates for one in find_template_heads(unwrap(text, "user")[0])):
        return "what a program fills into a template"
    if is_read_by_program and not system:
        return "a prompt whose answer a program reads"
    if record is None:
        return ""
    asked = f"{text[: record.start()][:LOOKED_AT]}\n{text[record.end() :][-LOOKED_AT:]}".casefold()
    return "a task about a conversation" if _FOR_PROGRAM.search(asked) or _RECORD.search(asked) else ""


def is_record_task(text: str) -> bool:
    """True if a message asks for something to be done to the conversation that it is part of, such as a digest or
    notes."""
    return _RECORD_TASK.search(text[:RECORD_TASK_WITHIN].casefold()) is not None
