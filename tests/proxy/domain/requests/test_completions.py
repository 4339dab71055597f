"""Where the texts of OpenAI's ``/v1/completions`` are, and where a block goes."""

from typing import Any

import pytest

from proxy.domain.formats.base import Edit, Part
from proxy.domain.formats.openai_chat import OpenAICompletions
from tests.proxy.domain.requests.edits import B, applied, read, warmed

COMPLETIONS = OpenAICompletions()


def completion(prompt: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "prompt": prompt, **more}


def test_a_text_to_be_continued_takes_no_block_at_its_end() -> None:
    prompt = read(COMPLETIONS, completion("Once upon"))

    assert prompt.parts == [Part("user", "Once upon", 0)]
    assert prompt.takes_top
    assert not prompt.is_stream


def test_a_flattened_prompt_is_read_by_its_sections() -> None:
    prompt = read(COMPLETIONS, completion("### User:\nu\n\n### Assistant:\na\n\n", stream=True))

    assert prompt.parts == [Part("user", "u", 0, takes_block=True), Part("assistant", "a", 1)]
    assert not prompt.takes_top
    assert prompt.is_stream


@pytest.mark.parametrize("payload", [{}, completion(""), completion(["a", "b"]), completion("f(", suffix=")")])
def test_a_completion_that_is_no_plain_prompt_is_left_alone(payload: dict[str, Any]) -> None:
    assert COMPLETIONS.read(payload) is None


def test_the_top_is_the_beginning_of_the_prompt() -> None:
    assert applied(COMPLETIONS, completion("Once upon"), Edit(B)) == completion(f"{B}\n\nOnce upon")


def test_in_a_flattened_prompt_the_top_stands_inside_the_system_section() -> None:
    payload = completion("### System:\nS\n\n### User:\nu\n\n")

    assert applied(COMPLETIONS, payload, Edit(B)) == completion(f"### System:\n{B}\n\nS\n\n### User:\nu\n\n")


def test_tails_and_what_is_taken_out_follow_the_sections() -> None:
    payload = completion("### User:\nu\n\n### Assistant:\na\n\n### User:\nv\n\n", max_tokens=5)

    changed = applied(COMPLETIONS, payload, Edit("", {2: B}, frozenset({0, 1})))

    assert changed == completion(f"### User:\nv\n\n{B}\n\n", max_tokens=5)


@pytest.mark.parametrize(("given", "expected"), [({}, 1.3), ({"temperature": 0}, 0.3), ({"temperature": 2}, 2)])
def test_warming_raises_the_temperature_to_what_the_api_takes(given: dict[str, Any], expected: float) -> None:
    payload = completion("x", **given)

    payload = warmed(COMPLETIONS, payload, by=0.3)

    assert payload == completion("x", temperature=expected, seed=7)
