"""What counts as the same conversation, told by the digests of what prompts begin with."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.domain.types import Message
from memory.learning.reader import digest_message
from proxy.domain.formats.base import Part, Role, ToolCall
from proxy.domain.prefixes import (
    CUTS,
    LINES_MAX,
    LINES_WITHIN,
    SHARED_MIN,
    SIZE,
    Thread,
    cuts_of,
    digest_of_part,
    digests_of_beginnings,
)
from tests.proxy.threads import Said, thread, thread_of


def knows(known: Thread, asked: Thread) -> bool:
    """Whether the conversation that one request began is found for the other."""
    return asked.key in known.all_keys or any(key in known.all_keys for key in asked.shared)


# --- links ---

roles: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant", "tool"])
words = st.text(st.sampled_from("ab \n\ud800é"), max_size=4)
calls = st.sampled_from([(), (ToolCall("a", {}),), (ToolCall("a", {"b": 1}),), (ToolCall("a", {}), ToolCall("a", {}))])
parts = st.builds(Part, role=roles, text=words, place=st.just(0), takes_block=st.booleans(), calls=calls)


@given(st.lists(parts, min_size=1, max_size=5), st.lists(parts, min_size=1, max_size=5))
@example([Part("user", "ab", 0)], [Part("user", "a", 0), Part("user", "b", 0)])
@example([Part("user", "a", 0)], [Part("user", "a", 0, calls=(ToolCall("", {}),))])
def test_links_are_equal_as_far_as_the_beginnings_are(one: list[Part], other: list[Part]) -> None:
    links = zip(thread_of(one).links, thread_of(other).links, strict=False)

    agreed = [a == b for a, b in links]

    assert agreed == [
        [what_is_told(part) for part in one[: end + 1]] == [what_is_told(part) for part in other[: end + 1]]
        for end in range(len(agreed))
    ]


def what_is_told(part: Part) -> object:
    return part.role, part.text, part.calls


def test_each_part_has_a_link() -> None:
    links = thread(("system", "S"), ("user", "a"), ("assistant", "b"), ("user", "a")).links

    assert [len(link) for link in links] == [SIZE] * 4
    assert len(set(links)) == 4


def test_another_model_is_another_conversation() -> None:
    one, other = (thread(("user", "hello"), ("assistant", "yes"), model=model) for model in ("llama3", "qwen3"))

    assert not set(one.links) & set(other.links)
    assert not knows(one, other)


@pytest.mark.parametrize(
    "other",
    [
        (),
        (ToolCall("look", {"path": "/home"}),),
        (ToolCall("look", {"path": "/tmp"}), ToolCall("look", {"path": "/tmp"})),
        (ToolCall("list", {"path": "/tmp"}),),
        (ToolCall("look", '{"path": "/tmp"}'),),
    ],
)
def test_the_calls_of_tools_count(other: tuple[ToolCall, ...]) -> None:
    asked, told = Part("user", "look", 0), Part("user", "so?", 2)
    one = thread_of([asked, Part("assistant", "", 1, calls=(ToolCall("look", {"path": "/tmp"}),)), told])
    two = thread_of([asked, Part("assistant", "", 1, calls=other), told])

    assert [a == b for a, b in zip(one.links, two.links, strict=True)] == [True, False, False]


def test_arguments_of_any_json_have_a_digest() -> None:
    arguments = {"a": [1, 2.5, None, True, {"b": "é"}], "c": -(2**63)}
    part = Part("assistant", "", 0, calls=(ToolCall("look", arguments), ToolCall("look", "{no json")))

    assert len(digest_of_part(part, b"")) == SIZE


@given(st.text(max_size=40), st.lists(st.integers(0, 40)), roles)
def test_a_beginning_has_the_digest_of_a_message_that_ends_there(text: str, ends: list[int], role: Role) -> None:
    ends = sorted(ends)

    found = digests_of_beginnings(Message(role, text), ends)

    assert list(found) == [digest_message(Message(role, text[:end])) for end in ends]


# --- the opening ---


@pytest.mark.parametrize(
    ("said", "opening"),
    [
        ([("user", "a")], 0),
        ([("system", "S"), ("user", "a"), ("assistant", "b")], 1),
        ([("system", "S"), ("system", "T"), ("assistant", "b"), ("user", "a")], 2),
        ([("user", "a"), ("system", "S")], 0),
        ([("system", "S"), ("system", "T")], 1),
    ],
)
def test_the_opening_is_the_first_that_the_system_does_not_say(said: list[Said], opening: int) -> None:
    found = thread(*said)

    assert (found.opening, found.key) == (opening, found.links[opening])


def test_what_follows_the_opening_does_not_tell_conversations() -> None:
    begun = thread(("system", "S"), ("user", "hello"))
    gone_on = thread(("system", "S"), ("user", "hello"), ("assistant", "yes"), ("user", "more"))
    forked = thread(("system", "S"), ("user", "hello"), ("assistant", "no"))

    assert begun.key == gone_on.key == forked.key


@pytest.mark.parametrize("other", [[("system", "T"), ("user", "hello")], [("user", "hello")], [("system", "S")]])
def test_another_beginning_is_another_conversation(other: list[Said]) -> None:
    begun = thread(("system", "S"), ("user", "hello"))

    assert not knows(begun, thread(*other))
    assert not knows(thread(*other), begun)


# --- shared beginnings ---

LONG = "x" * SHARED_MIN


def test_the_tail_of_the_opening_may_be_replaced_if_half_of_it_stays() -> None:
    begun = thread(("system", "S"), ("user", "look at zorb\n\n[EXTRAS]\nzorb1 and\nzorb2"))
    without, other_tail, other = (
        thread(("system", "S"), ("user", text), ("assistant", "yes"), ("user", "more"))
        for text in ("look at zorb", "look at zorb\n\n[EXTRAS]\nzorb3", "look at plumbus\n\n[EXTRAS]\nzorb1 and\nzorb2")
    )

    assert knows(begun, without)
    assert knows(begun, other_tail)
    assert not knows(begun, other)


def test_less_than_half_of_the_opening_is_another_conversation() -> None:
    begun = thread(("user", "Dear agent,\nlook at zorb now"))
    exactly_half, less = thread(("user", "Dear agent," + "\n" + "a" * 10)), thread(("user", "Dear agent,\n" + "a" * 11))

    assert knows(begun, exactly_half)
    assert not knows(begun, less)


def test_half_of_the_opening_is_nothing_after_another_system_text() -> None:
    begun = thread(("system", "S"), ("user", "look at zorb\nnow"))

    assert not knows(begun, thread(("system", "T"), ("user", "look at zorb\nlater")))


def test_a_long_shared_beginning_is_enough_also_where_it_is_less_than_half_of_the_opening() -> None:
    begun = thread(("user", LONG + "a" * 5_000))

    assert knows(begun, thread(("user", LONG + "b" * 5_000)))
    assert not knows(begun, thread(("user", LONG[:-1] + "b" * 5_001)))


def test_the_system_text_counts_among_the_characters_that_are_shared() -> None:
    begun = thread(("system", LONG[:-4]), ("user", "abc\n" + "a" * 100))

    assert not knows(begun, thread(("system", LONG[:-4]), ("user", "abc\n" + "b" * 100)))  # one is missing
    assert knows(
        thread(("system", LONG[:-3]), ("user", "abc\n" + "a" * 100)),
        thread(("system", LONG[:-3]), ("user", "abc\n" + "b" * 100)),
    )


def test_a_long_system_text_is_enough() -> None:
    begun = thread(("system", LONG), ("user", "hello"))

    assert knows(begun, thread(("system", LONG), ("user", "a sub-agent's task")))
    assert not knows(
        thread(("system", LONG[1:]), ("user", "hello")), thread(("system", LONG[1:]), ("user", "a sub-agent's task"))
    )


@pytest.mark.parametrize("cut", CUTS)
def test_a_long_beginning_of_a_system_text_that_is_rebuilt_is_enough(cut: int) -> None:
    begun = thread(("system", "x" * cut + "It is nine."), ("user", "hello"))

    assert knows(begun, thread(("system", "x" * cut + "It is ten."), ("user", "hello")))
    assert knows(begun, thread(("system", "x" * cut), ("user", "hello")))


def test_the_longest_shared_beginning_comes_first() -> None:
    text = "a" * 20_000
    asked = thread(("system", LONG), ("user", text))
    begun = [thread(("system", LONG), ("user", text[:shared] + "?" * 9_000)) for shared in (0, 1_030, 4_100, 16_390)]

    known_by = [min(asked.shared.index(key) for key in asked.shared if key in other.all_keys) for other in begun]

    assert known_by == [3, 2, 1, 0]


@given(st.integers(0, 3_000), st.integers(0, 3_000), st.integers(0, 3_000))
@example(0, SHARED_MIN, 2_000)
@example(SHARED_MIN - 1, 1, 2_000)
def test_without_lines_only_long_beginnings_are_shared(system: int, agreed: int, rest: int) -> None:
    """Whoever is found does share a system text and half of the opening, or as many characters as are asked for."""
    one, other = (thread(("system", "x" * system), ("user", "y" * agreed + letter * rest)) for letter in ("a", "b"))

    if knows(one, other) and rest:
        assert system + agreed >= SHARED_MIN
    if system >= SHARED_MIN or not rest:
        assert knows(one, other)


# --- cuts ---


def test_lines_end_where_a_rebuilt_tail_may_begin() -> None:
    assert cuts_of("one\n\nthree\n") == [3, 4, 10]
    assert cuts_of("\n\none") == [1]
    assert cuts_of("one") == cuts_of("") == []


def test_the_first_lines_are_told_apart_and_not_those_far_down() -> None:
    assert cuts_of("a\n" * 100) == [2 * line + 1 for line in range(LINES_MAX)]
    assert cuts_of("a" * LINES_WITHIN + "\na") == [SHARED_MIN, LINES_WITHIN]


@given(st.text(st.sampled_from("ab\n"), max_size=60).map(lambda text: text * 40))
def test_cuts_are_few_ascending_and_within_the_text(text: str) -> None:
    found = cuts_of(text)

    assert found == sorted(set(found))
    assert all(0 < end < len(text) for end in found)
    assert len(found) <= LINES_MAX + len(CUTS)
