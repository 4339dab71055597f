"""Ollama's own client, plain and asynchronous."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ollama
import pytest

from tests.conformance.sides import OFF, Side, adrained, assert_nothing_differs, drained

HELLO = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "what is gnommoweb? <é>"}]
PIXEL = b"\x89PNG\r\n"
SEEN = [{"role": "user", "content": "what is this?", "images": [PIXEL]}]
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"type": "function", "function": {"name": "look_up", "description": "a gnommoweb", "parameters": SCHEMA}}
CALLED = {"role": "assistant", "tool_calls": [{"function": {"name": "look_up", "arguments": {"word": "snark"}}}]}
TOLD = {"role": "tool", "tool_name": "look_up", "content": "a boojum"}
WEIGHTS = Path(__file__)  # any file is a blob

CALLS: dict[str, Callable[[ollama.Client], Any]] = {
    "list": lambda client: client.list(),
    "show": lambda client: client.show("system-model"),
    "ps": lambda client: client.ps(),
    "chat": lambda client: client.chat("llama3", HELLO, options={"temperature": 0.5, "num_ctx": 2048}),
    "chat-stream": lambda client: drained(client.chat("llama3", HELLO, stream=True)),
    "chat-tools": lambda client: client.chat("tool-call", HELLO, tools=[TOOL]),
    "chat-tools-stream": lambda client: drained(client.chat("tool-call", HELLO, tools=[TOOL], stream=True)),
    "chat-tool-result": lambda client: client.chat("echo", [*HELLO, CALLED, TOLD]),
    "chat-images": lambda client: client.chat("llama3", SEEN),
    "chat-format-json": lambda client: client.chat("tool-call", HELLO, format="json"),
    "chat-format-schema": lambda client: client.chat("tool-call", HELLO, format=SCHEMA),
    "chat-thinking": lambda client: client.chat("thinker", HELLO, think=True),
    "chat-thinking-stream": lambda client: drained(client.chat("thinker", HELLO, think="high", stream=True)),
    "chat-load": lambda client: client.chat("llama3", []),
    "chat-long-lines": lambda client: drained(client.chat("long-lines", HELLO, stream=True)),
    "generate": lambda client: client.generate("llama3", "what is gnommoweb?", system="Be kind."),
    "generate-stream": lambda client: drained(client.generate("llama3", "what is gnommoweb?", stream=True)),
    "generate-images": lambda client: client.generate("llama3", "what is this?", images=[PIXEL]),
    "generate-suffix": lambda client: client.generate("llama3", "def gnommoweb(", suffix="return 1"),
    "generate-raw": lambda client: client.generate("llama3", "[INST] gnommoweb [/INST]", raw=True),
    "generate-context": lambda client: client.generate("llama3", "and gnommoweb?", context=[1, 2, 3]),
    "generate-long-line": lambda client: drained(client.generate("long-lines", "gnommoweb?", stream=True)),
    "generate-unload": lambda client: client.generate("llama3", "", keep_alive=0),
    "embed": lambda client: client.embed("embedder", ["gnommoweb", "two"]),
    "embed-dimensions": lambda client: client.embed("embedder", "gnommoweb", dimensions=4),
    "embeddings": lambda client: client.embeddings("embedder", "gnommoweb"),
    "pull-stream": lambda client: drained(client.pull("new-model", stream=True)),
    "pull": lambda client: client.pull("new-model"),
    "push-stream-missing": lambda client: drained(client.push("nobody", stream=True)),
    "push": lambda client: client.push("llama3"),
    "create-stream": lambda client: drained(client.create("mine", from_="llama3", system="S", stream=True)),
    "create": lambda client: client.create("mine", from_="llama3", system="S"),
    "copy": lambda client: client.copy("llama3", "yours"),
    "copy-missing": lambda client: client.copy("nobody", "yours"),
    "delete": lambda client: [client.copy("llama3", "gone"), client.delete("gone")],
    "delete-missing": lambda client: client.delete("nobody"),
    "create-blob-twice": lambda client: [client.create_blob(WEIGHTS), client.create_blob(WEIGHTS)],
    "404-chat": lambda client: client.chat("nobody", HELLO),
    "404-chat-stream": lambda client: drained(client.chat("nobody", HELLO, stream=True)),
    "404-show": lambda client: client.show("nobody"),
    "400-no-speaker": lambda client: client.chat("embedder", HELLO),
    "400-no-thinker": lambda client: client.chat("llama3", HELLO, think=True),
    "400-raw-with-system": lambda client: client.generate("llama3", "hi", raw=True, system="S"),
    "500-chat": lambda client: client.chat("fail-before", HELLO),
    "500-chat-stream": lambda client: drained(client.chat("fail-before", HELLO, stream=True)),
    "503-chat": lambda client: client.chat("busy", HELLO),
    "503-generate-stream": lambda client: drained(client.generate("busy", "hi", stream=True)),
    "fail-mid": lambda client: client.chat("fail-mid", HELLO),
    "fail-mid-stream": lambda client: drained(client.chat("fail-mid", HELLO, stream=True)),
    "no-done": lambda client: client.chat("no-done", HELLO),
    "no-done-stream": lambda client: drained(client.chat("no-done", HELLO, stream=True)),
    "cut": lambda client: client.chat("cut", HELLO),
    "cut-stream": lambda client: drained(client.chat("cut", HELLO, stream=True)),
    "cut-generate-stream": lambda client: drained(client.generate("cut", "hi", stream=True)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_the_client(direct: Side, festinger: Side, call: Callable[[ollama.Client], Any]) -> None:
    def ask(url: str) -> Any:
        with ollama.Client(host=url, headers=OFF, trust_env=False, timeout=10) as client:
            return call(client)

    assert_nothing_differs(direct, festinger, ask)


async def streamed(client: ollama.AsyncClient, model: str) -> Any:
    return await adrained(await client.chat(model, HELLO, stream=True))


ASYNC_CALLS: dict[str, Callable[[ollama.AsyncClient], Any]] = {
    "list": lambda client: client.list(),
    "chat": lambda client: client.chat("llama3", HELLO),
    "chat-stream": lambda client: streamed(client, "llama3"),
    "chat-tools": lambda client: client.chat("tool-call", HELLO, tools=[TOOL]),
    "embed": lambda client: client.embed("embedder", "gnommoweb"),
    "create-blob": lambda client: client.create_blob(WEIGHTS.parent / "tap.py"),
    "404-chat-stream": lambda client: streamed(client, "nobody"),
    "503-chat": lambda client: client.chat("busy", HELLO),
    "fail-mid-stream": lambda client: streamed(client, "fail-mid"),
    "no-done-stream": lambda client: streamed(client, "no-done"),
    "cut-stream": lambda client: streamed(client, "cut"),
    "long-lines-stream": lambda client: streamed(client, "long-lines"),
}


@pytest.mark.parametrize("call", ASYNC_CALLS.values(), ids=ASYNC_CALLS.keys())
def test_the_asynchronous_client(direct: Side, festinger: Side, call: Callable[[ollama.AsyncClient], Any]) -> None:
    async def ask(url: str) -> Any:
        async with ollama.AsyncClient(host=url, headers=OFF, trust_env=False, timeout=10) as client:
            return await call(client)

    assert_nothing_differs(direct, festinger, ask)
