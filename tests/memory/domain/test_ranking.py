"""In which order what was found is given, and what stands for what."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.semantic.domain.ranking.candidates import Corpus, RankedText, Term, choose_needles
from memory.semantic.domain.ranking.changes import find_subjects
from memory.semantic.domain.ranking.order import normalise, rank, z_scores

DAY_S = 86_400.0
NOW = 1_000 * DAY_S
LEXEMES = st.frozensets(st.sampled_from("abcdefgh"), max_size=6)


def episode(key: int, text: str, *, days_ago: float = 1.0, lexemes: frozenset[str] | None = None) -> RankedText:
    words = frozenset(text.lower().strip(".").split()) if lexemes is None else lexemes
    said_at = NOW - days_ago * DAY_S
    return RankedText("episode", key, text, 0.8, said_at, "dobby", "user", "user", "", False, words)


def ranked(candidates: list[RankedText], question: str, *, own_words_only: bool = False) -> list[str]:
    terms = [Term(word, 1) for word in question.split()]
    return [each.text for each in rank(candidates, terms, Corpus(100), (), NOW, own_words_only=own_words_only)]


def test_the_newest_stands_for_those_that_say_nearly_the_same_and_tells_how_many_differ() -> None:
    old = episode(1, "the music that mara plays is jazz", days_ago=9)
    older = episode(2, "the music that mara plays is blues", days_ago=20)
    new = episode(3, "the music that mara plays is rock")

    found = rank([old, older, new], [Term("music", 1), Term("mara", 1)], Corpus(100), (), NOW)

    assert [(each.id, each.earlier) for each in found] == [(3, 2)]


def test_the_same_about_another_one_is_something_else() -> None:
    one, other = episode(1, "the billing server runs on tyr now"), episode(2, "the search server runs on tyr now")

    assert ranked([one, other], "billing server") == [one.text, other.text]


def test_of_memories_the_most_confident_stands_for_its_like() -> None:
    sure, unsure = episode(1, "ann prefers tea over coffee"), episode(2, "ann prefers tea over any coffee")
    for memory, confidence in ((sure, 0.9), (unsure, 0.6)):
        memory.kind, memory.confidence = "memory", confidence

    [found] = rank([unsure, sure], [Term("tea", 1)], Corpus(100), (), NOW)

    assert (found.id, found.earlier) == (1, 1)


def test_what_says_that_something_changed_goes_before_what_it_changes() -> None:
    old = episode(1, "deploys of search go to loki", days_ago=5)
    new = episode(2, "the search box was moved over to tyr", days_ago=1)

    assert ranked([old, new], "search go deploys", own_words_only=False)[0] == old.text
    assert ranked([old, new], "search") == [new.text, old.text]


def test_by_itself_nothing_comes_that_has_little_of_the_question() -> None:
    near, far = episode(1, "billing runs on tyr"), episode(2, "my cat sleeps on billing")

    assert ranked([near, far], "billing runs tyr", own_words_only=True) == [near.text]


def test_a_name_finds_by_itself_what_is_said_of_it_and_ordinary_words_do_not() -> None:
    said = episode(1, "my sister freya is vegan")
    terms = [Term("freya", 1), Term("dinner", 1, 5_000), Term("plan", 1, 5_000)]

    def find(text: RankedText) -> int:
        alike, unlike = [[1.0, 0.0]], bytes(4) + bytes.fromhex("0000") + bytes.fromhex("3c00")
        text.vector = unlike  # in half precision: (0, 1)
        return len(rank([text], terms, Corpus(100), alike, NOW, own_words_only=True))

    assert find(said) == 1
    assert find(episode(2, "the plan is on the wall")) == 0


def test_a_preference_comes_for_what_is_to_be_made_of_its_kind() -> None:
    terms = [Term("compose", 1, 400), Term("file", 1, 1_500), Term("vaultwarden", 0)]

    def find(category: str) -> int:
        told = episode(1, "the user hates docker compose v1")
        memory = replace(told, kind="memory", category=category, vector=bytes(4) + bytes.fromhex("37003b00"))
        question, made = [[0.8, 0.0]], {"compose", "file"}
        return len(rank([memory], terms, Corpus(100), question, NOW, own_words_only=True, general=made))

    assert find("preference") == 1
    assert find("identity") == 0


def test_an_index_is_asked_for_rare_words_unless_all_are_frequent() -> None:
    corpus = Corpus(1_000_000)
    frequent, rare, rarest = Term("server", 400_000), Term("billing", 900), Term("tyr", 3)

    assert choose_needles([frequent, rare, rarest], corpus, 6, 3_000) == [rarest, rare]
    assert choose_needles([frequent, rare, rarest], corpus, 6, 500) == [rarest]
    assert choose_needles([frequent, Term("go", 500_000)], corpus, 6, 3_000) == [frequent]


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("no wait, it's 30 days", None),
        ("Actually it runs on asgard-05 now, Ben moved it yesterday.", None),
        ("sorry, on Tuesdays", None),
        ("oh no, the blue one!", None),
        ("Actually", None),
        ("no wait, mimir's retention is 30 days", {"mimir", "retention"}),
        ("Actually heimdall runs on asgard-05 now", {"heimdall"}),
        ("correction: hosts are Wilma and Tariq, Igor left for good today", {"hosts", "igor"}),
        ("my mistake, the new gateway runs on port 9000", {"gateway"}),
        ("sorry, I meant the retention of the logs is 24 months", {"retention", "logs"}),
        ("actually I hate coffee", {"hate", "coffee"}),
        ("The deploys were moved to Fridays.", {"deploys"}),
    ],
)
def test_what_a_correction_is_about(text: str, subjects: set[str] | None) -> None:
    assert find_subjects(text) == subjects


@pytest.mark.parametrize(
    ("text", "minutes", "is_given"),
    [
        ("no wait, it is asgard-05", 1, True),
        ("sorry, asgard-05", 1, True),
        ("sorry, asgard-05", 30, False),  # and only right after it
        ("Actually heimdall runs on asgard-05 now", 1, False),
        ("no wait, mimir's retention is 30 days", 1, False),
        ("Actually the gateway runs on asgard-05 now", 30, True),
    ],
)
def test_a_correction_comes_with_what_it_corrects_and_with_nothing_else(
    text: str, minutes: int, is_given: bool
) -> None:
    stated, other = (
        episode(at, said) for at, said in ((1, "our gateway kvasir runs on tyr"), (2, "loki is a printer"))
    )
    correction = episode(3, text, days_ago=1 - minutes / 1440)
    correction.follows, correction.around = ([1], {"kvasir"}) if minutes == 1 else ([], ())

    assert ranked([stated, other], "kvasir", own_words_only=True) == [stated.text]
    found = ranked([stated, other, correction], "kvasir", own_words_only=True)
    assert (correction.text in found, stated.text in found) == (is_given, True)
    assert ranked([other, correction], "printer", own_words_only=True) == [other.text]


@given(st.lists(LEXEMES, max_size=12), st.lists(st.floats(0, 400), min_size=12, max_size=12), LEXEMES)
def test_every_candidate_is_given_or_stood_for(texts: list[frozenset[str]], ages: list[float], question) -> None:
    candidates = [episode(key, f"text {key}", days_ago=ages[key], lexemes=lexemes) for key, lexemes in enumerate(texts)]

    found = rank(candidates, [Term(word, 1) for word in question], Corpus(50), (), NOW)

    assert len(found) + sum(each.earlier for each in found) == len(candidates)
    assert len({each.id for each in found}) == len(found)
    assert all(0 <= each.similarity <= 1 and 0 <= each.score <= 1 for each in found)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_z_scores_keep_the_order(values: list[float]) -> None:
    scores = z_scores(values, 1.0)

    assert all((one <= other) or (first >= second) for one, first in zip(values, scores, strict=True)
               for other, second in zip(values, scores, strict=True))  # fmt: skip


def test_texts_that_differ_in_their_full_stop_are_the_same() -> None:
    assert normalise("The  user likes tea.") == normalise("the user likes tea")
