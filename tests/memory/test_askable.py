"""Which names a message speaks of, so that somebody may be asked about them, and the words nobody is asked about."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attribution.prose import find_identifiers, mask_all_but_prose
from memory.cache.state import Cache
from memory.english.sentences import MASK
from memory.questions import known_words
from memory.questions.askable import read_spoken
from memory.running.bootstrap import common_words
from memory.types import SoasRow
from tests.memory.labelled import labelled


@pytest.fixture(scope="module")
def cache() -> Cache:
    """With the English dictionary, without facts."""
    rows = {word: SoasRow(id, is_common=True) for id, word in enumerate(common_words(3.0), 1)}
    return Cache(rows, {row.id: word for word, row in rows.items()}, nameless=set(rows))


@labelled(__file__, "spoken of")
def test_names_of_which_a_sentence_speaks(text: str, written: set[str], cache: Cache) -> None:
    assert sorted(read_spoken(cache, text).values()) == written


@labelled(__file__, "not asked about")
def test_nothing_that_anybody_is_asked_about(text: str, cache: Cache) -> None:
    assert read_spoken(cache, text) == {}


def test_of_a_flood_of_names_without_an_end_no_sentence_is_read(cache: Cache, monkeypatch: Any) -> None:
    looked_up: list[str] = []
    monkeypatch.setattr(known_words, "is_foreign", looked_up.append)
    names = [f"zorb{number}x" for number in range(1_000)]

    assert read_spoken(cache, f"We asked {' '.join(names)} for it.") == {}
    assert looked_up == []


def test_words_that_code_uses_as_its_own() -> None:
    code = "def flurb(req, *args, limit: int = 3):\n    gnome = req.get(1)"
    text = f"Look at `flush(queue)`:\n```\n{code}\n```\nkvasir is up"

    assert find_identifiers(text) == {"flush", "queue", "flurb", "req", "args", "limit", "gnome"}
    assert find_identifiers("Please call kvasir(1) for me.") == set()
    assert find_identifiers("gnome = kvasir(1)", is_code=True) == {"gnome", "kvasir"}


@given(st.text(alphabet="aK \n`>|:\"'(=1.-{\t", max_size=200))
def test_masking_moves_nothing(text: str) -> None:
    prose = mask_all_but_prose(text)

    assert len(prose) == len(text)
    assert all(shown in (said, MASK, "\x10") for shown, said in zip(prose, text, strict=True))
    assert prose.count("\n") == text.count("\n")


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
