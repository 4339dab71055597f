"""The places of a prompt, named by the digests of what comes before them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.formats.base import Part, Role, ToolCall
from proxy.formats.prefixes import SIZE, digest_of_part, digest_words
from tests.proxy.threads import thread, thread_of

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


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([Part("assistant", "Yes,  it is.", 1)], ["Yes, it", " is.\n"]),
        ([Part("assistant", "I look.", 1), Part("assistant", "", 2, calls=(ToolCall("ls", {"a": 1}),))],
         ["I look.", "ls", '{"a": 1}']),
        ([Part("assistant", "", 1, calls=(ToolCall("ls", "{no json"),)), Part("tool", "x", 2)], ["ls{no json"]),
        ([Part("user", "so?", 1)], []),
    ],
)  # fmt: skip
def test_an_answer_is_known_by_its_words_and_calls(parts: list[Part], said: list[str]) -> None:
    assert thread_of([Part("user", "ask", 0), *parts]).digest_answer(0) == digest_words(*said)
