import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.tokenizer import parse_name, tokenise


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("repo", "repo"),
        ("Glitch University", "glitch_university"),
        (' "Repo". ', "repo"),
        ("**Docker**", "docker"),
        ("gpt-4o", "gpt-4o"),
        ("glitch university", None),
        ("a/b", None),
        ("(repo)", None),
        ("repo (old)", None),
        ("42", None),
        ("", None),
    ],
)
def test_a_text_is_one_name_or_none(text: str, name: str | None):
    assert parse_name(text) == name


@given(st.text())
def test_a_name_is_read_again_as_itself(text: str):
    name = parse_name(text)

    assert name is None or (parse_name(name) == name and [token.text for token in tokenise(name)] == [name])
