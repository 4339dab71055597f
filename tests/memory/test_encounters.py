"""Which messages of a prompt are new, when they were first seen, and what is handed over of them."""

from collections.abc import Sequence

import pytest

from memory.attribution.client_names import GROUP
from memory.cache.state import Cache
from memory.graph.saliency import DAY, saliency
from memory.learning import encounters as encounters_module
from memory.learning.encounters import AGAIN_S, ANSWER_MAX, ASKING_MAX, Encounters
from memory.learning.messages import NewMessage
from memory.learning.reader import Reader, Reading, digest_message
from memory.memories.scope import Scope, Speaker
from memory.timing import AHEAD_MAX_S, MICROSECOND, STATEMENTS_MAX, FirstSeenClock
from memory.types import Message, SoasRow
from memory.voice import Voice

NOW = 1_800_000_000.0
ONE, OTHER = b"1" * 16, b"2" * 16  # openings of conversations
ALICE, BOB = Scope(Speaker("webui", "alice")), Scope(Speaker("webui", "bob"))
SEEN = Message("assistant", "I see.")


class Process:
    """A server process, as far as it hears."""

    def __init__(self, *known: str, **facts: object) -> None:
        self.cache = Cache()
        for number, token in enumerate(known, 1):
            self.cache.put_soas(token, SoasRow(number, **facts))  # type: ignore[arg-type]
        self.heard: list[NewMessage] = []
        self.resent: list[tuple[bytes, float]] = []
        self.encounters = Encounters(self.cache, self.heard.append, lambda key, now: self.resent.append((key, now)))
        self._reader = Reader(self.cache)

    def hear(
        self,
        *said: str | Message,
        opening: bytes = ONE,
        now: float = NOW,
        is_read: bool = True,
        answered: int = 0,
        scope: Scope | None = None,
        unkept: Sequence[int] = (),
    ) -> list[Reading]:
        messages = [Message("user", one) if isinstance(one, str) else one for one in said]
        readings = [self._reader.read(message) if is_read else None for message in messages]
        digests = [digest_message(message) for message in messages]
        found = self.encounters.find_new(
            opening, messages, readings, digests, now, "dobby", answered=answered, scope=scope, unkept=unkept
        )
        self.encounters.note(found)
        return found.stated

    def count_of(self, token: str) -> int:
        return self.cache.soas_by_token[token].encounter_count


def test_of_two_prompts_at_once_one_hands_a_message_over() -> None:
    process = Process("zorblat")
    message = Message("user", "zorblat")
    reading = process._reader.read(message)
    found = [
        process.encounters.find_new(ONE, [message], [reading], [digest_message(message)], NOW + at) for at in (0, 1)
    ]

    for each in found:
        process.encounters.note(each)

    assert (len(process.heard), process.count_of("zorblat")) == (1, 1)


def test_a_resent_message_is_handed_over_and_counts_once_in_its_conversation() -> None:
    process = Process("zorblat")

    for _ in range(3):
        process.hear("zorblat zorblat")
    process.hear("zorblat zorblat", opening=OTHER)

    digest = digest_message(Message("user", "zorblat zorblat"))
    assert [heard.key for heard in process.heard] == [ONE + digest, OTHER + digest]
    assert process.count_of("zorblat") == 2


def test_only_new_messages_are_returned() -> None:
    process = Process()
    process.hear("one")

    assert [reading.text for reading in process.hear("one", "two")] == ["two"]


def test_a_message_without_text_is_none() -> None:
    process = Process()

    assert process.hear(Message("assistant", "")) == process.heard == []


def test_a_message_that_was_counted_before_the_start_is_not_new() -> None:
    process = Process("zorblat")
    process.encounters.remember([(ONE + digest_message(Message("user", "zorblat")), NOW - 60)])

    assert process.hear("zorblat") == process.heard == []
    assert process.count_of("zorblat") == 0


def test_what_was_seen_longest_ago_is_forgotten_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encounters_module, "SEEN_MAX", 2)
    process = Process()

    for text in ("one", "two", "three", "two", "one"):
        process.hear(text)

    assert [heard.text for heard in process.heard] == ["one", "two", "three", "one"]


