"""The conversations that the encoder is trained on: enough, and nothing that it is measured with."""

import re
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Final

import pytest

from memory.english.excerpts import find_content_words
from training.conversations import DEVELOPMENT, Person, read_people
from training.heads import LABELS, label_sentences, read_sentences

WORDS_SHARED: Final = 6
MEASURED_WITH: Final = ("weeks", "quiet_weeks.txt", "retrieval_weeks.txt")
_WORD: Final = re.compile(r"[^\W_]+")


@pytest.fixture(scope="module")
def people() -> list[Person]:
    return read_people()


def runs_of_words(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    runs = {tuple(words[at : at + WORDS_SHARED]) for at in range(len(words) - WORDS_SHARED + 1)}
    return {run for run in runs if len(find_content_words(" ".join(run))) > 2}  # else it is a phrase of the language


def test_there_are_enough_persons_and_requests_of_both_kinds(people: list[Person]) -> None:
    said = [sum(message.role == "user" for message in person.messages) for person in people]
    needs = [bool(request.evidence) for person in people for request in person.requests]

    assert len(people) >= 60
    assert sum(count >= 400 for count in said) >= 10
    assert (sum(needs) >= 1_500, needs.count(False) >= 1_500) == (True, True)
    assert set(DEVELOPMENT) < {person.name for person in people}


def test_what_a_request_needs_is_there(people: list[Person]) -> None:
    for person in people:
        keys = {message.key for message in person.messages}
        for request in person.requests:
            assert keys.issuperset(request.evidence + request.outdated), (person.name, request.text)
            assert (request.kind == "nothing") == (not request.evidence), (person.name, request.text)


def test_enough_sentences_have_a_label(people: list[Person]) -> None:
    told = Counter(label for label, _ in chain(read_sentences(), *map(label_sentences, people)))

    assert sum(told.values()) >= 3_000
    assert all(told[label] >= 500 for label in LABELS)


def test_no_request_begins_like_many_others(people: list[Person]) -> None:
    openings = Counter(" ".join(_WORD.findall(each.text.lower())[:4]) for one in people for each in one.requests)

    assert openings.most_common(1)[0][1] <= 0.01 * sum(openings.values())


def test_nothing_is_shared_with_what_it_is_measured_with(people: list[Person]) -> None:
    folder = Path(__file__).parents[2] / "benchmarks"
    files = [
        file for name in MEASURED_WITH for file in ([folder / name] if "." in name else (folder / name).rglob("*.yaml"))
    ]
    measured = set().union(*(runs_of_words(line) for file in files for line in file.read_text().splitlines()))
    learnt = (text for one in people for text in [*(m.text for m in one.messages), *(r.text for r in one.requests)])

    shared = [" ".join(run) for text in learnt for run in runs_of_words(text) & measured]

    assert len(files) > len(MEASURED_WITH)
    assert shared == []
