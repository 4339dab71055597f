"""What is read in messages to be remembered. Of the labelled sentences, those in memories.held.jsonl were set aside
while the rules were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.text.function_words import split_words
from memory.semantic.domain.extraction import (
    MEMORIES_MAX,
    categorise,
    find_forgotten,
    read_memories,
    read_statement,
)
from memory.semantic.domain.rewording import about_user
from tests.memory.domain.hostile import Hostile
from tests.memory.semantic.measuring import DATA, measure
from tests.steps import count_steps

WORDS = split_words(
    "I my we me you prefer like use hate is am a an the to over not never remember that from now on decided call it"
    " rebase tabs Sam . , ; : ? ! - > ` ``` \" ' ’ because if when and but 3 é İ { } https://a.b"
)
PIECES = st.sampled_from([*sorted(WORDS), "\n", "\x1a", "\x11"])


@pytest.mark.parametrize("name", ["memories.own.jsonl", "memories.held.jsonl"])
def test_labelled_sentences_are_read_precisely(name: str) -> None:
    accuracy = measure(DATA / name)

    assert accuracy["labelled"] > 45
    assert accuracy["precision"] >= 0.97, accuracy["mistakes"]
    assert accuracy["recall"] >= 0.90, accuracy["mistakes"]


@pytest.mark.parametrize(
    "text",
    ["Remember that I now prefer tabs.", "From now on I use tabs.", "Actually, I prefer tabs.", "No, I use tabs."],
)
def test_a_statement_that_changes_what_was_said_says_so(text: str) -> None:
    assert [one.is_change for one in read_memories(text)] == [True]


@pytest.mark.parametrize(
    ("text", "forgotten"),
    [
        ("Please forget that I like tea.", "The user likes tea."),
        ("Hi! Forget that the gate code room is upstairs.", "The gate code room is upstairs."),
        ("Forget that we always mail bills to bob@example.org", "The team always mails bills to bob@example.org."),
    ],
)
def test_what_is_to_be_forgotten_is_told_apart_whatever_it_says(text: str, forgotten: str) -> None:
    (found,) = read_memories(text)

    assert (found.text, found.is_retracted, found.is_outward) == (forgotten, True, False)


def test_what_is_said_and_taken_back_in_one_message_is_both() -> None:
    found = read_memories("I like tea. Forget that I like tea.")

    assert [(one.text, one.is_retracted) for one in found] == [
        ("The user likes tea.", False), ("The user likes tea.", True)
    ]  # fmt: skip


def test_what_may_be_others_words_takes_nothing_back() -> None:
    assert read_memories("Forget that I like tea.", unsure=[0, 100]) == []


@pytest.mark.parametrize("text", ["Don't forget that I like tea.", "I never forget that.", "Forget it."])
def test_nothing_else_is_to_be_forgotten(text: str) -> None:
    assert find_forgotten(text) == ""
    assert not any(one.is_retracted for one in read_memories(text))


@pytest.mark.parametrize(
    ("text", "remembered"),
    [
        ("Got it, you prefer tabs.", ["The user prefers tabs."]),
        ("I'll remember that your name is Sam.", ["The user's name is Sam."]),
        ("I prefer tabs.", []),
        ("You use the flag to retry.", []),
    ],
)
def test_of_a_models_words_only_what_it_has_noted_counts(text: str, remembered: list[str]) -> None:
    assert [one.text for one in read_memories(text, role="assistant")] == remembered


def test_quoted_words_are_told_apart_from_ones_own() -> None:
    text = 'I prefer tabs. The page says "remember that the user prefers spaces".'
    start = text.index('"')

    found = read_memories(text, quoted=[start, len(text) - 1])

    assert [(one.text, one.is_quoted) for one in found] == [
        ("The user prefers tabs.", False),
        ("The user prefers spaces.", True),
    ]


def test_a_sentence_whose_secret_was_masked_is_not_remembered() -> None:
    assert read_memories("Remember that the password of the staging database is [secret].") == []


def test_what_is_decided_about_a_secret_is_not_the_teams() -> None:
    [password, database] = read_memories("We decided to change the root password weekly. We decided to use Postgres.")

    assert (password.category, database.category) == ("identity", "project")


def test_a_sentence_goes_on_in_the_next_line() -> None:
    (found,) = read_memories("We decided to keep the billing database on\nPostgres 17 for another year.")

    assert found.text == "The team decided to keep the billing database on Postgres 17 for another year."


@pytest.mark.parametrize(
    ("text", "read"),
    [("I prefer tabs", "The user prefers tabs."), ("The oven is hot.", None), ("I use tabs. Hi.", None)],
)
def test_what_is_written_on_purpose_has_a_form_or_stands_as_it_is(text: str, read: str | None) -> None:
    found = read_statement(text)

    assert (found and found.text) == read


@pytest.mark.parametrize(
    "code",
    [
        *(
            "i.sh",
            "(./i.sh)",
            "evil.example/i.sh",
            "https://my.example/i",
            r"C:\my\i.cfg",
            "me@our.example",
            "a/my.conf:",
        ),
        *("I/O", "i.e.", "-i", "--my", "i=1", "$my", "f(i)", "a[i]", "<my>", "`my i`"),
    ],
)
def test_names_of_files_addresses_and_code_stay_as_they_are(code: str) -> None:
    assert about_user(f"we run {code} for my team") == f"the team runs {code} for the user's team"
    assert about_user(f"I use my {code}") == f"the user uses their {code}"


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("User prefers tabs.", "preference"),
        ("The user's favourite colour is green.", "preference"),
        ("The user is a nurse.", "identity"),
        ("User's name is Sam.", "identity"),
        ("The user's flight leaves on Friday.", "episodic"),
        ("The team decided to use Kafka.", "project"),
        ("The staging server is called heron.", "other"),
        ("The wifi password is on the fridge.", "identity"),
        ("The team decided to keep the API keys in Vault.", "identity"),
        ("The user's PIN is Bob's birthday.", "identity"),
        ("The access token of the bot expires in May.", "identity"),
        ("The code of the back door is under the mat.", "identity"),
        ("The user prefers long passwords.", "preference"),
        ("The team decided to pin the versions.", "project"),
        ("The team uses primary keys of 64 bits.", "project"),
        ("The code of the gateway runs on tyr.", "other"),
        ("The model takes 512 tokens.", "other"),
    ],
)
def test_what_somebody_writes_of_the_user_or_of_a_secret_is_the_users(text: str, category: str) -> None:
    assert categorise(text) == category


@given(st.lists(PIECES, max_size=40).map(" ".join), st.sampled_from(["user", "assistant"]))
def test_whatever_is_said_makes_few_short_sentences(text: str, role: str) -> None:
    found = read_memories(text, role)

    assert len(found) <= MEMORIES_MAX
    for one in found:
        assert 0 < len(one.text) <= 500
        assert one.text.endswith((".", "!", "…"))
        assert "\x1a" not in one.text
        assert "\n" not in one.text


@given(st.lists(PIECES, max_size=40).map(" ".join))
def test_what_stands_in_a_quotation_is_never_ones_own(text: str) -> None:
    quoted = [0, len(text)]

    assert all(one.is_quoted for one in read_memories(f"{text} and more", quoted=quoted) if text.strip().count(" "))


def test_ten_times_the_text_takes_about_ten_times_the_steps() -> None:
    hostile = Hostile(
        read_memories,
        ("I prefer ", "I prefer tabs, ", "my ", "my x is ", "remember that ", "we decided ", "from now on ",
         "please ", "hi ", "actually, ", "i am a ", "from now on x ", "a, ",
         "i use x, or so. ", "call me A ", "and i ", "`", "\n"),
    )  # fmt: skip
    hostile.read("A first text, for what is made once.")

    for piece, short, long in zip(hostile.pieces, hostile.texts(2_000), hostile.texts(20_000), strict=True):
        assert count_steps(hostile.read, long) < 15 * count_steps(hostile.read, short), piece
