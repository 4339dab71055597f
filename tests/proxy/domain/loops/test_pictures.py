"""Agents that look at screens: what a picture shows is not compared, so no two count as the same."""

from typing import Any

import pytest

from proxy.domain.config_schema import Detector
from proxy.domain.formats import FORMATS
from proxy.domain.loops import LoopDetector

CLICK = {"x": 10, "y": 20}
PICTURE = "iVBORw0KGgo="


def completions(with_picture: bool) -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": "click", "arguments": '{"x": 10, "y": 20}'}}
    shown = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}] if with_picture else []
    turn = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "clicked"}, *shown]},
    ]
    return {"messages": [{"role": "user", "content": "Buy it."}, *turn * 4]}


def messages(with_picture: bool) -> dict[str, Any]:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    result = [{"type": "text", "text": "clicked"}, *([picture] if with_picture else [])]
    turn = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "click", "input": CLICK}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": result}]},
    ]
    return {"messages": [{"role": "user", "content": "Buy it."}, *turn * 4]}


def beside(with_picture: bool) -> dict[str, Any]:
    payload = messages(with_picture=False)
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    for message in payload["messages"][2::2]:
        message["content"] = [*message["content"], *([picture] if with_picture else [])]
    return payload


def chat(with_picture: bool) -> dict[str, Any]:
    turn = [
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "click", "arguments": CLICK}}]},
        {"role": "tool", "content": "clicked", **({"images": [PICTURE]} if with_picture else {})},
    ]
    return {"messages": [{"role": "user", "content": "Buy it."}, *turn * 4]}


def responses(with_picture: bool) -> dict[str, Any]:
    shown = [{"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}] if with_picture else []
    turn = [
        {"type": "function_call", "call_id": "c", "name": "click", "arguments": '{"x": 10, "y": 20}'},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "clicked"}, *shown]},
    ]
    return {"input": [{"role": "user", "content": "Buy it."}, *turn * 4]}


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("/v1/chat/completions", completions),
        ("/v1/messages", messages),
        ("/v1/messages", beside),
        ("/api/chat", chat),
        ("/v1/responses", responses),
    ],
)
def test_the_same_click_is_a_loop_only_where_no_picture_follows(path, made):
    def verdict(with_picture: bool) -> Any:
        prompt = FORMATS[path].read(made(with_picture))
        assert prompt is not None
        return LoopDetector().find_loop(prompt.parts, Detector())

    assert verdict(with_picture=False).count == 4
    assert verdict(with_picture=True) is None
