"""Reading and scoring weeks of conversations: a toy week, whose figures can be counted by hand."""

from datetime import datetime

import pytest

from benchmarks.plan import WEEKS
from benchmarks.recall import Report, find_injected, read_applications
from benchmarks.stores import FestingerStore, name_cause
from benchmarks.weeks import Given, Request, Score, WeekMistake, miscounted, read_week, read_weeks

TOY = """
name: toy
person: A gardener who tests a benchmark.
conversations:
  - at: 2026-03-02T08:40
    messages:
      - user: "The greenhouse heating is set to 14.5 degrees at night. Which plants like that?"
        id: t1
      - assistant: "Lettuce and pansies."
      - user: "thanks, that helps a lot"
  - at: 2026-03-03T18:00
    messages:
      - user: "We moved the seedlings to the Ashdown
          shed, the porch was too dark. Write a label for the door please."
        id: t2
      - assistant: "Seedlings inside: please close the door."
  - at: 2026-03-04T18:00:30
    messages:
      - user: "Too cold for the peppers, so the greenhouse heating runs at 17 degrees now, until 8443 hours are over."
        id: t3
requests:
  - kind: single
    at: 2026-03-07T10:00
    text: "Where did we put the seedlings?"
    evidence: [t2]
    values: [[Ashdown shed, "Ashdown hut"]]
  - kind: two
    at: 2026-03-07T10:01
    text: "Write a note about shed and heating."
    evidence: [t2, t3]
    values: [[Ashdown shed], [8443]]
  - kind: newest
    at: 2026-03-07T10:02
    text: "How warm is the greenhouse at night?"
    evidence: [t3]
    values: [["17 degrees"]]
    outdated: ["14.5"]
  - kind: nothing
    at: 2026-03-07T10:03
    text: "Write a haiku about the sea."
"""


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "toy.yaml").write_text(TOY)
    return tmp_path / "toy.yaml"


def read_changed(toy, old, new):
    toy.write_text(TOY.replace(old, new))
    return read_week(toy)


def test_a_week_is_read_with_values_as_they_are_written(toy):
    week = read_week(toy)

    assert week.chats[0].at == datetime(2026, 3, 2, 8, 40)
    assert [request.kind for request in week.requests] == ["single", "two", "newest", "nothing"]
    assert week.requests[1].values == (("Ashdown shed",), ("8443",))
    assert week.requests[2].outdated == (("14.5",),)


