"""What a message teaches besides its words."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memory.cache.state import Cache
from memory.domain.mute_patterns import compile_patterns
from memory.domain.recall.saliency import saliency
from memory.domain.steps import finish
from memory.domain.timing import is_dated
from memory.domain.types import EdgeRow, Message, SoasRow, TripleIds
from memory.learning.extraction import (
    NewMessage,
    extract_statements,
    find_confirmed,
    find_unexplained,
    select_first_named,
    select_often_named,
)
from memory.learning.reader import Allowance, Reader, read_rest
from memory.learning.snippet_store import find_sentences
from tests.steps import count_steps

NOW = round(time.time(), 6)  # as statements are dated
OFTEN = 20
REPO, GNOMMOWEB, TYPE = 1, 2, 3


def world() -> Cache:
    """gnommoweb is a repo, and nobody said so for a day."""
    cache = Cache()
    cache.put_soas("repo", SoasRow(REPO, is_common=True))
    cache.put_soas("gnommoweb", SoasRow(GNOMMOWEB, encounter_count=OFTEN, saliency=saliency(OFTEN), novelty=1))
    cache.put_soas("type", SoasRow(TYPE, is_common=True))
    cache.put_edges(GNOMMOWEB, [EdgeRow(GNOMMOWEB, REPO, TYPE, True, last_confirmed=NOW - 86_400)])
    return cache


def heard(cache: Cache, text: str, role: str = "user") -> NewMessage:
    message = Message(role, text)
    [reading] = finish(Reader(cache).read_within([message], Allowance.of(cache)))
    assert reading is not None
    for _ in read_rest(cache, reading):
        pass
    return NewMessage(b"o" * 16 + reading.digest, reading, text, "dobby", NOW, frozenset())


def confirmed_by(cache: Cache, message: NewMessage) -> set[TripleIds]:
    return asyncio.run(find_confirmed(cache, message))


@pytest.mark.parametrize("piece", ['"a" ', "a\n", "a. ", "\u201ea "])
def test_a_long_text_is_looked_through_aside(piece: str) -> None:
    """Of whatever length: an evidence of a name, or of a fact that is mentioned again."""
    steps = []
    for characters in (20_000, 2_000_000):
        cache = world()
        message = heard(cache, "Clone the repo of gnommoweb.\n" + piece * (characters // len(piece)))
        sentences: list[dict[str, str]] = []

        async def look(cache: Cache, message: NewMessage, into: list[dict[str, str]]) -> None:
            into.append(await find_sentences(cache, message, ["gnommoweb"]))

        steps.append(count_steps(asyncio.run, look(cache, message, sentences)))
        steps.append(count_steps(asyncio.run, find_confirmed(cache, message)))
        assert sentences == [{"gnommoweb": "Clone the repo of gnommoweb."}]

    assert max(steps) < 10_000  # of the event loop's thread


def test_each_statement_is_handed_over_once_in_the_order_of_the_text() -> None:
    message = heard(world(), "Dobby ISA worker. Winky runs on Docker. Again: Dobby ISA worker.", role="assistant")

    found = list(extract_statements(world(), message))

    assert [(one.subject, one.parent, one.dimension, one.is_isa) for one in found] == [
        ("dobby", "worker", "type", True),
        ("winky", "docker", "runs-on", False),
    ]
    assert [one.evidence for one in found] == ["Dobby ISA worker.", "Winky runs on Docker."]
    assert {(one.key, one.role, one.agent) for one in found} == {(message.key, "assistant", "dobby")}
    assert found[0].at == NOW < found[1].at < NOW + 0.001
    assert found[0].confidence == pytest.approx(0.9 * 0.7)


def said(text: str, **changes: Any) -> list[tuple[str, ...]]:
    message = replace(heard(world(), text), **changes)
    return [
        (one.subject, one.parent, one.says, *filter(None, [one.instead_of]))
        for one in extract_statements(world(), message)
    ]


def test_what_is_taken_back_or_changed_is_handed_over_as_such() -> None:
    assert said("Dobby is not a worker but a cook. Forget that Winky runs on Docker.") == [
        ("dobby", "cook", "changes", "worker"), ("winky", "docker", "retracts")
    ]  # fmt: skip
    assert said("Dobby is a cook. Forget that Dobby is a cook.") == [("dobby", "cook", "retracts")]
    assert said("Forget that Dobby is a cook. Dobby is a cook.") == [("dobby", "cook", "states")]


def test_only_what_a_user_says_now_takes_back_or_corrects() -> None:
    text = "Actually Dobby is a cook. Forget that Winky runs on Docker."

    assert said(text) == [("dobby", "cook", "corrects"), ("winky", "docker", "retracts")]
    assert said(text, is_dated=False) == [("dobby", "cook", "states")]
    assert said(text, is_quoted=True) == [("dobby", "cook", "states")]
    system = replace(heard(world(), text).reading, role="system")
    assert said(text, reading=system) == [("dobby", "cook", "states")]


def test_what_one_message_says_beside_something_else_is_handed_over_as_such() -> None:
    assert said("Fenrir is my dog. Skadi ISA printer. Fenrir is a husky.") == [
        ("fenrir", "dog", "states"),
        ("skadi", "printer", "states"),
        ("fenrir", "husky", "adds"),
    ]
    assert said("Fenrir ISA dog. I think Fenrir is a husky. Fenrir is now a wolf.")[1:] == [
        ("fenrir", "husky", "states"),
        ("fenrir", "wolf", "changes"),
    ]
    assert said("Fenrir ISA dog. Forget that Fenrir is a dog. Fenrir is a husky.")[-1] == ("fenrir", "husky", "states")


@pytest.mark.parametrize("part", [0.0, 0.3e-6, 0.5e-6, 0.7e-6])
def test_what_was_said_before_it_was_first_read_comes_before_all_that_stands(part: float) -> None:
    message = heard(world(), "Dobby is a cook. Winky is a cook.")
    undated = replace(message, is_dated=False, at=1_795_455_913.0011 + part)

    first, second = extract_statements(world(), undated)
    after = extract_statements(world(), replace(undated, is_dated=True))

    assert not is_dated(first.at)
    assert first.at < second.at
    assert len({datetime.fromtimestamp(one.at, UTC) for one in (first, second, *after)}) == 4


def test_what_is_only_believed_says_so_unless_it_is_asserted_too() -> None:
    believed = heard(world(), "I think Dobby is a worker. I heard that Winky runs on Docker.")
    asserted = heard(world(), "I think Dobby is a worker. Well, Dobby is a worker.")

    assert [(one.is_hedged, one.confidence) for one in extract_statements(world(), believed)] == [(True, 0.56)] * 2
    assert [(one.is_hedged, one.confidence) for one in extract_statements(world(), asserted)] == [(False, 0.8)]


def test_a_statement_whose_text_found_no_room_has_no_evidence() -> None:
    message = replace(heard(world(), "Dobby ISA worker."), text="")

    assert [one.evidence for one in extract_statements(world(), message)] == [""]


def test_statements_in_an_envelope_are_quoted_from_what_it_carries() -> None:
    message = heard(world(), '{"user_message": "Hello. Dobby ISA worker."}')

    assert [one.evidence for one in extract_statements(world(), message)] == ["Dobby ISA worker."]


def unknown(**facts: object) -> Cache:
    cache = Cache()
    cache.put_soas("zorblat", SoasRow(7, **{"encounter_count": OFTEN, "saliency": saliency(OFTEN), **facts}))  # type: ignore[arg-type]
    return cache


def test_a_word_that_users_named_often_is_unexplained() -> None:
    cache = unknown()

    assert find_unexplained(cache, heard(cache, "ask zorblat")) == ["zorblat"]
    assert select_often_named(cache, ["zorblat", "ask"]) == ["zorblat"]
    assert select_often_named(unknown(saliency=1.1), ["zorblat"]) == []
    assert find_unexplained(cache, heard(cache, "ask zorblat", role="assistant")) == []
    assert find_unexplained(cache, heard(cache, "zorblat: [12] json pytest")) == []  # no sentence
    cache.mutes = compile_patterns(["zor*"])
    assert find_unexplained(cache, heard(cache, "ask zorblat")) == []


@pytest.mark.parametrize("facts", [{"is_muted": True}, {"is_common": True, "saliency": 0.0}])
def test_words_that_need_no_explanation(facts: dict[str, object]) -> None:
    cache = unknown(**facts)

    assert find_unexplained(cache, heard(cache, "ask zorblat")) == []


def test_a_conversation_names_a_concept_first_where_no_user_has_named_it_before() -> None:
    cache = unknown()
    messages = [heard(cache, text, role=role) for text, role in (
        ("restart zorblat", "assistant"), ("ask zorblat", "user"), ("ask zorblat and kvasir", "user"))]  # fmt: skip
    prompt = [message.reading for message in messages]
    second, third = (replace(message, prompt=prompt, index=index) for index, message in enumerate(messages) if index)

    assert select_first_named(second, ["zorblat", "ask"]) == ["zorblat", "ask"]
    assert select_first_named(third, ["zorblat", "kvasir"]) == ["kvasir"]


def test_a_word_with_a_fact_is_explained() -> None:
    cache = world()

    assert find_unexplained(cache, heard(cache, "ask gnommoweb")) == []


def test_concept_and_parent_in_one_sentence_confirm_the_fact() -> None:
    cache = world()

    assert confirmed_by(cache, heard(cache, "Clone the repo of gnommoweb.")) == {(GNOMMOWEB, TYPE, REPO)}
    assert confirmed_by(cache, heard(cache, "Clone the repo. Then ask gnommoweb.")) == set()
    assert confirmed_by(cache, heard(cache, "Clone the repo of gnommoweb.", role="assistant")) == set()


def test_a_fact_is_confirmed_at_most_hourly() -> None:
    cache = world()
    cache.put_edges(GNOMMOWEB, [EdgeRow(GNOMMOWEB, REPO, TYPE, True, last_confirmed=NOW - 1_800)])

    assert confirmed_by(cache, heard(cache, "Clone the repo of gnommoweb.")) == set()
