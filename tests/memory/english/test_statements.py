"""The sentence that is kept with a statement, and what stands together in one."""

from hypothesis import given
from hypothesis import strategies as st

from memory.english.statements import find_cues
from memory.questions.snippets import ELLIPSIS, STATEMENT_MAX, sentence_stating, share_a_sentence
from tests.memory.english.hostile import NoWords
from tests.memory.english.test_evidence import texts


def stated(text: str) -> list[str]:
    return [sentence_stating(text, cue.start, cue.end) for cue in find_cues(text, vocabulary=NoWords())]


def test_a_statement_is_kept_with_the_sentence_around_it() -> None:
    text = "Hello. Since May, gnommoweb is a repo of Glitch University, e.g. for us. Dobby is a worker.\nBye."

    assert stated(text) == [
        "Since May, gnommoweb is a repo of Glitch University, e.g. for us.",
        "Dobby is a worker.",
    ]


def test_what_marks_a_line_as_quoted_is_not_kept() -> None:
    assert stated("The mail says:\n> > Dobby is a worker.\n>gnommoweb is a repo if x > 3.") == [
        "Dobby is a worker.",
        "gnommoweb is a repo if x > 3.",
    ]


def test_its_secrets_are_masked() -> None:
    [sentence] = stated("With password: hunter2hunter2 you see that gnommoweb is a repo.")

    assert "hunter2" not in sentence
    assert sentence.endswith("you see that gnommoweb is a repo.")


def test_of_a_long_sentence_it_is_what_stands_around() -> None:
    text = "word " * 400 + "and gnommoweb is a repo, " + "word " * 400

    start = text.index("gnommoweb")
    sentence = sentence_stating(text, start, start + len("gnommoweb is a repo"))

    assert "gnommoweb is a repo" in sentence
    assert sentence.startswith(ELLIPSIS)
    assert sentence.endswith(ELLIPSIS)
    assert len(sentence) <= STATEMENT_MAX


@given(texts, st.sampled_from(["gnommoweb is a repo", "Dobby runs on Docker"]), texts)
def test_the_sentence_of_a_statement_can_be_stored_whatever_stands_around_it(
    before: str, statement: str, after: str
) -> None:
    text = f"{before} {statement} {after}"

    sentence = sentence_stating(text, len(before) + 1, len(before) + 1 + len(statement))

    assert len(sentence) <= STATEMENT_MAX
    assert not set(sentence) & set("\n\r\x00\ud800\u2028")


def test_words_of_one_sentence_stand_together() -> None:
    text = "gnommoweb is a fine repo. The service of Glitch University.\nkvasir\nservice\n```\nkvasir service\n```"

    pairs = {("gnommoweb", "repo"), ("gnommoweb", "service"), ("service", "glitch_university"), ("kvasir", "service")}

    assert share_a_sentence(text, pairs) == {("gnommoweb", "repo"), ("service", "glitch_university")}


def test_code_says_nothing_of_words_that_stand_together() -> None:
    assert share_a_sentence("```\nkvasir service\n```\nno", {("kvasir", "service")}) == set()
