"""What of a message is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.memories.episodes import GAP, KEPT_MAX, EpisodeText, compose_episode, leave_out
from memory.secrets.redaction import MARK
from tests.memory.labelled import labelled

SAID = "We moved the billing database to Postgres 17 last week."
KEY = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"
LINES = "\n".join(f"    total = total + prices[{number}]" for number in range(21))
LOG = "\n".join(f"2026-03-04 10:00:{number} ERROR connection lost" for number in range(10, 31))


def compose(said: str, role: str = "user") -> EpisodeText:
    found = compose_episode(said, role)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"  {SAID}\n", SAID),
        (f"{SAID}\n```python\n{LINES}\n```\nDoes it work?", f"{SAID}\n{GAP}\nDoes it work?"),
        (f"{SAID}\n```python\nx = 1\n```", f"{SAID}\n```python\nx = 1\n```"),
        (f"{SAID}\n\n{LOG}\n\nWhat does the log mean?", f"{SAID}\n\n{GAP}\n\nWhat does the log mean?"),
        (f"{SAID} The token is {KEY}", f"{SAID} The token is {MARK}"),
        (f"{SAID}\0 \ud800", f"{SAID}  ?"),
    ],
)
def test_what_somebody_says_is_kept_without_code_and_secrets(said: str, kept: str) -> None:
    assert compose(said).text == kept


@pytest.mark.parametrize(
    ("said", "role"),
    [
        (SAID, "system"),
        (SAID, "tool"),
        ("ok, thanks!", "user"),
        ("Please do it again", "user"),
        ('{"system_warning": "the message had the wrong form, answer again"}', "user"),
        ("```\nmove the billing database\n```", "user"),
        (f"Observation: {SAID}", "user"),
        (f"Here is the mail:\n{SAID}", "user"),
        (f"**Tool result** [search]: {SAID}", "user"),
        ('{"thoughts": ["move the database"], "tool_name": "code", "tool_args": {"text": "move it now"}}', "assistant"),
    ],
)
def test_what_nobody_says_is_not_kept(said: str, role: str) -> None:
    assert compose_episode(said, role) is None


@labelled(__file__, "kept")
def test_a_few_words_that_tell_something_are_kept(said: str) -> None:
    assert compose(said).text == said


ASKED = "Sounds *nice*.\n\nWhich city are you starting from?"


@pytest.mark.parametrize(
    ("asked", "said", "kept"),
    [
        (ASKED, "Bergen.", 'Asked "Which city are you starting from?": Bergen.'),
        ("Cute! How old is he?", "3", 'Asked "How old is he?": 3'),
        ("Which **port**?", "no, 8080", 'Asked "Which **port**?": no, 8080'),
        (f"What is your token, {KEY}?", "Bergen", f'Asked "What is your token, {MARK}?": Bergen'),
    ],
)
def test_a_short_answer_is_kept_with_what_was_asked(asked: str, said: str, kept: str) -> None:
    assert compose_episode(said, "user", asked) == EpisodeText(kept)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (ASKED, "yes, thanks"),
        (ASKED, "continue"),
        ("", "Please do it again"),
    ],
)
def test_what_says_no_more_than_yes_is_not_kept(asked: str, said: str) -> None:
    assert compose_episode(said, "user", asked) is None


@pytest.mark.parametrize("asked", ["I will book it in Bergen.", "Shall I book it in Bergen?", "Anything else?", ""])
def test_a_short_message_that_answers_no_question_is_kept_as_it_is(asked: str) -> None:
    assert compose_episode("Oslo", "user", asked) == EpisodeText("Oslo")


def test_of_agent_zeros_answer_its_text_is_kept() -> None:
    answer = f'{{"thoughts": ["hm"], "tool_name": "response", "tool_args": {{"text": "{SAID}"}}}}'

    assert compose(answer, "assistant") == EpisodeText(SAID)


def test_what_is_quoted_is_told_from_what_is_said() -> None:
    episode = compose(f'{SAID}\n<document>\nThe moon is made of cheese.\n</document>\nBob: "Mimir runs on tyr now"')

    assert episode.own.split() == [*SAID.split(), "Bob:"]
    assert "moon" in episode.passed_on
    assert "Mimir" in episode.passed_on


@pytest.mark.parametrize(
    ("said", "own"),
    [
        (
            "func Book(id string) error {\n\treturn db.Exec(q, id)\n}\nreview this, and tell Saara",
            "review this, and tell Saara",
        ),
        ("Why does it print nothing?\ndef book(x):\n    return x", "Why does it print nothing?"),
        ("till: Sumbar T2\ndeadline: next friday", None),
        (
            "- move db (tyr -> heimdall);\n- rename host {a} to b",
            "- move db (tyr -> heimdall);\n- rename host {a} to b",
        ),
    ],
)
def test_code_that_nothing_marks_is_passed_on_and_own_points_are_not(said: str, own: str | None) -> None:
    episode = compose_episode(said, "user")
    assert episode is not None
    assert episode.own.strip() == (own or said)


def test_of_a_long_message_quotations_are_cut_before_own_words() -> None:
    page = "The moon is made of cheese. " * 300

    episode = compose(f"<page>\n{page}\n</page>\n{SAID}")

    assert episode.own.endswith(SAID)
    assert len(episode.passed_on) == 500


WORDS = st.sampled_from(
    [*SAID.split(), f'"{SAID}"', "<page>", "</page>", "\n", "```", LINES, LOG, KEY, "Output:", "> "]
)


@given(st.lists(WORDS, max_size=60).map(" ".join), st.sampled_from(["user", "assistant"]), st.integers(1, 20))
def test_an_episode_is_short_without_secrets_and_its_quotations_are_in_order(said: str, role: str, times: int) -> None:
    episode = compose_episode(said * times, role) or EpisodeText("")

    assert len(episode.text) <= KEPT_MAX
    assert KEY not in episode.text
    ends = [0, *(place for span in episode.quoted for place in span), len(episode.text)]
    assert ends == sorted(ends)
    assert all(start < end for start, end in episode.quoted)


@given(st.text(alphabet="abc\n", max_size=40), st.data())
def test_what_is_left_out_moves_the_quotations(text: str, data: st.DataObject) -> None:
    places = st.lists(st.integers(0, len(text)), max_size=8, unique=True).map(sorted)
    quoted, cuts = (
        [(start, end) for start, end in zip(found[::2], found[1::2], strict=False)]
        for found in (data.draw(places), data.draw(places))
    )

    rest = leave_out(EpisodeText(text, tuple(quoted)), cuts)

    kept = [at for at in range(len(text)) if not any(start <= at < end for start, end in cuts)]
    assert rest.text.replace(GAP, "") == "".join(text[at] for at in kept)
    of_others = "".join(text[at] for at in kept if any(start <= at < end for start, end in quoted))
    assert "".join(rest.text[start:end] for start, end in rest.quoted) == of_others
