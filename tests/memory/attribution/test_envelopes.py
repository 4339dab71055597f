"""What a person typed of a message to which a client or a program adds parts of its own."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attribution.envelopes import (
    is_delegated,
    is_open_webui,
    read_sender,
    remove_client_parts,
    shows_tools,
)
from memory.attribution.templates import HEADS_MAX, LEAST, WITHIN, find_template_heads
from memory.learning.reader import unwrap_message
from memory.types import Message
from tests.memory.labelled import labelled

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


@labelled(__file__, "all of a client")
def test_of_what_is_the_clients_as_a_whole_nothing_is_left(text: str) -> None:
    assert remove_client_parts(text) == ""


@labelled(__file__, "told by an agent")
def test_what_one_agent_tells_another_is_no_persons(text: str, is_agents: bool) -> None:
    assert is_delegated(text) is is_agents


@labelled(__file__, "written by Open WebUI")
def test_what_open_webui_writes_is_known(text: str, is_theirs: bool) -> None:
    assert is_open_webui(text) is is_theirs


@labelled(__file__, "works as Agent Zero")
def test_one_message_shows_that_a_client_works_as_agent_zero(text: str, role: str, is_such: bool) -> None:
    assert shows_tools(text, role) is is_such


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


TEMPLATE = "Process the consolidation for this scenario, and answer as the system text says, please"


def test_an_opening_ends_at_a_line_break_or_a_colon() -> None:
    first, second = (
        find_template_heads(f"{TEMPLATE}:\nNew memory: kvasir is a relay."),
        find_template_heads(f"{TEMPLATE}: mimir"),
    )

    assert [one.text for one in first] == [f"{TEMPLATE}:", f"{TEMPLATE}:\nNew memory"]
    assert first[0].digest == second[0].digest
    assert first[0].rest != second[0].rest


def test_what_is_short_or_goes_on_with_nothing_has_none() -> None:
    assert (
        find_template_heads(TEMPLATE)
        == find_template_heads(f"{TEMPLATE}:\n")
        == find_template_heads("Note this:\nkvasir")
        == []
    )


def test_case_white_space_and_invisible_signs_tell_nothing() -> None:
    [plain] = find_template_heads(f"{TEMPLATE}\nkvasir")
    [odd] = find_template_heads(f"  {TEMPLATE.upper().replace(' ', '  ')}\u200b\r\nkvasir")

    assert plain.digest == odd.digest


@given(st.text(st.sampled_from("ab :\n\r.é\u200b"), max_size=300))
def test_openings_lie_at_the_beginning(text: str) -> None:
    found = find_template_heads(text)

    assert len(found) <= HEADS_MAX
    for one in found:
        assert len(one.text) >= LEAST - 1


def test_far_behind_the_beginning_there_is_none() -> None:
    assert find_template_heads("a " * WITHIN + "\nkvasir") == []
