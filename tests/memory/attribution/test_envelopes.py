"""What a person typed of a message to which a client adds parts of its own."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attribution.envelopes import read_sender, remove_client_parts
from memory.learning.reader import unwrap_message
from memory.types import Message

# One line for each kind of message that the public sources of clients have.
ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "envelopes.jsonl").read_text().splitlines()]
SAID = "Kvasir is our mail relay. Please add a method."


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['client']}: {row['kind']}")
def test_of_a_clients_message_what_was_typed_is_read(row: dict[str, Any]) -> None:
    said, sender = unwrap_message(Message(row["role"], row["text"])), read_sender(row["text"])

    assert (said.role, said.text.strip()) == (row["role"], row["typed"])
    assert (sender.person, sender.is_group) == (row["person"], row["is_group"])


@pytest.mark.parametrize(
    "text",
    [
        f"<system-reminder>\nUse the tools.\n</system-reminder>\n{SAID}",
        f"{SAID}\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block names a file.\n1. The path alone.",
        f"# AGENTS.md instructions for /home/ada/kvasir\n\n<INSTRUCTIONS>\nRun the tests.\n</INSTRUCTIONS>\n{SAID}",
        f"<environment_context>\n<cwd>/home/ada</cwd>\n</environment_context>{SAID}",
        "### Task:\nRespond to the user query using the provided context, with citations.\n<context>\nHeron runs on"
        f" tyr.\n</context>\n<attached_files>\n<file/>\n</attached_files>\n\n{SAID}",
    ],
    ids=["reminder", "rules behind it", "context file", "environment", "documents"],
)
def test_what_a_client_adds_is_left_out(text: str) -> None:
    assert remove_client_parts(text).strip() == SAID


@pytest.mark.parametrize(
    "text",
    [
        "I have *added these files to the chat* so you can go ahead and edit them.\n\nparser.py",
        "### Task:\nPredict what comes next.\n### Output:\nJSON\n<chat_history>\nUSER: Kvasir is a relay.",
        "New task:\nYou're a helpful agent named 'finder'.\nTask:\nFind the host.",
    ],
)
def test_of_what_is_the_clients_as_a_whole_nothing_is_left(text: str) -> None:
    assert remove_client_parts(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        "### Task:\nWrite a note about kvasir.\n### Output:\nOne paragraph.",
        "Why does the <system> tag of our config not close?",
        "Explain this line of my notes: I switched to a new code base.",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert remove_client_parts(text) == text


@given(
    st.lists(st.sampled_from(["<system-reminder>", "</system-reminder>", "<INSTRUCTIONS>", "</INSTRUCTIONS>", "a "]))
)
def test_nothing_is_added_and_a_second_time_changes_nothing(pieces: list[str]) -> None:
    once = remove_client_parts("".join(pieces))

    assert once.count("a ") <= pieces.count("a ")
    assert remove_client_parts(once) == once