def test_each_turn_is_sent_with_all_that_was_said_before(toy):
    chat, *_, last = read_week(toy).chats

    assert [(len(messages), answer) for messages, answer in chat.turns()] == [(1, "Lettuce and pansies."), (3, "")]
    assert [[message.id for message in messages] for messages, _ in last.turns()] == [["t3"]]


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("evidence: [t2]\n", "evidence: [t9]\n", "request 1 (single): no message of a user has the id t9"),
        ("evidence: [t3]\n", "evidence: [t1]\n", "request 3 (newest): value 1 is not in its evidence"),
        ('["14.5"]', '["15.5"]', "request 3 (newest): outdated value 1 was never said"),
        ("evidence: [t2]\n", "evidence: []\n", "request 1 (single): no evidence"),
        ("kind: nothing", "kind: none", "request 4 (none): no such kind"),
        ("kind: nothing", "kind: rule", "request 4 (rule): values are due, except where nothing is needed"),
        ("id: t3", "id: t1", "the id t1 stands at several messages"),
        ("2026-03-07T10:03", "2026-03-01T10:03", "request 4 comes before the last conversation"),
        ("user: \"thanks", "person: \"thanks", "ValueError"),
        ("at: 2026-03-02", "at: someday", "Invalid isoformat string"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(toy, old, new, mistake):
    with pytest.raises(WeekMistake) as raised:
        read_changed(toy, old, new)

    assert "toy.yaml: " in str(raised.value)
    assert mistake in str(raised.value)


def test_the_kinds_that_a_week_has_another_number_of_are_counted(toy):
    assert miscounted(read_week(toy)) == {
        "single": 1, "two": 1, "newest": 1, "preference": 0, "rule": 0, "nothing": 1
    }  # fmt: skip


def test_held_out_weeks_are_read_only_if_asked_for(toy):
    held_out = toy.parent / "held_out"
    held_out.mkdir()
    (held_out / "other.yaml").write_text(TOY.replace("name: toy", "name: other"))

    assert [week.name for week in read_weeks(toy.parent)] == ["toy"]
    assert [week.name for week in read_weeks(toy.parent, held_out=True)] == ["other"]
    with pytest.raises(WeekMistake, match="no weeks in"):
        read_weeks(held_out, held_out=True)


def test_the_weeks_that_come_with_the_project_are_whole():
    files = sorted(WEEKS.rglob("*.yaml"))

    assert {file.name: miscounted(read_week(file)) for file in files} == {file.name: {} for file in files}


# --- scoring ---


def test_requests_are_scored_by_what_they_were_given(toy):
    single, two, newest, nothing = read_week(toy).requests
    given = [
        Given(single, "2026-03-03 user: moved to the ashdown\n  shed"),
        Given(two, "moved to the Ashdown shed"),
        Given(newest, "set to 14.5"),
        Given(nothing, "something"),
    ]

    row = Score(given).row()

    assert row == {
        "needed": 3, "all given": 1, "single": 1, "two": 0, "newest": 0, "preference": 0, "rule": 0, "outdated": 1,
        "tokens": pytest.approx((44 + 25 + 11) / 12), "nothing": 1, "noise": 1, "noise tokens": 9 / 4,
    }  # fmt: skip


def test_an_outdated_value_beside_the_one_in_force_misleads_nobody(toy):
    newest = read_week(toy).requests[2]

    assert Given(newest, "it was 14.5, now 17 degrees").has_all
    assert not Given(newest, "it was 14.5, now 17 degrees").misleads
    assert not Given(newest, "").misleads


def test_nothing_given_where_nothing_is_needed_is_no_noise():
    assert not Given(Request("nothing", datetime(2026, 3, 7), "Hello"), " \n").is_noise


# --- what was injected ---


@pytest.mark.parametrize(
    "contents",
    [
        ["<notes>\nfive\n</notes>", "What time is it?"],
        ["What time is it?\n\n<notes>\nfive\n</notes>"],
        ["<notes>\nfive\n</notes>\n\nWhat time is it?"],
    ],
)
def test_what_a_request_did_not_say_itself_was_injected(contents):
    arrived = {"messages": [{"role": "user", "content": content} for content in contents]}

    assert find_injected(["What time is it?"], arrived) == "<notes>\nfive\n</notes>"


def test_a_request_that_arrives_as_it_was_sent_was_given_nothing():
    assert find_injected(["Hello?"], {"messages": [{"role": "user", "content": "Hello?"}]}) == ""


def test_a_cause_is_named_by_what_was_found_of_what_is_kept():
    why = {"search": "found", "notes": [{"kind": "episode", "id": 1, "why": "given"},
                                        {"kind": "episode", "id": 2, "why": "no room"}]}  # fmt: skip

    assert name_cause(why, set()) == "not kept"
    assert name_cause(why, {("episode", 3)}) == "not found"
    assert name_cause(why, {("episode", 2)}) == "found but not given: no room"
    assert name_cause(why, {("episode", 1)}) == "given without the value"
    assert name_cause({"search": "no answer in time"}, {("episode", 1)}) == "not searched: no answer in time"


@pytest.mark.parametrize("is_held_out", [False, True])
def test_no_words_of_held_out_weeks_are_written_down(toy, is_held_out):
    report = Report(is_held_out)
    single = read_week(toy).requests[0]

    class Anything(FestingerStore):
        def __init__(self):
            pass

    report.note(Anything(), "one store", "toy", 1, Given(single, "the Ashford shed"), "not found")

    [record] = report.requests
    assert (record["missing"], record["cause"]) == (1, "not found")
    assert ("shed" in str(record).casefold()) is not is_held_out


def test_requests_of_applications_are_sent_without_a_stream(tmp_path):
    (tmp_path / "app.jsonl").write_text('{"path": "/api/chat", "body": {"messages": [], "stream": true}}\n')

    assert list(read_applications(tmp_path)) == [("/api/chat", {"messages": [], "stream": False})]
