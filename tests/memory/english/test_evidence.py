"""The sentences that name a concept or make a statement."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from memory.english.statements import find_cues
from memory.english.tokenizer import find_words, tokenise
from memory.english.unicode import normalise
from memory.questions.snippets import (
    ELLIPSIS,
    EVIDENCE_MAX,
    STATEMENT_MAX,
    sentence_stating,
    sentences_naming,
    share_a_sentence,
)
from memory.secrets.redaction import mask_secrets
from tests.memory.english.hostile import NoWords
from tests.memory.labelled import labelled
from tests.steps import count_steps

AWKWARD = (
    "gnommoweb", "Glitch University", "glitch", "Dobby's", "don't", "gpt-4o", "İstanbul", "ΑΣ's", "हिन्दी", "ﬁle",
    "Ｆull", "a℀b", "secret", "[secret]", "password: hunter2", "`a. B`", '{"a": "b. c"}', "https://x.y/z. ", "\n```\n",
    ". ", "? ", "... ", "e.g. ", "\n", "\r\n", "\t", "  ", " ", "\x00", "\x1a", "\ud800", "\u202e", "\u2028",
    "x" * 70, "Ab " * 60, "word " * 90,
)  # fmt: skip
texts = st.one_of(
    st.text(), st.lists(st.sampled_from(AWKWARD)).map(" ".join), st.lists(st.sampled_from(AWKWARD)).map("".join)
)


def spelled(text: str) -> str:
    """Blind to what the collapsed white space changes: words that come to stand together make one name."""
    return unicodedata.normalize("NFKC", text).replace("_", " ").replace("ς", "σ")


def evidence(text: str, name: str) -> str | None:
    return sentences_naming(text, [name]).get(name)


def test_evidence_is_the_first_sentence_that_names_the_concept() -> None:
    text = "Hello there. We moved gnommoweb to Postgres, e.g. 16.2, today. Is gnommoweb up?"

    assert evidence(text, "gnommoweb") == "We moved gnommoweb to Postgres, e.g. 16.2, today."


def test_names_that_stand_together_share_a_sentence() -> None:
    text = "Nothing here.\nGnommoweb is part of Glitch University.\nDobby runs it."

    assert sentences_naming(text, {"gnommoweb", "glitch_university", "dobby", "zorblat"}) == {
        "glitch_university": "Gnommoweb is part of Glitch University.",
        "gnommoweb": "Gnommoweb is part of Glitch University.",
        "dobby": "Dobby runs it.",
    }


@labelled(__file__, "named sentence")
def test_a_name_is_found_as_the_tokeniser_reads_it(text: str, name: str, sentence: str) -> None:
    assert evidence(text, name) == sentence


def test_a_part_of_a_name_is_not_the_concept() -> None:
    assert evidence("The Glitch University opens. A glitch happened.", "glitch") == "A glitch happened."
    assert evidence("glitch-x is up. A glitch happened.", "glitch") == "A glitch happened."


@labelled(__file__, "code line")
def test_a_line_of_code_or_json_is_kept_whole(line: str) -> None:
    assert evidence(f"First. Things\n{line}\nLast. Things", "gnommoweb") == line.strip()


def test_a_line_of_fenced_code_is_kept_whole() -> None:
    code = 'log("Hello. This is gnommoweb. Bye. ")'

    assert evidence(f"First. Things\n```\n{code}\n```\nLast. Things", "gnommoweb") == code


def test_a_full_stop_within_code_ends_no_sentence() -> None:
    assert evidence("Call `gnommoweb. stop` first. Then rest.", "gnommoweb") == "Call `gnommoweb. stop` first."


def test_a_long_sentence_is_cut_around_the_name_at_borders_of_words() -> None:
    words_before, words_after = "before " * 100, "after " * 100

    middle = evidence(f"{words_before}gnommoweb {words_after}", "gnommoweb") or ""
    start = evidence(f"gnommoweb {words_after}", "gnommoweb") or ""

    assert middle.startswith(f"{ELLIPSIS}before before")
    assert middle.endswith(f"after after{ELLIPSIS}")
    assert start.startswith("gnommoweb after")
    assert EVIDENCE_MAX - 10 < len(middle) <= EVIDENCE_MAX
    assert EVIDENCE_MAX - 10 < len(start) <= EVIDENCE_MAX


def test_a_long_line_without_spaces_is_cut_too() -> None:
    sentence = evidence("," * 5_000 + "gnommoweb" + "," * 5_000, "gnommoweb") or ""

    assert "gnommoweb" in sentence
    assert len(sentence) <= EVIDENCE_MAX


def test_a_secret_is_masked_before_the_cut() -> None:
    secret = "aB3" * 60
    filler = "so " * 60

    sentence = evidence(f"gnommoweb {filler}password={secret} {filler}", "gnommoweb") or ""

    assert "aB3" not in sentence


def test_what_is_named_only_within_a_secret_is_not_named() -> None:
    assert evidence("password: hunter2\nlog in", "hunter2") is None
    assert evidence("postgres://bob:gnommoweb@host/x", "gnommoweb") is None
    assert evidence("password: hunter2 " + "so " * 200, "secret") is None
    assert evidence("password: hunter2\nA secret is safe.", "secret") == "A secret is safe."


def test_without_names_or_without_text_no_sentence_is_found() -> None:
    assert sentences_naming("gnommoweb", []) == {}
    assert sentences_naming("", ["gnommoweb", ""]) == {}


@given(texts)
@example("0. " + "Ab " * 400)
@example("secret [secret]")
def test_what_is_kept_can_be_stored_and_names_the_concept(text: str) -> None:
    names = find_words(text).tokens

    for name, sentence in sentences_naming(text, names).items():
        assert name in names
        assert 0 < len(sentence) <= EVIDENCE_MAX
        assert sentence == " ".join(sentence.split())
        assert sentence.encode()
        assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in sentence)
        assert spelled(name) in spelled(normalise(sentence).text.lower())


@given(texts)
def test_every_concept_that_is_named_outside_of_secrets_has_evidence(text: str) -> None:
    masked = mask_secrets(text)
    named = [token.text for token in tokenise(masked) if masked[max(0, token.start - 1) : token.end + 1] != "[secret]"]

    assert sentences_naming(text, set(named)).keys() == set(named)


@given(texts)
def test_a_sentence_does_not_depend_on_what_else_is_looked_for(text: str) -> None:
    names = find_words(text).tokens

    together = sentences_naming(text, names)

    assert together == {name: sentence for name in together for sentence in sentences_naming(text, [name]).values()}


def test_each_name_costs_a_few_steps_however_long_the_text() -> None:
    text = "".join(f"The service s{i}x runs on host h{i}x today.\n" for i in range(500))
    few, many = ([f"{kind}{i}q" for i in range(count)] for kind, count in (("s", 10), ("h", 5_000)))

    added = count_steps(sentences_naming, text, many) - count_steps(sentences_naming, text, few)

    assert added < 20 * (len(many) - len(few))  # 500 times, were each of them looked for in each line


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
