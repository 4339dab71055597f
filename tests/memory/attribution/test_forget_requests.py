"""Requests to forget, and orders that only look like them."""

import json
from pathlib import Path

import pytest

from memory.attribution.forget_requests import Effect, Topic, TopicKind, cut_requests, find_requests
from tests.memory.labelled import labelled

DATA = Path(__file__).parent / "data"


def read_rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def test_no_order_of_everyday_work_asks_to_forget() -> None:
    orders = [str(row["text"]) for row in read_rows("orders.jsonl")]

    assert [text for text in orders if find_requests(text)] == []


def test_requests_in_plain_words_are_understood() -> None:
    rows = read_rows("forget_requests.jsonl")

    missed = [row["text"] for row in rows if [one.effect for one in find_requests(str(row["text"]))] != [row["effect"]]]

    assert len(missed) <= len(rows) // 20, missed


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Forget my birthday please.", Topic(TopicKind.OWN, "birthday")),
        ("Hey, could you please forget what I told you about my old boss?", Topic(TopicKind.OWN, "old boss")),
        ("Forget that I live in Hollund, Norway.", Topic(TopicKind.WORDS, "I live in Hollund, Norway")),
        ("Please erase Jonas Vik from your memory!", Topic(TopicKind.WORDS, "Jonas Vik")),
        ("Please forget my nut allergy, it was a mistake.", Topic(TopicKind.OWN, "nut allergy")),
        ("You can forget about my locker code now.", Topic(TopicKind.OWN, "locker code")),
        ("Please forget my locker code.", Topic(TopicKind.OWN, "locker code")),
        ("What's for dinner? And please forget everything about me.", Topic(TopicKind.SPEAKER)),
    ],
)
def test_the_topic_of_a_request_is_read(text: str, topic: Topic) -> None:
    assert [one.topic for one in find_requests(text)] == [topic]


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("DON\u2019T SAVE THIS! I bought the ring.", Effect.MESSAGE),
        ("I was fired yesterday \u2014 just between us", Effect.MESSAGE),
        ("Please, don't remember anything in this chat.", Effect.CONVERSATION),
        ("I have to tell you something off the record: Marek goes in January.", Effect.MESSAGE),
        ("Can you keep this to yourself? I quit.", Effect.MESSAGE),
        ("Confidential! Ylva will be fired.", Effect.MESSAGE),
    ],
)
def test_a_form_may_be_a_clause(text: str, effect: Effect) -> None:
    assert [one.effect for one in find_requests(text)] == [effect]


@labelled(__file__, "no request")
def test_orders_and_reports_ask_nothing(text: str) -> None:
    assert find_requests(text) == ()


def test_only_the_sentence_that_asks_is_cut() -> None:
    text = "Forget my diet. I bake rye bread today."

    assert cut_requests(text, find_requests(text)) == "I bake rye bread today."


@pytest.mark.parametrize(
    ("topic", "text", "is_about"),
    [
        (Topic(TopicKind.OWN, "number"), "My number is 555.", True),
        (Topic(TopicKind.OWN, "number"), "My new number is 555.", True),
        (Topic(TopicKind.OWN, "number"), "My brother's number is 555.", False),
        (Topic(TopicKind.OWN, "car"), "The car is my uncle's.", False),
        (Topic(TopicKind.OWN, "shrimp allergy"), "hi, I\u2019m badly allergic to shrimps", True),
        (Topic(TopicKind.OWN, "shrimp allergy"), "My aunt is allergic to shrimps, I'm the cook.", False),
        (Topic(TopicKind.OWN, "shrimp allergy"), "I'm allergic to kiwis.", False),
        (Topic(TopicKind.OWN, "pregnancy"), "I'm pregnant.", True),
        (Topic(TopicKind.OWN, "car"), "I'm in the car.", False),
        (Topic(TopicKind.OWN, "boat's name"), "My boat is called Skua.", True),
        (Topic(TopicKind.OWN, "boat's name"), "We took my boat Skua out.", True),
        (Topic(TopicKind.OWN, "boat's name"), "My boat is in the harbour.", False),
        (Topic(TopicKind.OWN, "boat's name"), "My brother's boat is called Skua.", False),
        (Topic(TopicKind.WORDS, "Halvard Ruud"), "halvard met Mr. Ruud", True),
        (Topic(TopicKind.WORDS, "Halvard Ruud"), "Halvard Myrdal called.", False),
        (Topic(TopicKind.WORDS, "the allergies"), "My allergy got worse.", True),
        (Topic(TopicKind.SPEAKER), "Anything.", True),
    ],
)
def test_a_text_is_about_a_topic_by_its_words(topic: Topic, text: str, is_about: bool) -> None:
    assert topic.is_in(text) is is_about
    assert not is_about or all(part in text.casefold() for part in topic.fragments)
