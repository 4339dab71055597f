"""The questions of a message that asks several."""

import pytest

from memory.semantic.domain.parts import split_questions


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Where does it run, and when do we deploy?", ["Where does it run", "when do we deploy?"]),
        ("What is the dog's name? And where do I live?", ["What is the dog's name?", "And where do I live?"]),
        ("We moved. Which version is it?", ["We moved.", "Which version is it?"]),
        ("Who is our vet?", []),
        ("Rebase and merge.", []),
        ("Is it red and blue?", []),
        ("Who? " * 200, []),
        (" ".join(f"Who sold crate {number}?" for number in range(9)), []),
    ],
)
def test_a_message_is_split_into_its_questions(text: str, parts: list[str]) -> None:
    assert split_questions(text) == parts
