"""Sentences that say again what is told anyway, or what holds no more."""

import pytest

from memory.english.excerpts import says_no_more, states_ended
from memory.types import Ended

FACTS = ("kvasir type search_service", "kvasir runs-on tyr")


@pytest.mark.parametrize(
    ("sentence", "repeats"),
    [
        ("Kvasir is our search service and runs on tyr now.", True),
        ("Kvasir runs on tyr since the fire.", False),
        ("Yes.", False),
    ],
)
def test_a_sentence_says_no_more_that_have_all_its_words(sentence: str, *, repeats: bool) -> None:
    assert says_no_more(sentence, FACTS) is repeats


@pytest.mark.parametrize(
    ("sentence", "said_at", "gone"),
    [
        ("Heimdall is a Flask app.", 5.0, True),
        ("Heimdall is a Flask app.", 15.0, False),
        ("Heimdall is a Flask app no longer.", 5.0, False),
        ("Heimdall uses Redis.", 5.0, False),
    ],
)
def test_a_sentence_states_a_fact_that_ended_after_it_was_said(sentence: str, said_at: float, *, gone: bool) -> None:
    ended = [Ended("heimdall", "flask_app", 10.0)]

    assert states_ended(sentence, said_at, ended) is gone
