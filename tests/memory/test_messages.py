"""What a message teaches besides its words."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from memory.cache.state import Cache
from memory.channels import Channel
from memory.english.mute_patterns import compile_patterns
from memory.graph.saliency import saliency
from memory.learning.messages import NewMessage
from memory.learning.statements import (
    extract_statements,
    find_confirmed,
)
from memory.questions.evidence import KEPT, NAMES_MAX, Snippet, collect_snippets, select_names
from memory.questions.unexplained import UNEXPLAINED_MAX, find_unexplained
from memory.timing import STATEMENTS_MAX, is_dated
from memory.types import EdgeRow, SoasRow
from memory.voice import Voice

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


def heard(cache: Cache, text: str, role: str = "user", at: float = NOW, **manner: Any) -> NewMessage:
    return NewMessage(b"o" * 32, "dobby", None, role, text, at, **manner).read_by(cache)


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


def test_of_a_message_full_of_statements_the_first_are_handed_over() -> None:
    message = heard(world(), " ".join(f"Dobby{n} ISA worker." for n in range(STATEMENTS_MAX + 5)), role="assistant")

    subjects = [one.subject for one in extract_statements(world(), message)]

    assert subjects == [f"dobby{n}" for n in range(STATEMENTS_MAX)]


def test_what_nobody_shows_to_have_said_counts_as_quoted() -> None:
    [own] = extract_statements(world(), heard(world(), "Dobby ISA worker."))
    [quoted] = extract_statements(world(), heard(world(), "Dobby ISA worker.", voice=Voice.QUOTED))

    assert (quoted.channel, own.channel) == (Channel.QUOTED, Channel.USER)
    assert quoted.confidence < own.confidence


def said(text: str, role: str = "user", **manner: Any) -> list[tuple[str, ...]]:
    message = heard(world(), text, role, **manner)
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
    assert said(text, voice=Voice.QUOTED) == [("dobby", "cook", "states")]
    assert said(text, role="system") == []


def test_what_one_message_says_beside_something_else_is_handed_over_as_such() -> None:
    assert said("Fenrir is our dog. Skadi ISA printer. Fenrir is a husky.") == [
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
    text, at = "Dobby is a cook. Winky is a cook.", 1_795_455_913.0011 + part

    first, second = extract_statements(world(), heard(world(), text, at=at, is_dated=False))
    after = extract_statements(world(), heard(world(), text, at=at))

    assert not is_dated(first.at)
    assert first.at < second.at
    assert len({datetime.fromtimestamp(one.at, UTC) for one in (first, second, *after)}) == 4


def test_what_is_only_believed_says_so_unless_it_is_asserted_too() -> None:
    believed = heard(world(), "I think Dobby is a worker. I heard that Winky runs on Docker.")
    asserted = heard(world(), "I think Dobby is a worker. Well, Dobby is a worker.")

    assert [(one.is_hedged, one.confidence) for one in extract_statements(world(), believed)] == [(True, 0.56)] * 2
    assert [(one.is_hedged, one.confidence) for one in extract_statements(world(), asserted)] == [(False, 0.8)]


def unknown(**facts: object) -> Mapping[str, SoasRow]:
    return {"zorblat": SoasRow(7, **{"encounter_count": OFTEN, "saliency": saliency(OFTEN), **facts})}  # type: ignore[arg-type]


def test_a_word_that_a_user_speaks_of_is_unexplained() -> None:
    cache = Cache()

    assert find_unexplained(cache, heard(cache, "ask zorblat"), unknown()) == ["zorblat"]
    assert find_unexplained(cache, heard(cache, "ask zorblat"), {}) == []  # there was no room for it
    assert find_unexplained(cache, heard(cache, "ask zorblat", voice=Voice.QUOTED), unknown()) == []
    assert find_unexplained(cache, heard(cache, "ask zorblat", role="assistant"), unknown()) == []
    assert find_unexplained(cache, heard(cache, "zorblat: [12] json pytest"), unknown()) == []  # no sentence
    code = "ask zorblat\n```python\nzorblat = 1\n```"
    assert find_unexplained(cache, heard(cache, code), unknown()) == []
    cache.mutes = compile_patterns(["zor*"])
    assert find_unexplained(cache, heard(cache, "ask zorblat"), unknown()) == []


@pytest.mark.parametrize("facts", [{"is_muted": True}, {"is_common": True, "saliency": 0.0}])
def test_words_that_need_no_explanation(facts: dict[str, object]) -> None:
    assert find_unexplained(Cache(), heard(Cache(), "ask zorblat"), unknown(**facts)) == []


def test_a_word_with_a_fact_is_explained() -> None:
    cache = world()

    assert find_unexplained(cache, heard(cache, "ask gnommoweb"), cache.soas_by_token) == []


def many(count: int) -> dict[str, SoasRow]:
    """Each more salient than the one before."""
    return {f"zorblat{number}": SoasRow(100 + number, saliency=2 + number / 100) for number in range(count)}


def test_of_many_unknown_words_the_most_salient_are_unexplained() -> None:
    rows = many(UNEXPLAINED_MAX + 5)
    message = heard(Cache(), " ".join(f"Ask {name}." for name in rows))

    assert find_unexplained(Cache(), message, rows) == list(rows)[:4:-1]


def test_concept_and_parent_in_one_sentence_confirm_the_fact() -> None:
    cache = world()

    assert find_confirmed(cache, heard(cache, "Clone the repo of gnommoweb.")) == {(GNOMMOWEB, TYPE, REPO)}
    assert find_confirmed(cache, heard(cache, "Clone the repo. Then ask gnommoweb.")) == set()
    assert find_confirmed(cache, heard(cache, 'They say "Clone the repo of gnommoweb."')) == set()
    assert find_confirmed(cache, heard(cache, "Clone the repo of gnommoweb.", role="assistant")) == set()
    assert find_confirmed(cache, heard(cache, "Clone the repo of gnommoweb.", voice=Voice.QUOTED)) == set()


def test_a_fact_is_confirmed_at_most_hourly() -> None:
    cache = world()
    cache.put_edges(GNOMMOWEB, [EdgeRow(GNOMMOWEB, REPO, TYPE, True, last_confirmed=NOW - 1_800)])

    assert find_confirmed(cache, heard(cache, "Clone the repo of gnommoweb.")) == set()


# --- sentences that name a concept ---


def test_the_sentence_that_names_a_salient_word_is_kept() -> None:
    message = heard(Cache(), "Well. Zorblat runs! Good.")

    assert collect_snippets(Cache(), [message], unknown()) == [
        Snippet("zorblat", "Zorblat runs!", "user", "dobby", "", NOW)
    ]


def test_of_many_sentences_the_newest_are_kept_each_once() -> None:
    messages = [heard(Cache(), f"Zorblat has {place // 2}.", at=NOW + place) for place in range(4 * KEPT)]

    found = collect_snippets(Cache(), messages, unknown())

    newest = range(2 * KEPT - 1, KEPT - 1, -1)
    assert [snippet.sentence for snippet in found] == [f"Zorblat has {number}." for number in newest]


@pytest.mark.parametrize(("role", "kept"), [("user", []), ("system", []), ("tool", ["tool"])])
def test_what_people_only_quote_is_no_sentence_of_theirs(role: str, kept: list[str]) -> None:
    message = heard(Cache(), 'They say "Zorblat is slow and old."', role)

    assert [snippet.role for snippet in collect_snippets(Cache(), [message], unknown())] == kept


def test_what_nobody_shows_to_have_said_is_kept_as_a_tools() -> None:
    message = heard(Cache(), "Zorblat is slow.", voice=Voice.QUOTED)

    assert [snippet.role for snippet in collect_snippets(Cache(), [message], unknown())] == ["tool"]


def test_what_the_model_says_itself_is_no_evidence() -> None:
    assert collect_snippets(Cache(), [heard(Cache(), "Zorblat is slow.", "assistant")], unknown()) == []


@pytest.mark.parametrize("facts", [{"is_muted": True}, {"is_common": True}, {"saliency": 0.3}])
def test_words_whose_sentences_nobody_needs(facts: dict[str, object]) -> None:
    assert collect_snippets(Cache(), [heard(Cache(), "Zorblat is slow.")], unknown(**facts)) == []


def test_of_many_names_those_without_facts_are_quoted_first() -> None:
    cache, rows = world(), many(NAMES_MAX)
    message = heard(cache, f"gnommoweb {' '.join(rows)}")

    assert select_names(cache, message, rows | cache.soas_by_token) == sorted(rows)
    del rows["zorblat0"]
    assert select_names(cache, message, rows | cache.soas_by_token) == [*sorted(rows), "gnommoweb"]
