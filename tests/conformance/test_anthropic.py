"""Anthropic's own client: messages."""

import base64
from collections.abc import Callable
from typing import Any

import anthropic
import pytest

from tests.conformance.sides import OFF, Side, adrained, assert_nothing_differs, drained

HELLO = [{"role": "user", "content": "what is gnommoweb? <é>"}]
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOLS = [{"name": "look_up", "description": "looks a gnommoweb up", "input_schema": SCHEMA}]
PIXEL = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG\r\n").decode()}
SEEN = [{"role": "user", "content": [{"type": "text", "text": "gnommoweb?"}, {"type": "image", "source": PIXEL}]}]
SYSTEM = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look_up", "input": {"word": "é"}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a boojum"}]}


def ask(client: anthropic.Anthropic, model: str, messages: Any = HELLO, **more: Any) -> Any:
    answer = client.messages.create(model=model, max_tokens=100, messages=messages, **more)
    return drained(answer) if more.get("stream") else answer


def put_together(client: anthropic.Anthropic) -> Any:
    with client.messages.stream(model="tool-call", max_tokens=100, messages=HELLO, tools=TOOLS) as stream:
        return stream.get_final_message()


CALLS: dict[str, Callable[[anthropic.Anthropic], Any]] = {
    "message": lambda client: ask(client, "llama3", system="Be kind.", stop_sequences=["END"]),
    "message-stream": lambda client: ask(client, "llama3", stream=True),
    "system-blocks": lambda client: ask(client, "echo", system=SYSTEM),
    "tools": lambda client: ask(client, "tool-call", tools=TOOLS),
    "tools-stream": lambda client: ask(client, "tool-call", tools=TOOLS, stream=True),
    "tools-put-together": put_together,
    "tool-result": lambda client: ask(client, "echo", [*HELLO, USED, RESULT], tools=TOOLS),
    "images": lambda client: ask(client, "echo", SEEN),
    "thinking": lambda client: ask(client, "thinker", thinking={"type": "enabled", "budget_tokens": 50}),
    "thinking-stream": lambda client: ask(client, "thinker", stream=True),
    "long-lines": lambda client: ask(client, "long-lines", stream=True),
    "models": lambda client: client.get("/v1/models", cast_to=object),
    "404": lambda client: ask(client, "nobody"),
    "404-stream": lambda client: ask(client, "nobody", stream=True),
    "404-path": lambda client: client.messages.count_tokens(model="llama3", messages=HELLO),
    "400-no-messages": lambda client: ask(client, "llama3", []),
    "400-no-speaker": lambda client: ask(client, "embedder"),
    "500-stream": lambda client: ask(client, "fail-before", stream=True),
    "503": lambda client: ask(client, "busy"),
    "fail-mid": lambda client: ask(client, "fail-mid"),
    "fail-mid-stream": lambda client: ask(client, "fail-mid", stream=True),
    "no-done-stream": lambda client: ask(client, "no-done", stream=True),
    "cut": lambda client: ask(client, "cut"),
    "cut-stream": lambda client: ask(client, "cut", stream=True),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_the_client(direct: Side, festinger: Side, call: Callable[[anthropic.Anthropic], Any]) -> None:
    def ask(url: str) -> Any:
        how = {"api_key": "none", "default_headers": OFF, "max_retries": 0, "timeout": 10}
        with anthropic.Anthropic(base_url=url, **how) as client:
            return call(client)

    assert_nothing_differs(direct, festinger, ask)


async def streamed(client: anthropic.AsyncAnthropic, model: str) -> Any:
    return await adrained(await client.messages.create(model=model, max_tokens=9, messages=HELLO, stream=True))


ASYNC_CALLS: dict[str, Callable[[anthropic.AsyncAnthropic], Any]] = {
    "message": lambda client: client.messages.create(model="llama3", max_tokens=9, messages=HELLO),
    "message-stream": lambda client: streamed(client, "llama3"),
    "503-stream": lambda client: streamed(client, "busy"),
    "cut-stream": lambda client: streamed(client, "cut"),
}


@pytest.mark.parametrize("call", ASYNC_CALLS.values(), ids=ASYNC_CALLS.keys())
def test_the_asynchronous_client(
    direct: Side, festinger: Side, call: Callable[[anthropic.AsyncAnthropic], Any]
) -> None:
    async def ask(url: str) -> Any:
        how = {"api_key": "none", "default_headers": OFF, "max_retries": 0, "timeout": 10}
        async with anthropic.AsyncAnthropic(base_url=url, **how) as client:
            return await call(client)

    assert_nothing_differs(direct, festinger, ask)