def test_what_is_sent_again_after_a_day_is_noted_once() -> None:
    process = Process()
    process.hear("one", SEEN)

    process.hear("one", SEEN, now=NOW + DAY / 2)
    assert not process.resent
    process.hear("one", SEEN, now=NOW + DAY + 1)
    process.hear("one", SEEN, now=NOW + DAY + 2)

    assert process.resent == [(heard.key, NOW + DAY + 1) for heard in process.heard]


@pytest.mark.parametrize(("later", "count"), [(AGAIN_S - 1, 1), (AGAIN_S + 1, 2)])
def test_what_ends_a_request_is_said_again_after_ten_minutes(later: float, count: int) -> None:
    process = Process()
    process.hear("one")

    process.hear("one", now=NOW + later)

    assert [heard.text for heard in process.heard] == ["one"] * count


def test_what_is_resent_within_a_history_is_never_said_again() -> None:
    process = Process()
    process.hear("one")

    process.hear("one", SEEN, "two", now=NOW + AGAIN_S + 1)

    assert [heard.text for heard in process.heard] == ["one", "I see.", "two"]


def test_what_is_set_aside_may_be_said_anew() -> None:
    process = Process()
    process.hear("one", now=NOW - DAY * 1000)

    process.encounters.forget([ONE])
    process.hear("one", now=NOW - DAY * 1000 + 1)

    assert len(process.heard) == 2


def test_nothing_unkept_is_counted_or_handed_over() -> None:
    process = Process("zorblat")

    process.hear("zorblat", "and more", unkept=[0])

    assert [heard.text for heard in process.heard] == ["and more"]
    assert process.count_of("zorblat") == 0


def test_an_answer_is_handed_over_once_though_it_is_resent() -> None:
    process = Process()
    process.hear("one")

    process.encounters.keep_answer(ONE, " I see. ".strip(), NOW, "dobby", None)
    process.hear("one", SEEN, "two")

    assert [(heard.role, heard.text) for heard in process.heard] == [
        ("user", "one"), ("assistant", "I see."), ("user", "two"),
    ]  # fmt: skip


def test_a_word_that_is_met_again_is_salient_for_the_next_prompt() -> None:
    process = Process("zorblat")

    process.hear("zorblat one", "zorblat two", "three")

    row = process.cache.soas_by_token["zorblat"]
    assert (row.encounter_count, row.saliency) == (2, saliency(2))
    assert row.last_seen == pytest.approx(NOW, abs=0.001)


def test_a_part_of_a_name_is_not_counted() -> None:
    process = Process("university", "glitch_university")

    process.hear("We asked the Glitch University.")

    assert (process.count_of("university"), process.count_of("glitch_university")) == (0, 1)


def test_a_common_word_stays_without_saliency() -> None:
    process = Process("the", novelty=1, is_common=True)

    process.hear(*(f"the {i}" for i in range(10)))

    assert (process.count_of("the"), process.cache.soas_by_token["the"].saliency) == (10, 0)


@pytest.mark.parametrize(
    "said",
    [
        Message("user", "Dobby ISA worker."),
        Message("user", '{"user_message": "Hello. Dobby ISA worker."}'),
        Message("user", "Ask.\n<recollection>\n- x\n</recollection>\nZorblat."),
        Message("tool", "Dobby ISA worker.", voice=Voice.QUOTED),
    ],
)
def test_the_same_is_handed_over_where_there_was_no_time_to_read_it(said: Message) -> None:
    read, unread = Process(), Process()
    read.hear(said)

    assert unread.hear(said, is_read=False) == []
    assert unread.heard == read.heard
    unread.hear(said)  # later there is
    assert len(unread.heard) == 1


def test_what_was_answered_before_it_was_first_seen_is_not_said_now() -> None:
    process = Process()
    said = ["Dobby is no cook.", "Dobby is a worker.", SEEN, "Actually Dobby is a cook."]

    current = process.hear(*said, answered=3)

    assert [reading.text for reading in current] == ["Actually Dobby is a cook."]
    assert [(heard.is_dated, heard.is_live) for heard in process.heard] == [(False, False)] * 3 + [(True, True)]


def test_what_comes_after_something_seen_is_live_though_it_was_answered() -> None:
    process = Process()
    process.hear("one")

    process.hear("one", SEEN, "two", answered=2)

    assert [(heard.is_dated, heard.is_live) for heard in process.heard[1:]] == [(False, True), (True, True)]


