"""Prompts that bear the marks with which a model tells turns apart."""

import pytest

from proxy.formats import FORMATS
from proxy.formats.base import Edit
from tests.proxy.formats.requests.edits import applied

CHATML = "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
PROMPTS = {
    "ChatML": CHATML,
    "Llama 3": (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
    ),
    "gpt-oss": (
        "<|start|>system<|message|>Be kind.<|end|><|start|>user<|message|>Hello<|end|>"
        "<|start|>assistant<|channel|>final<|message|>"
    ),
    "Granite": (
        "<|start_of_role|>system<|end_of_role|>Be kind.<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>Hello"
        "<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>"
    ),
    "Phi": "<|system|>\nBe kind.<|end|>\n<|user|>\nHello<|end|>\n<|assistant|>\n",
    "turns": "System: Be kind.\nUser: Hello\nAssistant:",
}


@pytest.mark.parametrize("path", ["/api/generate", "/v1/completions"])
@pytest.mark.parametrize("name", PROMPTS)
def test_each_turn_has_its_role(name: str, path: str) -> None:
    prompt = FORMATS[path].read({"model": "m", "prompt": PROMPTS[name]})

    assert prompt is not None
    assert [(part.role, part.text) for part in prompt.parts] == [
        ("system", "Be kind."), ("user", "Hello"), ("assistant", ""),
    ]  # fmt: skip


def test_a_tools_turn_is_a_tools() -> None:
    tool = "<|im_start|>tool\nkvasir is a relay.<|im_end|>\n"
    text = f"<|im_start|>user\nLook.<|im_end|>\n{tool}<|im_start|>assistant\n"
    prompt = FORMATS["/api/generate"].read({"model": "m", "prompt": text})

    assert prompt is not None
    assert [part.role for part in prompt.parts] == ["user", "tool", "assistant"]


def test_instructions_are_the_users_and_what_follows_is_the_models() -> None:
    prompt = FORMATS["/api/generate"].read(
        {"model": "m", "prompt": "<s>[INST] Hello [/INST] Hi.</s>[INST] Go on [/INST]"}
    )

    assert prompt is not None
    assert [(part.role, part.text) for part in prompt.parts] == [
        ("user", "Hello"), ("assistant", "Hi."), ("user", "Go on"), ("assistant", ""),
    ]  # fmt: skip


def test_a_block_stands_within_the_turn() -> None:
    wire = FORMATS["/v1/completions"]
    payload = {"model": "m", "prompt": CHATML}

    told = applied(wire, payload, Edit("TOP", tails={1: "TAIL"}))["prompt"]

    assert told == CHATML.replace("Be kind.", "TOP\n\nBe kind.").replace("Hello", "Hello\n\nTAIL")


@pytest.mark.parametrize(
    "text", ["User: Hello", "I know a user: Ada.\nAssistant: no", "What is <|user|> for?\nNothing."]
)
def test_other_texts_are_one_turn(text: str) -> None:
    prompt = FORMATS["/api/generate"].read({"model": "m", "prompt": text})

    assert prompt is not None
    assert [part.text for part in prompt.parts] == [text]


@pytest.mark.parametrize("name", PROMPTS)
def test_blanks_within_a_turn_take_no_time(name: str) -> None:
    """Were it to grow with their square, this would take hours."""
    text = PROMPTS[name].replace("Hello", "Hello" + " " * 500_000 + "x")

    prompt = FORMATS["/api/generate"].read({"model": "m", "prompt": text})

    assert prompt is not None
    assert len(prompt.parts[1].text) == 500_006
