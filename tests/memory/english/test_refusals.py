"""Why a text does not teach what somebody may take for a statement in it."""

from hypothesis import given
from hypothesis import strategies as st

from memory.english.refusals import find_refusals
from memory.english.statements import find_cues
from tests.memory.labelled import labelled


class Words:
    """A few common words, and one concept."""

    def is_common(self, token: str) -> bool:
        return token in {"house", "service", "it", "restart", "think"}

    def is_concept(self, token: str) -> bool:
        return token == "kvasir"

    def is_location(self, token: str) -> bool:
        return False

    def find_dimension(self, concept: str, parent: str) -> str | None:
        return None


WORDS = Words()


def refused(text: str) -> list[tuple[str, str]]:
    return [tuple(one) for one in find_refusals(text, find_cues(text, vocabulary=WORDS))]


@labelled(__file__, "refusal")
def test_it_says_why_a_sentence_states_nothing(text: str, why: str) -> None:
    [(sentence, reason)] = refused(text)

    assert sentence == text
    assert why in reason


def test_it_is_silent_about_what_was_found_and_what_is_no_statement_at_all() -> None:
    assert refused("kvasir is a service and runs on tyr. Hello, an odd day.\nPlease restart it.") == []


def test_each_sentence_is_told_once_and_in_its_own_words() -> None:
    text = "kvasir is a service.\nIf kvasir is a service and runs on tyr, fine. Is it so? The house is a service."

    assert [sentence for sentence, _ in refused(text)] == [
        "If kvasir is a service and runs on tyr, fine.", "The house is a service.",
    ]  # fmt: skip


def test_of_a_sentence_that_states_something_too_only_the_rest_is_told() -> None:
    text = "If it rains kvasir runs on odin, kvasir is a service, and the house is a service."

    assert [sentence for sentence, _ in refused(text)] == [
        "If it rains kvasir runs on odin …",
        "… and the house is a service.",
    ]


@given(st.text(alphabet="akvsir nt.?\n`>'\"I", max_size=80).map(lambda text: f"{text} kvasir is a service {text}"))
def test_any_text_is_answered(text: str) -> None:
    assert all(sentence and why for sentence, why in refused(text))
