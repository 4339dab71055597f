"""Which prompts a program writes on its own account."""

import json
from pathlib import Path
from typing import Any

import pytest

from proxy.formats.base import Part, Prompt, ToolCall
from proxy.speakers.programs import find_program

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "programs.jsonl").read_text().splitlines()]
TITLE = "Write a concise title for the conversation. Only return the title, 5 words or less."
HISTORY = "USER: gnommoweb is a repo.\n" * 1_000 + "ASSISTANT: </chat_history> ends it\n"


def prompt(*turns: tuple[Any, str]) -> Prompt:
    parts = [Part(role, text, place) for place, (role, text) in enumerate(turns)]
    return Prompt("m", parts, takes_top=False, is_stream=False)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['is_program']}: {row['turns'][-1][1][:40]}")
def test_programs_and_persons_are_told_apart(row: dict[str, Any]) -> None:
    assert bool(find_program(prompt(*row["turns"]), {})) == row["is_program"]


def test_what_has_tools_or_pictures_is_none() -> None:
    asking = prompt(("system", TITLE), ("user", "gnommoweb is a repo."))

    assert find_program(asking, {"tools": []})
    assert not find_program(asking, {"tools": [{"type": "function"}]})
    for part in (
        Part("user", "Look.", 1, has_media=True),
        Part("tool", "Found.", 1),
        Part("assistant", "", 1, calls=(ToolCall("look", {}),)),
    ):
        assert not find_program(Prompt("m", [*asking.parts, part], takes_top=False, is_stream=False), {})


@pytest.mark.parametrize(
    ("text", "is_program"),
    [
        (f"{TITLE}\n<chat_history>\nUSER: gnommoweb is a repo.\n</chat_history>", True),
        (f"<conversation>\nUSER: gnommoweb is a repo.\n</conversation>\n{TITLE}", True),
        (f"{TITLE}\n{HISTORY}", True),
        (f"Translate it to French.\n<chat_history>\n{TITLE}</chat_history>", False),
        (TITLE, False),
    ],
    ids=["between tags", "before the request", "turn by turn", "a request within it", "without a record"],
)
def test_one_message_alone_has_to_hold_the_record_of_a_conversation(text: str, is_program: bool) -> None:
    assert bool(find_program(prompt(("user", text)), {})) == is_program


def test_a_record_may_be_asked_about_under_any_system_text() -> None:
    asking = f"{TITLE}\n<chat>\nUSER: gnommoweb is a repo.\n</chat>"

    assert find_program(prompt(("system", "You are a helpful assistant."), ("user", asking)), {})


def test_who_talks_on_is_a_person() -> None:
    turns = [("system", TITLE), ("user", "gnommoweb is a repo."), ("assistant", "The repo"), ("user", "Shorter.")]

    assert not find_program(prompt(*turns), {})
