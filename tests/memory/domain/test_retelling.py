"""Whether a sentence says again what is told anyway, or what holds no more."""

import pytest

from memory.domain.recall.rendering import ShownFact
from memory.domain.recall.retelling import Ended, is_withdrawn, repeats_facts, repeats_memory


@pytest.mark.parametrize(
    ("sentence", "memory", "repeats"),
    [
        ("I prefer rebase to merge commits, by the way.", "The user prefers rebase to merge commits.", True),
        ("Call me Ada.", "The user wants to be called Ada.", True),
        ("My sister is Freya and she is allergic to nuts.", "The user's sister is Freya.", False),
        ("My best game is no longer Azul, but Cascadia.", "The user's best game is no longer Azul.", False),
        ("It rains in Bergen.", "The user prefers rebase to merge commits.", False),
    ],
)
def test_a_sentence_repeats_the_memory_that_tells_all_of_it(sentence: str, memory: str, *, repeats: bool) -> None:
    assert repeats_memory(sentence, [memory]) is repeats


FACTS = (ShownFact("kvasir", "type", "search_service", False), ShownFact("kvasir", "runs-on", "tyr", False))


@pytest.mark.parametrize(
    ("sentence", "repeats"),
    [
        ("Kvasir is our search service and runs on tyr now.", True),
        ("Kvasir runs on tyr since the fire.", False),
        ("Yes.", False),
    ],
)
def test_a_sentence_repeats_facts_that_have_all_its_words(sentence: str, *, repeats: bool) -> None:
    assert repeats_facts(sentence, FACTS) is repeats


@pytest.mark.parametrize(
    ("sentence", "said_at", "gone"),
    [
        ("Heimdall is a Flask app.", 5.0, True),
        ("Heimdall is a Flask app.", 15.0, False),
        ("Heimdall is a Flask app no longer.", 5.0, False),
        ("Heimdall uses Redis.", 5.0, False),
        ("I like coffee a lot.", 15.0, True),
    ],
)
def test_what_was_taken_back_since_holds_no_more(sentence: str, said_at: float, *, gone: bool) -> None:
    ended = [Ended("heimdall", "flask_app", 10.0)]

    assert is_withdrawn(sentence, said_at, ["The user likes coffee."], ended) is gone