def test_what_nobody_shows_to_have_said_is_handed_over_as_quoted_and_not_said_now() -> None:
    process = Process("zorblat")

    assert process.hear(Message("user", "Zorblat is a repo.", voice=Voice.QUOTED)) == []
    assert [heard.voice for heard in process.heard] == [Voice.QUOTED]
    assert process.count_of("zorblat") == 1


def test_what_another_says_in_the_same_words_is_handed_over_for_them_and_counts_once() -> None:
    process = Process("zorblat")

    for _ in range(2):
        for scope in (None, ALICE, BOB):
            process.hear("zorblat", scope=scope)

    assert [heard.scope for heard in process.heard] == [None, ALICE, BOB]
    assert len({heard.digest for heard in process.heard}) == 3
    assert process.count_of("zorblat") == 1


def test_of_a_history_nothing_is_handed_over_for_another() -> None:
    process = Process()
    process.hear("one", SEEN, scope=ALICE)

    process.hear("one", SEEN, "two", answered=2, scope=BOB)

    assert [(heard.text, heard.scope) for heard in process.heard] == [("one", ALICE), (SEEN.text, ALICE), ("two", BOB)]


QUESTION = "Where does Dobby run?"


@pytest.mark.parametrize(
    ("before", "said", "expected"),
    [
        (Message("assistant", QUESTION), "On Docker.", QUESTION),
        (Message("assistant", QUESTION), "x" * ANSWER_MAX, QUESTION),
        (Message("assistant", QUESTION), "x" * (ANSWER_MAX + 1), ""),
        (Message("assistant", f"{'x' * ASKING_MAX}{QUESTION}"), "On Docker.", ""),
        (Message("assistant", f"{QUESTION}{'x' * ANSWER_MAX}"), "On Docker.", ""),
        (SEEN, "On Docker.", ""),
        (Message("user", QUESTION), "On Docker.", ""),
    ],
)
def test_a_short_answer_comes_with_the_question_right_before_it(before: Message, said: str, expected: str) -> None:
    process = Process()

    process.hear(before, said)

    assert [heard.before for heard in process.heard] == ["", expected]


def test_of_a_group_each_person_is_heard_for_themselves_and_the_rest_for_nobody() -> None:
    process = Process()
    said = Message("user", "zorblat is a repo.", Voice.UNSURE, "ann"), SEEN, Message("user", "skandha is a repo.")

    process.hear(*said, scope=Scope(Speaker("bridge", GROUP)))

    assert [(heard.scope, heard.voice) for heard in process.heard if heard.role == "user"] == [
        (Scope(Speaker("bridge", "ann")), Voice.UNSURE),
        (None, Voice.UNSURE),
    ]
    assert [heard.scope for heard in process.heard if heard.role == "assistant"] == [None]


def test_messages_of_one_moment_stand_in_their_order_with_room_for_their_statements() -> None:
    sightings = FirstSeenClock()

    first = sightings.date(800, NOW)
    second = sightings.date(0, NOW)

    assert first == NOW
    assert second == pytest.approx(first + STATEMENTS_MAX * MICROSECOND, abs=MICROSECOND / 2)


def test_time_goes_back_with_the_clock_but_for_a_second() -> None:
    sightings = FirstSeenClock()
    first = sightings.date(0, NOW)

    assert sightings.date(0, NOW - 0.5) > first
    assert sightings.date(0, NOW - 60) == NOW - 59
    assert sightings.date(0, NOW - 50) == NOW - 50


def test_times_are_never_more_than_a_second_ahead_of_the_clock() -> None:
    sightings = FirstSeenClock()

    times = [sightings.date(10**8, NOW) for _ in range(100_000)]

    assert sorted(times) == times
    assert times[-1] == NOW + AHEAD_MAX_S
    assert sightings.date(0, NOW + 2) == NOW + 2


def test_what_an_envelope_carries_is_handed_over() -> None:
    process = Process()

    process.hear('{"user_message": "Hello. Dobby ISA worker."}')

    [heard] = process.heard
    assert (heard.role, heard.text, heard.agent) == ("user", "Hello. Dobby ISA worker.", "dobby")
