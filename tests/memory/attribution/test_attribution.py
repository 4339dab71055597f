"""Whose words a text is made of is found by its marks and its structure."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attribution.parts import (
    SHORT_MAX,
    announces_paste,
    digest_paragraph,
    find_voices,
    own_words,
    voice_of,
)  # fmt: skip
from memory.attribution.prose import mask_all_but_prose
from memory.english.sentences import MASK
from memory.english.unicode import reveal
from memory.voice import SPEAKER_ONLY, Voice
from tests.memory.labelled import labelled
from tests.planted import HANDED_OVER, IN_A_MESSAGE, IN_THE_SYSTEM_TEXT, PERHAPS_HANDED_OVER, TAUGHT

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "attribution.jsonl").read_text().splitlines()]
SENTENCE = "gnommoweb is a worm"
MASKED = ("fenced", "fenced with tildes")  # code is nobody's statement, quoted or not
PIECES = st.sampled_from(
    ["> ", "\n", "\n\n", "\r\n", '"', "'", "\u201c", "\u201d", "\u00ab", "\u00bb", '"""', "```\n", "a", "word ",
     " ", ": ", "<document>", "</document>", "<a b='c'>", "Result: ", "## Results\n", "From: x\n", "Subject: y\n",
     "\u200b", "On Monday, Bob wrote:\n", "Translate this:\n", "Eve: hi\n", "- ", "10:30 ", "----\n", "# ",
     "Please fix it. ", "$ ls\n", "\uff1a"]
)  # fmt: skip


def places(text: str) -> tuple[int, int]:
    start = text.index(SENTENCE)
    return start, start + len(SENTENCE)


def voice_in(text: str) -> Voice:
    return voice_of(find_voices(text), *places(text))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["text"])
def test_each_statement_has_its_voice(row: dict[str, str]) -> None:
    start = row["text"].index(row["says"])

    assert voice_of(find_voices(row["text"]), start, start + len(row["says"])) == row["voice"]


@pytest.mark.parametrize("text", PERHAPS_HANDED_OVER)
def test_what_may_be_anybodys_is_unsure(text: str) -> None:
    assert voice_in(text.replace("{}", SENTENCE)) in SPEAKER_ONLY


@pytest.mark.parametrize("text", HANDED_OVER)
def test_what_is_handed_over_is_quoted(text: str) -> None:
    assert voice_in(text.replace("{}", SENTENCE)) is Voice.QUOTED


def test_what_is_planted_is_never_for_all() -> None:
    for one in IN_A_MESSAGE + IN_THE_SYSTEM_TEXT:
        text = one.requests[0][-1 if one in IN_A_MESSAGE else 0][1].replace("{}", SENTENCE)
        if one.name not in MASKED:
            assert voice_in(text) is not Voice.SHARED, one.name


def test_what_people_teach_is_not_quoted() -> None:
    for one in TAUGHT:
        text = next(text for role, text in one.requests[-1][::-1] if "{}" in text and role != "assistant")
        assert voice_in(text.replace("{}", SENTENCE)) is not Voice.QUOTED, one.name


def test_a_name_alone_may_stand_in_quotation_marks() -> None:
    text = 'The "gnommoweb" is a "worm".'

    assert voice_of(find_voices(text), text.index("gnommoweb"), text.index("worm") + 4) is Voice.SHARED


def test_a_message_that_is_one_quotation_quotes_nobody() -> None:
    assert voice_in(f'"{SENTENCE} today."') is Voice.SHARED
    assert voice_in(f'He says: "{SENTENCE} today."') is Voice.QUOTED


def test_of_a_long_message_only_the_first_paragraph_is_for_all() -> None:
    first = f"{SENTENCE} of ours."
    text = f"{first}\n\n{'It is a big one. ' * 60}"

    assert voice_in(text) is Voice.SHARED
    assert [(span.start, span.voice) for span in find_voices(text)] == [(len(first), Voice.UNSURE)]
    assert len(text) > SHORT_MAX


def test_without_its_quotations_a_text_says_only_what_is_its_own() -> None:
    text = "Mine.\n> theirs\n\nEve: hers."

    assert own_words(text) == "Mine.\n\n\n\nEve: hers."
    assert own_words(text, Voice.SHARED) == "Mine.\n\n\n\nEve: \n"


def test_the_same_paragraph_is_known_in_any_dress() -> None:
    text = f"Hello.\n\n{SENTENCE}, they say.\n\nBye."

    assert digest_paragraph(text, places(text)[0]) == digest_paragraph("GNOMMOWEB  is a\u200b worm \u2014 they SAY!", 0)
    assert digest_paragraph(text, places(text)[0]) != digest_paragraph(f"{SENTENCE}.", 0)


def test_a_message_may_say_what_the_next_one_is() -> None:
    assert announces_paste("I'll send you an article, then you sum it up.")
    assert not announces_paste("I'll send you greetings.")


@labelled(__file__, "continued prompt")
def test_of_a_prompt_that_is_to_be_gone_on_with_only_what_is_asked_is_a_persons(text: str, asked: str) -> None:
    assert own_words(text).strip() == asked


@labelled(__file__, "own prose")
def test_what_people_paste_is_not_their_prose(text: str, own: str) -> None:
    shown = mask_all_but_prose(text).replace(MASK, "")

    assert "\n".join(line.strip() for line in shown.splitlines()).strip() == own


@given(st.text(st.sampled_from("a\u00e9\u200b\uff21\ufb01\r\n\u2028\x0b \U0001d400")))
def test_a_revealed_text_shows_where_it_comes_from(text: str) -> None:
    revealed = reveal(text)

    assert not set("\r\u2028\x0b\u200b") & set(revealed.text)
    assert reveal(revealed.text).text == revealed.text
    for at, character in enumerate(revealed.text):
        start, end = revealed.source_span(at, at + 1)
        assert character.isspace() or character in reveal(text[start:end]).text


@given(st.lists(PIECES).map("".join))
def test_spans_ascend_within_any_text(text: str) -> None:
    at = 0
    for start, end, voice, reason in find_voices(text):
        assert at <= start < end <= len(text)
        assert voice is not Voice.SHARED
        assert reason
        at = end
    assert len(own_words(text)) <= len(text) + 1


@given(st.lists(PIECES).map("".join))
def test_a_document_holds_whatever_is_in_it(inside: str) -> None:
    """No text within a document can close it before its last end tag."""
    assert voice_in(f"<document>\n{inside}\n{SENTENCE}\n</document>") is Voice.QUOTED
