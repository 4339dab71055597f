"""Facts in words: each dimension has its verb."""

import pytest

from memory.domain.formatting import phrase, tells_dimension


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
