"""The words that nobody is asked about."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.questions import known_words

BYTES_MAX = 2_000_000
LINES = known_words.WORDS.read_bytes().splitlines()


def test_the_file_is_sorted_and_small() -> None:
    assert all(first < second for first, second in pairwise(LINES))
    assert known_words.WORDS.stat().st_size <= BYTES_MAX


@given(st.one_of(st.sampled_from(LINES).map(bytes.decode), st.text(max_size=12)))
def test_exactly_the_lines_of_the_file_are_found(line: str) -> None:
    is_line = line.encode("utf-8", "surrogatepass") in LINE_SET and bool(line)

    assert known_words._has_line.__wrapped__(line) is is_line


LINE_SET = frozenset(LINES)

TECHNOLOGY = """
    json env kubectl fastapi graphql useeffect postgresql systemd yaml llm async chatgpt dockerfile enum eslint
    github_actions jwt kwargs localhost mypy node_modules npm oauth2 pytest regex stderr stdout tailwind typescript venv
    vite req retries refactor docker_compose visual_studio_code home_assistant new_york
"""


@pytest.mark.parametrize("word", [*TECHNOLOGY.split(), "heizung", "bist", "nicht", "aujourd'hui", "квартира"])
def test_technology_and_everyday_words_of_other_languages_are_known(word: str) -> None:
    assert known_words.is_known(word)


@pytest.mark.parametrize("word", ["gnommoweb", "kvasir", "price-engine", "docker-kvasir", "glitch_university", "web-0"])
def test_names_are_not_known_for_their_parts(word: str) -> None:
    assert not known_words.is_known(word)


def test_the_other_kinds_of_lines() -> None:
    assert known_words.is_rare_english("summarise")
    assert not known_words.is_known("kestrel")  # `Kestrel` is a name
    assert known_words.is_foreign("und")
    assert not known_words.is_foreign("the")
