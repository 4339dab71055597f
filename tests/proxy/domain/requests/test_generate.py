"""Where the texts of Ollama's ``/api/generate`` are, and where a block goes."""

from typing import Any

import pytest

from proxy.domain.formats.base import Edit, Part
from proxy.domain.formats.ollama import OllamaGenerate
from tests.proxy.domain.requests.edits import B, applied, read, warmed

GENERATE = OllamaGenerate()

FLAT = "### System:\nSYS\n\n### User:\nu1\n\n### Assistant:\na1\n\n### User:\nu2\n\n"


def generate(prompt: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "prompt": prompt, **more}


def test_a_plain_prompt_is_one_text_of_the_user_after_the_system() -> None:
    prompt = read(GENERATE, generate("hi ", system="S"))

    assert prompt.takes_top
    assert prompt.parts == [Part("system", "S", 0), Part("user", "hi ", 1, takes_block=True)]


def test_a_flattened_prompt_is_read_by_its_sections() -> None:
    prompt = read(GENERATE, generate(FLAT, system=""))

    assert prompt.takes_top
    assert prompt.parts == [
        Part("system", "SYS", 0),
        Part("user", "u1", 1, takes_block=True),
        Part("assistant", "a1", 2),
        Part("user", "u2", 3, takes_block=True),
    ]


def test_a_system_beside_a_flattened_prompt_is_said_before_it() -> None:
    prompt = read(GENERATE, generate("### User:\nu\n\n### Assistant:\na", system="S"))

    assert [(part.role, part.text, part.place) for part in prompt.parts] == [
        ("system", "S", 0),
        ("user", "u", 1),
        ("assistant", "a", 2),
    ]


def test_a_header_inside_a_line_begins_no_section() -> None:
    prompt = read(GENERATE, generate("### User:\nsay ### User:\nx\n\n### User: y\n#### User:\nz"))

    assert [part.text for part in prompt.parts] == ["say ### User:\nx\n\n### User: y\n#### User:\nz"]


def test_sections_without_text_are_parts_too_but_take_no_block() -> None:
    prompt = read(GENERATE, generate("### System:\n### User:\n### User:\nu\n\n### Assistant:\n"))

    assert prompt.parts == [
        Part("system", "", 0),
        Part("user", "", 1),
        Part("user", "u", 2, takes_block=True),
        Part("assistant", "", 3),
    ]


@pytest.mark.parametrize(
    "payload",
    [
        {},
        generate(""),
        generate(None),
        generate(["hi"]),
        generate("hi", raw=True),
        generate("def f(", suffix="return"),
        generate("hi", template="{{ .Prompt }}"),
        generate("hi", system=["S"]),
    ],
)
def test_a_generate_that_is_no_plain_prompt_is_left_alone(payload: dict[str, Any]) -> None:
    assert GENERATE.read(payload) is None


def test_a_generate_is_answered_as_a_stream_unless_it_says_otherwise() -> None:
    assert read(GENERATE, generate("hi")).is_stream
    assert not read(GENERATE, generate(FLAT, stream=False)).is_stream


@pytest.mark.parametrize("prompt", ["hi", FLAT])
def test_the_top_comes_before_the_system(prompt: str) -> None:
    payload = generate(prompt, system="S", raw=False)

    assert applied(GENERATE, payload, Edit(B)) == payload | {"system": B + "\n\nS"}


def test_in_a_flattened_prompt_the_top_stands_inside_the_system_section() -> None:
    assert applied(GENERATE, generate(FLAT), Edit(B)) == generate(FLAT.replace("SYS", B + "\n\nSYS"))


def test_the_tail_of_a_plain_prompt_comes_before_the_white_space_at_its_end() -> None:
    assert applied(GENERATE, generate("hi \n"), Edit(tails={0: B})) == generate(f"hi\n\n{B} \n")


def test_the_tail_of_a_plain_prompt_is_that_of_the_part_after_the_system() -> None:
    payload = generate("hi", system="S")

    assert applied(GENERATE, payload, Edit(tails={1: B})) == payload | {"prompt": f"hi\n\n{B}"}


def test_tails_stand_at_the_end_of_their_sections() -> None:
    changed = applied(GENERATE, generate(FLAT), Edit(B, {1: "one", 3: "two"}))

    assert changed["prompt"] == (
        f"### System:\n{B}\n\nSYS\n\n### User:\nu1\n\none\n\n### Assistant:\na1\n\n### User:\nu2\n\ntwo\n\n"
    )


def test_the_sections_of_a_prompt_with_a_system_beside_it_are_counted_after_that() -> None:
    payload = generate("### User:\nu1\n\n### Assistant:\na1\n\n### User:\nu2\n\n", system="S")

    changed = applied(GENERATE, payload, Edit("", {3: B}, frozenset({1, 2})))

    assert changed == generate(f"### User:\nu2\n\n{B}\n\n", system="S")


def test_what_is_taken_out_is_gone_with_its_header() -> None:
    changed = applied(GENERATE, generate(FLAT), Edit(without=frozenset({1, 2})))

    assert changed == generate("### System:\nSYS\n\n### User:\nu2\n\n")


def test_warming_raises_the_temperature_among_the_options() -> None:
    payload = generate("hi", options={"num_ctx": 9})

    payload = warmed(GENERATE, payload, by=0.3)

    assert payload == generate("hi", options={"num_ctx": 9, "temperature": 1.1, "seed": 7})
