"""Facts in words: each dimension has its verb."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.function_words import is_closed_class
from memory.english.phrases import VERBS, format_fact, phrase, tell_fact, tells_dimension
from memory.english.tokenizer import is_name
from memory.graph.fact_syntax import find_mistake, parse_fact
from memory.types import Triple

names = st.from_regex(r"[b-z][a-z0-9]{2,8}([-_.][a-z0-9]{2,5})?", fullmatch=True).filter(
    lambda name: is_name(name) and not is_closed_class(name)
)
dimensions = st.sampled_from([*VERBS, "type"]) | names


@pytest.mark.parametrize(
    ("concept", "parent", "dimension", "is_isa", "words", "is_told"),
    [
        ("kvasir", "service", "type", True, "kvasir is a service", True),
        ("kvasir", "app", "type", True, "kvasir is an app", True),
        ("ada", "user", "role", True, "ada is a user", False),
        ("ada", "unimportant_one", "type", True, "ada is an unimportant_one", True),
        ("gnommoweb", "repo", "glitch_university", True, "gnommoweb is a repo", False),
        ("mimir", "tyr", "runs-on", False, "mimir runs on tyr", True),
        ("idunn", "data-team", "owned-by", False, "idunn is owned by data-team", True),
        ("wind", "nordmem", "membership", False, "wind is part of nordmem", True),
        ("dunmere", "vael", "geography", False, "dunmere is in vael", True),
        ("shop", "rust", "tech", False, "shop is built with rust", True),
        ("shop", "kafka", "uses", False, "shop uses kafka", True),
        ("shop", "basket", "season", False, "shop is in basket", False),
        ("mimir", "container", "runs-on", True, "mimir is a container", False),
    ],
)
def test_a_fact_reads_as_its_dimension_says_it(
    concept: str, parent: str, dimension: str, is_isa: bool, words: str, is_told: bool
) -> None:
    assert phrase(concept, parent, dimension, is_isa=is_isa) == words
    assert tells_dimension(dimension, is_isa=is_isa) == is_told


@given(names, st.lists(names, min_size=1, max_size=3).map("_".join), dimensions, st.booleans())
def test_what_is_shown_is_understood_where_it_is_typed(concept: str, parent: str, dimension: str, is_isa: bool) -> None:
    fact = Triple(concept, parent, dimension, is_isa)
    if not find_mistake(fact):
        assert parse_fact(format_fact(concept, parent, dimension, is_isa=is_isa)) == fact


@pytest.mark.parametrize(
    ("dimension", "is_isa", "told"),
    [
        ("type", True, "mount is a peek"),
        ("material", True, "mount has peek as its material"),
        ("decision.material", True, "mount has peek as its decision.material"),
        ("analysis-model", True, "mount is a peek (analysis-model)"),
        ("role", True, "mount is a peek (role)"),
        ("runs-on", False, "mount runs on peek"),
    ],
)
def test_a_value_is_told_as_one(dimension: str, is_isa: bool, told: str) -> None:
    assert tell_fact("mount", "peek", dimension, is_isa=is_isa) == told
