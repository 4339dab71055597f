"""Which prompts a chat program sends on its own account."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.domain.formats.base import Part, Prompt, ToolCall
from proxy.domain.helper_prompts import HELPER_MAX, find_helper_task

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "helper_prompts.jsonl").read_text().splitlines()]
TITLE = "Provide a concise title for the conversation. Only return the title, 5 words or less."


def prompt(*turns: tuple[Any, str]) -> Prompt:
    parts = [Part(role, text, place) for place, (role, text) in enumerate(turns)]
    return Prompt("m", parts, has_system=False, is_stream=False)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['task']}: {row['turns'][-1][1][:40]}")
def test_programs_and_persons_are_told_apart(row: dict[str, Any]) -> None:
    assert find_helper_task(prompt(*row["turns"]), {}) == row["task"]


def test_what_is_long_has_tools_or_pictures_is_no_helper() -> None:
    asking = prompt(("user", TITLE))

    assert find_helper_task(asking, {"tools": []}) == "title"
    assert find_helper_task(asking, {"tools": [{"type": "function"}]}) is None
    assert find_helper_task(prompt(("user", TITLE + "\n" + "x" * (HELPER_MAX - len(TITLE)))), {}) is None
    for part in (
        Part("user", TITLE, 0, has_media=True),
        Part("tool", TITLE, 0),
        Part("assistant", TITLE, 0, calls=(ToolCall("look", {}),)),
    ):
        assert find_helper_task(Prompt("m", [part], has_system=False, is_stream=False), {}) is None


HISTORY = "USER: gnommoweb is a repo.\n" * 1_000 + "ASSISTANT: </chat_history> ends it\n"


@pytest.mark.parametrize(
    ("text", "task"),
    [
        (f"{TITLE}\n<chat_history>\n{HISTORY}</chat_history>", "title"),
        (f"<Conversation>\n{HISTORY}</Conversation>\n{TITLE}", "title"),
        (f"{TITLE}\n<chat_history>\n{HISTORY.replace('</chat_history>', 'that')}", None),
        (f"{TITLE}\n{HISTORY}", None),
        (f"Translate it to French.\n<chat_history>\n{HISTORY}{TITLE}</chat_history>", None),
    ],
    ids=["between tags", "before the request", "without an end", "without tags", "a request within it"],
)
def test_the_history_that_a_program_sends_with_it_may_be_long(text: str, task: str | None) -> None:
    assert find_helper_task(prompt(("user", text)), {}) == task


FRAGMENTS = sorted(word for word in " ".join(row["turns"][-1][1] for row in ROWS).split() if len(word) < 20)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=60).map(" ".join))
def test_what_a_person_asks_for_themselves_is_no_helpers_prompt(words: str) -> None:
    assert find_helper_task(prompt(("user", f"Give me a title for my talk, max 5 words. {words}")), {}) is None
