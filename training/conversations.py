"""Reads the conversations that the encoder is trained on: one file for each person in ``weeks/``. A line each:

- ``# person``; ``@ 2026-03-02 06:40``: a chat begins;
- ``u7 text``: a message of the person; ``a text``: the assistant's answer; a line break in it is written ``\\n``;
- ``p u7 sentence``, ``i u7 sentence``: it is a standing instruction, or tells who the person is;
- ``? newest u31 old u2 | text``: a later request, the messages that it needs, and those that are outdated;
  ``? nothing | text``."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "weeks"
_MESSAGE: Final = re.compile(r"u(\d+) (.+)")
_SENTENCE: Final = re.compile(r"([pi]) (u\d+) (.+)")
_REQUEST: Final = re.compile(r"\? (\w+)((?: u\d+)*)(?: old((?: u\d+)+))? \| (.+)")
# Persons that the training leaves out, to choose settings by.
DEVELOPMENT: Final = frozenset("a06 b02 b04 c01 c03 c05 d06 e07 f04 g06 h05 i01 i02 i03 i04 i05".split())  # noqa: SIM905
LABELS: Final = {"p": "preference", "i": "identity"}


@dataclass(frozen=True, slots=True)
class Message:
    """``chat`` numbers the person's chats; ``role`` is user or assistant; ``key`` is empty for an answer."""

    key: str
    chat: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    kind: str
    text: str
    evidence: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


@dataclass(slots=True)
class Person:
    name: str
    messages: list[Message] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    sentences: list[tuple[str, str, str]] = field(default_factory=list)  # label, key of the message, sentence


def read_people(folder: Path = FOLDER) -> list[Person]:
    """Raises ValueError for a line that cannot be read."""
    return [read_person(file) for file in sorted(folder.glob("*.txt"))]


def read_person(file: Path) -> Person:
    person, chat = Person(file.stem), 0
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("@ "):
            chat += 1
        elif found := _MESSAGE.fullmatch(line):
            person.messages.append(Message(f"u{found[1]}", chat, "user", found[2].replace("\\n", "\n")))
        elif line.startswith("a "):
            person.messages.append(Message("", chat, "assistant", line[2:].replace("\\n", "\n")))
        elif found := _SENTENCE.fullmatch(line):
            person.sentences.append((LABELS[found[1]], found[2], found[3].replace("\\n", "\n")))
        elif found := _REQUEST.fullmatch(line):
            kind, evidence, outdated, text = found.groups()
            person.requests.append(
                Request(kind, text.replace("\\n", "\n"), tuple(evidence.split()), tuple((outdated or "").split()))
            )
        elif line and not line.startswith("# "):
            raise ValueError(f"{file.name}:{number}: {line[:60]}")
    return person
