"""How sure a memory is, which memories say the same, and which contradict each other."""

import json
from itertools import cycle, islice, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attribution.client_names import corroborate
from memory.english.lexicon import load_groups
from memory.memories import consolidation as rules
from memory.memories.slots import Slots, find_slots
from tests.memory.labelled import labelled

CONFIDENCES = st.floats(0, 1)
SUBJECTS = ("The user", "The team", "Anna", "The build server", "The billing service")
# Of each verb: as it is, its synonym, its opposite.
VERBS = (("likes", "enjoys", "dislikes"), ("uses", "utilises", "avoids"), ("starts", "begins", "stops"))
OBJECTS = (
    ("large screens", "big screens", "small screens"),
    ("quick builds", "fast builds", "slow builds"),
    ("the Postgres database", "the PostgreSQL database", "the MySQL database"),
    ("a batch of 20 jobs", "a batch of 20 jobs", "a batch of 30 jobs"),
    ("films in Berlin", "movies in Berlin", "films in Munich"),
    ("green tea after lunch", "green tea after lunch", "green tea before lunch"),
    ("the car of Peter", "the automobile of Peter", "the car of Paul"),
)
FRAMES = (
    "{} {} {}.",
    "{} usually {} {} on Mondays.",
    "On Fridays {} {} {}.",
    "{} {} {} at work.",
    "{} {} {} for 2 hours.",
)


def generate_paraphrases() -> list[tuple[str, str]]:
    pairs = []
    for frame, subject, verb, thing in product(FRAMES, SUBJECTS, VERBS, OBJECTS):
        said = frame.format(subject, verb[0], thing[0])
        pairs.append((said, frame.format(subject, verb[1], thing[1]).replace("usually", "normally").rstrip(".")))
        pairs.append((said, frame.format(subject, f"really {verb[0]}", thing[0])))
    return pairs


def generate_contradictions() -> list[tuple[str, str]]:
    pairs = []
    for frame, subject, verb, thing in product(FRAMES, SUBJECTS, VERBS, OBJECTS):
        said = frame.format(subject, verb[0], thing[0])
        others = [subject for subject in SUBJECTS if subject != said]
        pairs += [
            (said, frame.format(subject, f"does not {verb[0][:-1]}", thing[1])),
            (said, frame.format(subject, f"never {verb[1]}", thing[0])),
            (said, frame.format(subject, verb[2], thing[1])),
            (said, frame.format(subject, f"no longer {verb[0]}", thing[0])),
        ]
        if thing[2] != thing[0]:
            pairs.append((said, frame.format(subject, verb[1], thing[2])))
        pairs.append((said, frame.format(others[others.index(subject) - 1], verb[0], thing[0])))
    return pairs


def spread(pairs: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """So many of them, from all over."""
    return list(islice(cycle(pairs), 0, len(pairs), len(pairs) // count))[:count]


def test_of_500_contradictions_none_and_of_500_paraphrases_all_are_merged() -> None:
    contradictions, paraphrases = spread(generate_contradictions(), 500), spread(generate_paraphrases(), 500)
    assert len(set(contradictions)) == len(set(paraphrases)) == 500

    assert [pair for pair in contradictions if rules.says_same(*pair) or rules.says_same(*pair[::-1])] == []
    assert [pair for pair in paraphrases if not rules.says_same(*pair)] == []


@labelled(__file__, "same but for who decided")
def test_that_it_was_decided_is_no_difference(one: str, other: str, is_same: bool) -> None:
    assert rules.states_same(one, other) is rules.states_same(other, one) is is_same


@labelled(__file__, "same")
def test_only_what_changes_nothing_may_differ(one: str, other: str, is_same: bool) -> None:
    assert rules.says_same(one, other) is rules.says_same(other, one) is is_same


WORDS = st.sampled_from(
    ["the", "a", "user", "not", "likes", "Anna", "5", "big", "large", "now", "to", "cats", "?", "-5"]
)
SENTENCES = st.lists(WORDS, max_size=7).map(" ".join) | st.text(max_size=40)


@given(SENTENCES, SENTENCES)
def test_to_say_the_same_is_mutual_and_nothing_of_it_opposed(one: str, other: str) -> None:
    assert rules.says_same(one, one)
    assert rules.says_same(one, other) is rules.says_same(other, one)


def test_synonyms_belong_to_one_group_each() -> None:
    words = [word for group in load_groups("synonyms") for word in group]
    assert len(words) == len(set(words)) == len({rules.stem(word) for word in words})


@labelled(__file__, "contradiction")
def test_a_contradiction_is_about_one_thing(one: str, other: str, category: str, sign: str | None) -> None:
    found: list[Slots] = [find_slots(text, category) for text in (one, other)]
    assert rules.find_contradiction(one, other, category, found) == sign
    assert rules.find_contradiction(other, one, category, found[::-1]) == sign


NUMBERED = ("edge{}", "db-{}", "crate0{}x", "room {}", "port 80{}", "Python 3.{}", "node{}.lan", "v{}.2", "rack_{}")
OPPOSED = (
    ("{} reboots on Sundays.", "{} never reboots on Sundays."),
    ("{} is open at night.", "{} is closed at night."),
    ("We use {} for the backups.", "We do not use {} for the backups."),
    ("The guard checks {} after lunch.", "The guard checks {} before lunch."),
    ("{} has 4 disks.", "{} has 6 disks."),
)


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("pair", OPPOSED)
def test_names_that_differ_in_a_digit_are_two_things(name: str, pair: tuple[str, str]) -> None:
    one, same, other = pair[0].format(name.format(3)), pair[1].format(name.format(3)), pair[1].format(name.format(4))

    assert rules.find_contradiction(one, same, "project", [Slots(), Slots()]) is not None
    assert rules.find_contradiction(one, other, "project", [Slots(), Slots()]) is None
    assert rules.supports(one, one)
    assert not rules.supports(one, pair[0].format(name.format(4)))


@given(CONFIDENCES, st.floats(0, 3_000), st.floats(0, 3_000))
def test_confidence_fades_with_the_days_alone(confidence: float, first: float, then: float) -> None:
    assert rules.decay(confidence, 0) == rules.decay(confidence, -first) == confidence
    assert rules.decay(rules.decay(confidence, first), then) == pytest.approx(rules.decay(confidence, first + then))
    assert rules.decay(confidence, first + then) <= rules.decay(confidence, first) <= confidence


@given(CONFIDENCES, st.integers(0, 500))
def test_evidence_makes_surer_and_never_more_than_certain(confidence: float, voices: int) -> None:
    assert confidence - 1e-12 <= corroborate(confidence, voices) <= 1
    once_more = corroborate(corroborate(confidence, voices))
    assert once_more == pytest.approx(corroborate(confidence, voices + 1))


@labelled(__file__, "evidence")
def test_questions_and_contradictions_are_no_evidence(said: str, is_evidence: bool) -> None:
    assert rules.supports("The user likes green tea.", said) is is_evidence


@labelled(__file__, "evidence of a value")
def test_another_value_of_its_slot_is_no_evidence_for_a_memory(said: str, is_evidence: bool) -> None:
    assert rules.supports("The deployment target is kubernetes.", said) is is_evidence
    assert rules.supports(said, said)


PAIRS = [json.loads(line) for line in (Path(__file__).parent / "data" / "pairs.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("pair", [pair["texts"] for pair in PAIRS], ids=" / ".join)
def test_no_rule_merges_paraphrases_or_contradictions_however_near_they_are(pair: list[str]) -> None:
    assert not rules.says_same(*pair)
