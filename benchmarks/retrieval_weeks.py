"""Weeks of chats with an assistant, written by hand: facts told in passing, replaced later, asked for in other words.

``retrieval_weeks.txt``: ``# somebody`` (or ``# held out: somebody``), ``==`` before each conversation, a message a
line, the assistant's behind ``> ``, with ``#tags`` of what it is evidence for; ``?s QUESTION @tags < tags that hold no
more`` (s of one fact, m of several, t of time, u of what was replaced, p of what is preferred); ``! `` a prompt to
which nothing of it belongs, before the first person's: to nobody's.
"""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.retrieval_data import Asked, Line, Talk
from memory.memories.episodes import compose_episode

TEXT: Final = Path(__file__).with_suffix(".txt")
_TOLD: Final = re.compile(r"(?P<text>.*?)(?: #(?P<facts>[\w,]+))?")
_ASKED: Final = re.compile(r"\?[smtup] (?P<text>.*) @(?P<evidence>[\w,]+)(?: < (?P<older>[\w,]+))?")
_HELD_OUT: Final = "held out: "


def read_weeks() -> list[Talk]:
    to_anybody, *people = TEXT.read_text().removeprefix("# ").split("\n# ")
    talks = []
    conversations = count(1_000_000)
    for person in people:
        name, *lines = person.splitlines()
        is_held_out = name.startswith(_HELD_OUT)
        talk = Talk(topics="weeks")
        prompts = [line for line in [*to_anybody.splitlines(), *lines] if line.startswith("! ")]
        talk.beside = [(line.removeprefix("! "), is_held_out) for line in prompts]
        asked = (found for line in lines if (found := _ASKED.fullmatch(line)))
        talk.asked = [
            Asked(each["text"], _split(each["evidence"]), is_held_out, _split(each["older"])) for each in asked
        ]
        talk.lines = list(_read_lines(lines, conversations))
        talks.append(talk)
    return talks


def _read_lines(lines: list[str], conversations: Iterator[int]) -> Iterator[Line]:
    """Yield the lines that are kept of what was said."""
    conversation, before = 0, ""
    for line in lines:
        if line == "==":
            conversation, before = next(conversations), ""
        elif line and line[:2] not in ("! ", "?s", "?m", "?t", "?u", "?p"):
            role = "assistant" if line.startswith("> ") else "user"
            told = _TOLD.fullmatch(line.removeprefix("> "))
            assert told is not None
            if (episode := compose_episode(told["text"], role, before)) is not None:
                yield Line(role, episode.text, conversation, _split(told["facts"]))
            before = told["text"] if role == "assistant" else ""


def _split(tags: str | None) -> tuple[str, ...]:
    return tuple(tags.split(",")) if tags else ()
