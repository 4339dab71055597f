"""Facts in words: each dimension has its verb."""

from hypothesis import given
from hypothesis import strategies as st

from memory.english.function_words import is_closed_class
from memory.english.phrases import VERBS, as_compact, as_sentence, phrase, tells_dimension
from memory.english.tokenizer import is_name
from memory.graph.fact_syntax import find_mistake, parse_fact
from memory.types import Triple
from tests.memory.labelled import labelled

names = st.from_regex(r"[b-z][a-z0-9]{2,8}([-_.][a-z0-9]{2,5})?", fullmatch=True).filter(
    lambda name: is_name(name) and not is_closed_class(name)
)
dimensions = st.sampled_from([*VERBS, "type"]) | names


@labelled(__file__, "phrase")
def test_a_fact_reads_as_its_dimension_says_it(
    concept: str, parent: str, dimension: str, is_isa: bool, words: str, is_told: bool
) -> None:
    assert phrase(concept, parent, dimension, is_isa=is_isa) == words
    assert tells_dimension(dimension, is_isa=is_isa) == is_told


@given(names, st.lists(names, min_size=1, max_size=3).map("_".join), dimensions, st.booleans())
def test_what_is_shown_is_understood_where_it_is_typed(concept: str, parent: str, dimension: str, is_isa: bool) -> None:
    fact = Triple(concept, parent, dimension, is_isa)
    if not find_mistake(fact):
        assert parse_fact(as_compact(concept, parent, dimension, is_isa=is_isa)) == fact


@labelled(__file__, "value phrase")
def test_a_value_is_told_as_one(dimension: str, is_isa: bool, told: str) -> None:
    assert as_sentence("mount", "peek", dimension, is_isa=is_isa) == told
