"""Episodes and memories for tests, without the messages and the rules that they come from."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count, pairwise
from typing import Any

from django.contrib.postgres.search import SearchVector
from django.db.models import Value

from memory.memories.scope import Scope, Speaker
from memory.models import Episode, Memory
from memory.search.found import Found
from memory.search.ranking import choose_for_prompt
from memory.search.service import open_cursor, prepare

ANN = Scope(Speaker("agent-zero", "ann"))
NUMBERS = count(1)
START = datetime(2026, 3, 1, tzinfo=UTC)


def digest_of(name: object, length: int = 32) -> bytes:
    return hashlib.sha256(str(name).encode()).digest()[:length]


def said(text: str, scope: Scope = ANN, *, role: str = "user", talk: object = "", **fields: Any) -> Episode:
    """A message, in a conversation of its own unless ``talk`` names one."""
    number = next(NUMBERS)
    return Episode.objects.create(
        digest=digest_of(number),
        conversation=digest_of(talk or number, 16),
        agent=scope.speaker.agent,
        person=scope.speaker.person,
        project_id=scope.project,
        role=role,
        text=text,
        lexemes=weigh(text, role, fields.get("quoted", ())),
        said_at=fields.pop("said_at", START),
        **fields,
    )


def weigh(text: str, role: str, quoted: Sequence[int]) -> Any:
    own, *others = [text[start:end] for start, end in pairwise([0, *quoted, len(text)])]
    lexemes = SearchVector(Value(own), config="english", weight="A" if role == "user" else "C")
    for at, part in enumerate(others):
        weight = "D" if at % 2 == 0 else "A" if role == "user" else "C"
        lexemes = lexemes + SearchVector(Value(part), config="english", weight=weight)
    return lexemes


def remembered(text: str, scope: Scope = ANN, **fields: Any) -> Memory:
    return Memory.objects.create(
        text=text,
        agent=scope.speaker.agent,
        person=scope.speaker.person,
        project_id=scope.project,
        **{"source": Memory.Source.STATED, "said_at": START} | fields,
    )


def given_to(scope: Scope, query: str) -> Sequence[Found]:
    """The lines that a prompt with this message is given."""
    with open_cursor() as cursor:
        index, asked, _ = prepare(cursor, scope, query)
    return choose_for_prompt(index, asked).lines


def given(scope: Scope, query: str) -> list[str]:
    return [each.text for each in given_to(scope, query)]
