"""OpenAI's own client: chats, completions, responses, embeddings, models, an upload."""

import base64
from collections.abc import Callable
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.conformance.sides import OFF, Side, adrained, assert_nothing_differs, drained

HELLO = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "what is gnommoweb? <é>"}]
PIXEL = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n").decode()
PARTS = [{"type": "text", "text": "is it gnommoweb?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]
INPUT = [{"type": "input_text", "text": "gnommoweb?"}, {"type": "input_image", "detail": "auto", "image_url": PIXEL}]
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}
FLAT_TOOL = {"type": "function", "name": "look_up", "parameters": SCHEMA, "strict": False}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "snark"}'}}],
}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "a boojum"}


class AgentReply(BaseModel):
    tool_name: str


def chat(client: openai.OpenAI, model: str, messages: Any = HELLO, **more: Any) -> Any:
    answer = client.chat.completions.create(model=model, messages=messages, **more)
    return drained(answer) if more.get("stream") else answer


def complete(client: openai.OpenAI, model: str, **more: Any) -> Any:
    answer = client.completions.create(model=model, prompt="what is gnommoweb?", **more)
    return drained(answer) if more.get("stream") else answer


def respond(client: openai.OpenAI, model: str, given: Any = "what is gnommoweb?", **more: Any) -> Any:
    answer = client.responses.create(model=model, input=given, **more)
    return drained(answer) if more.get("stream") else answer


def put_together(client: openai.OpenAI) -> Any:
    with client.chat.completions.stream(model="tool-call", messages=HELLO, tools=[TOOL]) as stream:
        return stream.get_final_completion()


def raw_headers(client: openai.OpenAI) -> Any:
    answer = client.chat.completions.with_raw_response.create(model="llama3", messages=HELLO)
    return [answer.headers["content-type"], answer.parse()]


CALLS: dict[str, Callable[[openai.OpenAI], Any]] = {
    "chat": lambda client: chat(client, "llama3", temperature=0.5, max_tokens=9, seed=1),
    "chat-stream": lambda client: chat(client, "llama3", stream=True),
    "chat-stream-usage": lambda client: chat(client, "llama3", stream=True, stream_options={"include_usage": True}),
    "chat-tools": lambda client: chat(client, "tool-call", tools=[TOOL]),
    "chat-tools-stream": lambda client: chat(client, "tool-call", tools=[TOOL], stream=True),
    "chat-tools-put-together": put_together,
    "chat-tool-result": lambda client: chat(client, "echo", [*HELLO, CALLED, TOLD]),
    "chat-images": lambda client: chat(client, "echo", [{"role": "user", "content": PARTS}]),
    "chat-json": lambda client: chat(client, "tool-call", response_format={"type": "json_object"}),
    "chat-parse": lambda client: client.chat.completions.parse(
        model="tool-call", messages=HELLO, response_format=AgentReply
    ),
    "chat-reasoning": lambda client: chat(client, "thinker", reasoning_effort="high"),
    "chat-reasoning-stream": lambda client: chat(client, "thinker", stream=True),
    "chat-raw-response": raw_headers,
    "chat-long-lines": lambda client: chat(client, "long-lines", stream=True),
    "completion": lambda client: complete(client, "llama3", suffix="."),
    "completion-stream": lambda client: complete(client, "llama3", stream=True),
    "completion-stream-usage": lambda client: complete(
        client, "llama3", stream=True, stream_options={"include_usage": True}
    ),
    "response": lambda client: respond(client, "llama3", instructions="Be kind."),
    "response-stream": lambda client: respond(client, "llama3", stream=True),
    "response-images": lambda client: respond(client, "echo", [{"role": "user", "content": INPUT}]),
    "response-tools": lambda client: respond(client, "tool-call", tools=[FLAT_TOOL]),
    "response-tools-stream": lambda client: respond(client, "tool-call", tools=[FLAT_TOOL], stream=True),
    "response-reasoning": lambda client: respond(client, "thinker", reasoning={"effort": "low"}),
    "response-reasoning-stream": lambda client: respond(client, "thinker", stream=True),
    "embeddings": lambda client: client.embeddings.create(model="embedder", input=["gnommoweb", "two"]),
    "embeddings-float": lambda client: client.embeddings.create(
        model="embedder", input="gnommoweb", encoding_format="float", dimensions=4
    ),
    "models": lambda client: [model.id for model in client.models.list()],
    "model": lambda client: client.models.retrieve("llama3:latest"),
    "404-model": lambda client: client.models.retrieve("nobody"),
    "404-chat": lambda client: chat(client, "nobody"),
    "404-chat-stream": lambda client: chat(client, "nobody", stream=True),
    "404-upload": lambda client: client.audio.transcriptions.create(model="llama3", file=("a.wav", b"RIFF\r\n\x00")),
    "404-path": lambda client: client.images.generate(prompt="gnommoweb"),
    "400-chat-no-messages": lambda client: chat(client, "llama3", []),
    "400-chat-no-model": lambda client: chat(client, ""),
    "400-embeddings-no-input": lambda client: client.embeddings.create(model="embedder", input=[]),
    "500-chat-stream": lambda client: chat(client, "fail-before", stream=True),
    "500-response": lambda client: respond(client, "fail-before"),
    "503-chat": lambda client: chat(client, "busy"),
    "503-response-stream": lambda client: respond(client, "busy", stream=True),
    "fail-mid": lambda client: chat(client, "fail-mid"),
    "fail-mid-stream": lambda client: chat(client, "fail-mid", stream=True),
    "fail-mid-completion-stream": lambda client: complete(client, "fail-mid", stream=True),
    "fail-mid-response-stream": lambda client: respond(client, "fail-mid", stream=True),
    "no-done-stream": lambda client: chat(client, "no-done", stream=True),
    "no-done-response-stream": lambda client: respond(client, "no-done", stream=True),
    "cut": lambda client: chat(client, "cut"),
    "cut-stream": lambda client: chat(client, "cut", stream=True),
    "cut-response-stream": lambda client: respond(client, "cut", stream=True),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_the_client(direct: Side, festinger: Side, call: Callable[[openai.OpenAI], Any]) -> None:
    def ask(url: str) -> Any:
        how = {"api_key": "none", "default_headers": OFF, "max_retries": 0, "timeout": 10}
        with openai.OpenAI(base_url=f"{url}/v1", **how) as client:
            return call(client)

    assert_nothing_differs(direct, festinger, ask)


async def streamed(client: openai.AsyncOpenAI, model: str) -> Any:
    return await adrained(await client.chat.completions.create(model=model, messages=HELLO, stream=True))


ASYNC_CALLS: dict[str, Callable[[openai.AsyncOpenAI], Any]] = {
    "chat": lambda client: client.chat.completions.create(model="llama3", messages=HELLO),
    "chat-stream": lambda client: streamed(client, "llama3"),
    "response": lambda client: client.responses.create(model="llama3", input="what is gnommoweb?"),
    "404-chat-stream": lambda client: streamed(client, "nobody"),
    "cut-stream": lambda client: streamed(client, "cut"),
}


@pytest.mark.parametrize("call", ASYNC_CALLS.values(), ids=ASYNC_CALLS.keys())
def test_the_asynchronous_client(direct: Side, festinger: Side, call: Callable[[openai.AsyncOpenAI], Any]) -> None:
    async def ask(url: str) -> Any:
        how = {"api_key": "none", "default_headers": OFF, "max_retries": 0, "timeout": 10}
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", **how) as client:
            return await call(client)

    assert_nothing_differs(direct, festinger, ask)
