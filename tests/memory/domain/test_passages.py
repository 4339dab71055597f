"""What of a message is worth giving again, and what of that is known already."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.recall.notes import find_content_words
from memory.domain.recall.passages import find_general, is_request, only_asks, pick_passage, split_questions
from memory.domain.recall.rendering import ShownFact
from memory.domain.recall.retelling import Ended, is_withdrawn, repeats_facts, repeats_memory

MOVED = "We moved the billing database to Postgres 17 last week."
ASKED = (
    "Which version is our billing database?",
    "Hello! Which version is it?\nAnd who runs it?",
    "which version of Postgres is our billing database on",
    "Plan a birthday dinner for Freya.",
    "Hi! Now, please refactor this function so that it has fewer branches.",
    "Can you fix the failing test in the billing module",
    "I'd like you to summarise the plot of Hamlet.",
    "I want to know how vaccines work",
    "For tomorrow, write a speech about bees.",
    "How to center a div",
    "A haiku about autumn leaves, please",
    "Deploy kvasir to baldur and tell freya.",
    "Translate to French: The cat is black.",
    "Proofread this:\n\nDear Bob, we moved to Bergen. I love it.",
    "Fix it:\n```\nkvasir = relay(tyr)\n```\nThanks!",
    "Remind me what the plan was.",
    "remind me to call Bob",
    "Translate:\nThe cat is black.",
    "2026-11-20 10:00:01 heimdall[123]: ERROR upstream timed out\nwhat does this mean?",
)
TOLD = (
    MOVED,
    "I'm vegetarian.",
    "We moved it to Postgres 17. Is that fine?",
    "Plan a dinner for Freya, she is allergic to nuts.",
    "Write a regex because we validate IBANs in the billing form.",
    "We are on Postgres 17, which driver fits?",
    "Never deploy on Fridays.",
    "okay so remind me the plumber is coming on friday",
    "right. diff:\n```\n- rate = 19\n```\nlooks ok? also we never squash, we rebase.",
    "Don't push to main.",
    "Call me Ada.",
    "Use tabs in Go code.",
    "From now on answer with short bullet points.",
    "Test results are stored on tyr.",
    "When we deploy, the cache is cleared.",
    "Will Smith is our CTO.",
    "In Porto, near the harbour, with a big balcony.",
    "wait, the deadline of the paper is 19 December",
)


@pytest.mark.parametrize("text", ASKED)
def test_questions_and_requests_tell_nothing(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize("text", TOLD)
def test_what_tells_something_is_no_request(text: str) -> None:
    assert not only_asks(text)


@given(st.text(max_size=200))
def test_any_text_is_judged(text: str) -> None:
    assert is_request(text) in (True, False)
    assert pick_passage(text, (), lambda _: False) in text


@pytest.mark.parametrize(
    ("text", "passage"),
    [
        (f"Hi. {MOVED} It went well. Please write a runbook. Thanks!", f"{MOVED} It went well."),
        (f"My dog is called Rex. Write a poem about him. {MOVED}", MOVED),
        (f"My dog is called Rex.\n\n{MOVED}", f"My dog is called Rex.\n\n{MOVED}"),
        ("Write a poem. Is it good?", ""),
    ],
)
def test_of_a_message_those_sentences_are_picked_that_tell_what_is_wanted(text: str, passage: str) -> None:
    assert pick_passage(text, find_content_words("the billing database"), lambda _: False) == passage


def test_a_sentence_that_is_left_out_parts_the_others() -> None:
    text = f"It rains. {MOVED} Our dog is called Rex."

    assert pick_passage(text, {"billing", "dog"}, lambda sentence: sentence == MOVED) == "Our dog is called Rex."


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("What are good names for a cat?", "good names cat"),
        ("Write a cover letter for a job as an analyst.", "cover letter job analyst"),
        ("What is the name of our cat?", ""),
        ("Do we have a backup host?", ""),
        ("How do otters sleep?", "otters"),
        ("Convert 15 stone, and the text on port 8443.", "15"),
    ],
)
def test_what_is_spoken_of_in_general_is_nothing_that_was_said(text: str, general: str) -> None:
    assert find_general(text) == general


@pytest.mark.parametrize(
    ("sentence", "memory", "repeats"),
    [
        ("I prefer rebase to merge commits, by the way.", "The user prefers rebase to merge commits.", True),
        ("Call me Ada.", "The user wants to be called Ada.", True),
        ("My sister is Freya and she is allergic to nuts.", "The user's sister is Freya.", False),
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


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Where does it run, and when do we deploy?", ["when do we deploy?"]),
        ("What is the dog's name? And where do I live?", ["What is the dog's name?", "And where do I live?"]),
        ("We moved. Which version is it?", ["We moved."]),
        ("Who is our vet?", []),
        ("Rebase and merge.", []),
        ("Is it red and blue?", []),
        ("Who? " * 200, []),
        (" ".join(f"Who sold crate {number}?" for number in range(9)), []),
    ],
)
def test_a_message_is_split_into_its_questions(text: str, parts: list[str]) -> None:
    assert split_questions(text) == parts
