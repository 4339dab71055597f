"""Where the texts of Ollama's own formats are, and where a block goes."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.messages import Message
from proxy.domain.native import CHAT, GENERATE, sections

B = "<recollection>\nx\n</recollection>"


def chat(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": role, "content": content} for role, content in messages], **more}


def placed(wire: Any, payload: dict[str, Any], system: str | None = "") -> dict[str, Any] | None:
    payload = copy.deepcopy(payload)
    assert wire.read(payload) is not None
    return payload if wire.place(payload, B, system) else None


def test_in_a_chat_the_block_comes_before_the_system_message() -> None:
    assert placed(CHAT, chat(("system", "S"), ("user", "hi"))) == chat(("system", B + "\n\nS"), ("user", "hi"))


def test_a_chat_without_system_gets_one_that_starts_with_the_modelfiles() -> None:
    assert placed(CHAT, chat(("user", "hi")), "You are Mario.") == chat(
        ("system", "You are Mario.\n\n" + B), ("user", "hi")
    )


def test_a_chat_whose_model_has_no_system_gets_the_bare_block() -> None:
    assert placed(CHAT, chat(("user", "hi")), "") == chat(("system", B), ("user", "hi"))


def test_while_the_modelfile_is_unknown_the_block_goes_to_the_tail() -> None:
    assert placed(CHAT, chat(("user", "hi")), None) == chat(("user", "hi\n\n" + B))
    assert placed(CHAT, chat(("user", "u"), ("tool", "t")), None) == chat(("user", "u"), ("tool", "t\n\n" + B))


def test_a_chat_that_ends_with_the_assistant_has_no_tail() -> None:
    assert placed(CHAT, chat(("user", "hi"), ("assistant", "he")), None) is None


@pytest.mark.parametrize(
    "payload",
    [{}, {"messages": []}, {"messages": None}, {"messages": "hi"}, {"messages": [1, None]}, {"messages": [{}]}],
)
def test_a_chat_without_text_is_left_alone(payload: dict[str, Any]) -> None:
    assert CHAT.read(payload) is None


def test_in_generate_the_block_comes_before_the_system() -> None:
    payload = {"model": "m", "prompt": "hi", "system": "S"}

    assert placed(GENERATE, payload) == payload | {"system": B + "\n\nS"}


FLAT = "### System:\nSYS\n\n### User:\nu1\n\n### Assistant:\na1\n\n### User:\nu2\n\n"


def test_in_a_flattened_prompt_the_block_stands_inside_the_system_section() -> None:
    found = placed(GENERATE, {"model": "m", "prompt": FLAT}, None)

    assert found is not None
    assert found["prompt"] == FLAT.replace("SYS", B + "\n\nSYS")


def test_a_flattened_prompt_is_read_by_its_sections() -> None:
    assert sections(FLAT) == [
        Message("system", "SYS"),
        Message("user", "u1"),
        Message("assistant", "a1"),
        Message("user", "u2"),
    ]


def test_a_flattened_prompt_without_system_gets_the_modelfiles() -> None:
    payload = {"model": "m", "prompt": "### User:\nhi\n\n"}

    assert placed(GENERATE, payload, "MARIO") == payload | {"system": "MARIO\n\n" + B}


def test_the_tail_of_a_flattened_prompt_is_the_end_of_its_last_section() -> None:
    payload = {"model": "m", "prompt": "### User:\nhi\n\n"}

    assert placed(GENERATE, payload, None) == {"model": "m", "prompt": f"### User:\nhi\n\n{B}\n\n"}


def test_a_flattened_prompt_that_ends_with_the_assistant_has_no_tail() -> None:
    assert placed(GENERATE, {"model": "m", "prompt": "### User:\nhi\n\n### Assistant:\nhe"}, None) is None


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"prompt": ""},
        {"prompt": None},
        {"prompt": ["hi"]},
        {"prompt": "hi", "raw": True},
        {"prompt": "def f(", "suffix": "return"},
        {"prompt": "hi", "template": "{{ .Prompt }}"},
    ],
)
def test_a_generate_that_is_no_plain_prompt_is_left_alone(payload: dict[str, Any]) -> None:
    assert GENERATE.read(payload) is None


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
keys = st.sampled_from(["model", "messages", "prompt", "system", "raw", "suffix", "template", "x"])
messages = st.lists(
    st.dictionaries(
        st.sampled_from(["role", "content", "x"]), st.one_of(st.sampled_from(["system", "user"]), json_values)
    ),
    max_size=4,
)
payloads = st.dictionaries(keys, st.one_of(json_values, messages, st.just(FLAT)), max_size=6)


@given(payloads, st.one_of(st.none(), st.just(""), st.just("MARIO")))
def test_any_object_is_left_alone_or_gets_the_block_once(payload: dict[str, Any], system: str | None) -> None:
    for wire in (CHAT, GENERATE):
        changed = copy.deepcopy(payload)
        if wire.read(changed) is None:
            continue
        if wire.place(changed, B, system):
            assert repr(changed).count("</recollection>") == 1
        else:
            assert changed == payload
