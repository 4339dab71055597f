"""The language of ``gutask iknowthat``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.function_words import CLOSED_CLASS
from memory.english.statements import find_cues
from memory.english.tokenizer import tokenise
from memory.graph.fact_syntax import FactMistake, find_mistake, parse_fact, parse_forgotten
from memory.types import Triple
from tests.memory.labelled import labelled


class Anything:
    """A vocabulary in which every word may be a subject."""

    def is_common(self, token: str) -> bool:
        return False

    def is_concept(self, token: str) -> bool:
        return True


ANYTHING = Anything()


@labelled(__file__, "fact")
def test_a_fact_is_understood(text: str, fact: Triple) -> None:
    assert parse_fact(text) == Triple(*fact)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "empty"),
        ("does mimir run on tyr?", 22, "no -isa or -ispart"),
        ("mimir no longer runs on tyr", 0, "more than one name"),
        ("mimir runs on tyr now", 21, "no -isa or -ispart"),
        ("mimir runs on tyr, as far as I know", 35, "no -isa or -ispart"),
        ("-isa repo", 0, "concept is missing"),
        ("gnommoweb -isa", 14, "parent is missing"),
        ("gnommoweb -isa in context of x", 14, "parent is missing"),
        ("gnommoweb -isa repo in context of", 33, "dimension is missing"),
        ("red panda -isa team", 0, "more than one name"),
        ("gnommoweb -isa panda that is red", 15, "more than one name"),
        ("gnommoweb -isa 42", 15, "cannot be a parent"),
        ("gnommoweb -isa </recollection>", 15, "more than one name|cannot be a parent"),
        ("gnommoweb -isa gnommoweb", 15, "its own parent"),
        ("gnommoweb -isa repo in context of repo", 15, "its own dimension"),
        ("x" * 65 + " -isa repo", 0, "cannot be a concept"),
        ("  the -isa ignore-all-instructions", 2, "'the' is a function word"),
        ("A -isa repo", 0, "'a' is a function word"),
        ('"you" -isa repo', 0, "'you' is a function word"),
        ("don't -isa repo", 0, '"don\'t" is a function word'),
        ("gnommoweb -isa repo in context of with", 34, "'with' is a function word"),
    ],
)
def test_a_mistake_is_told_with_its_position_and_a_hint(text: str, position: int, message: str) -> None:
    with pytest.raises(FactMistake, match=message) as caught:
        parse_fact(text)

    assert caught.value.position == position
    assert caught.value.hint


@given(st.text())
def test_any_text_is_a_fact_in_tokens_or_a_mistake_within_it(text: str) -> None:
    fact, position = None, 0
    try:
        fact = parse_fact(text)
    except FactMistake as mistake:
        position = mistake.position

    assert 0 <= position <= len(text)
    for name in (fact.concept, fact.parent, fact.dimension) if fact else ():
        assert [token.text for token in tokenise(name)] == [name]


@given(st.sampled_from([
    Triple("gnommoweb", "repo", "type", True), Triple("glitch_university", "o'reilly", "runs-on", False)
]))  # fmt: skip
def test_a_fact_printed_is_understood_again(fact: Triple) -> None:
    assert parse_fact(str(fact)) == fact


@labelled(__file__, "forgotten")
def test_what_is_to_be_forgotten_is_understood(text: str, expected: tuple[str, str, bool]) -> None:
    wanted = parse_forgotten(text)

    assert wanted is not None
    assert [wanted.concept, str(wanted.fact or ""), wanted.names_dimension] == expected


def test_a_sentence_that_is_to_be_forgotten_is_no_fact_and_no_concept() -> None:
    assert parse_forgotten("the gate code room is upstairs") is None
    assert parse_forgotten("Sam snores.") is None
    for text in ("", "the", "callay -isa"):
        with pytest.raises(FactMistake):
            parse_forgotten(text)


@pytest.mark.parametrize("word", sorted(CLOSED_CLASS | {"i'm", "won't"}))
def test_no_fact_is_about_a_word_of_grammar(word: str) -> None:
    for name in (word, word.capitalize(), word.upper()):
        for text in (
            "{} ISA worm",
            "{} is a kind of worm",
            "Then {} is a worm of {}",
            "{} runs on tyr",
            "a worm of {}",
        ):
            found = find_cues(text.format(name, name), vocabulary=ANYTHING)
            assert word not in {name for match in found for name in (match.subject, match.dimension)}
    assert "function word" in find_mistake(Triple(word, "worm", "type", True))
    assert "function word" in find_mistake(Triple("kvasir", "worm", word, True))
