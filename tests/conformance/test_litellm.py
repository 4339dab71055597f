"""LiteLLM, its ways to an Ollama: ollama/ (flattened prompts), ollama_chat/, and those of OpenAI and Anthropic."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.conformance.lite import Client
from tests.conformance.sides import OFF, Side, assert_nothing_differs

pytestmark = [  # Pydantic's, on LiteLLM's own types
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]

HELLO = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "what is gnommoweb? <é>"}]
PIXEL = "data:image/png;base64,iVBORw0KGgo="  # more than its signature LiteLLM does not look at
SEEN = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "gnommoweb?"}, {"type": "image_url", "image_url": {"url": PIXEL}}],
    }
]
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"type": "function", "function": {"name": "look_up", "description": "a gnommoweb", "parameters": SCHEMA}}
DETAILS = ("/api/show",)  # a thread of LiteLLM's asks for the model's details when it gets to it

Call = Callable[[Client], Any]


def chat(model: str, messages: Any = HELLO, **more: Any) -> Call:
    return lambda client: client.chat(model, messages, **more)


# Each provider meets each kind of content and each kind of end, in a stream or as a whole: its code for the one does
# not know of the other.
CALLS: dict[str, tuple[str, Call]] = {
    "chat": ("ollama ollama_chat openai anthropic", chat("llama3", temperature=0.5, max_tokens=9)),
    "chat-stream": ("ollama ollama_chat openai anthropic", chat("llama3", stream=True)),
    "chat-async-stream": ("ollama", lambda client: client.achat("llama3", HELLO)),
    "tools": ("ollama_chat anthropic", chat("tool-call", tools=[TOOL])),
    "tools-stream": ("ollama openai", chat("tool-call", tools=[TOOL], stream=True)),
    "agent-zero-tool-stream": ("ollama", chat("tool-call", stream=True)),
    "images": ("ollama ollama_chat openai anthropic", chat("echo", SEEN)),
    "json": ("ollama openai", chat("tool-call", response_format={"type": "json_object"})),
    "reasoning": (
        "ollama_chat anthropic",
        chat("thinker", reasoning_effort="high", drop_params=True),
    ),
    "reasoning-stream": ("ollama openai", chat("thinker", stream=True)),
    "long-lines": ("ollama_chat anthropic", chat("long-lines", stream=True)),
    "404": ("ollama anthropic", chat("nobody")),
    "404-stream": ("ollama_chat openai", chat("nobody", stream=True)),
    "400-no-speaker": ("ollama_chat", chat("embedder")),
    "500": ("openai", chat("fail-before")),
    "500-stream": ("ollama", chat("fail-before", stream=True)),
    "503": ("anthropic", chat("busy")),
    "fail-mid": ("ollama", chat("fail-mid")),
    "fail-mid-stream": ("anthropic", chat("fail-mid", stream=True)),
    "no-done-stream": ("anthropic", chat("no-done", stream=True)),
    "cut": ("ollama_chat", chat("cut")),
    "cut-stream": ("anthropic", chat("cut", stream=True)),
}
BY_PROVIDER = [
    pytest.param(provider, call, id=f"{name}-{provider}")
    for name, (providers, call) in CALLS.items()
    for provider in providers.split()
]
COMPLETION = "text-completion-openai", partial(Client.complete, prompt="what is gnommoweb?")
GENERATE = "ollama", partial(Client.complete, prompt="what is gnommoweb?")
RESPONSE = "openai", partial(Client.respond, given="what is gnommoweb?", instructions="Be kind.")
OTHER_CALLS: dict[str, tuple[str, Call]] = {
    name: (provider, partial(call, **how))
    for name, (provider, call), how in (
        ("completion", COMPLETION, {"model": "llama3"}),
        ("completion-stream", COMPLETION, {"model": "llama3", "stream": True}),
        ("completion-404", COMPLETION, {"model": "nobody"}),
        ("completion-cut-stream", COMPLETION, {"model": "cut", "stream": True}),
        ("generate", GENERATE, {"model": "llama3"}),
        ("generate-stream", GENERATE, {"model": "llama3", "stream": True}),
        ("generate-503-stream", GENERATE, {"model": "busy", "stream": True}),
        ("response", RESPONSE, {"model": "llama3"}),
        ("response-stream", RESPONSE, {"model": "llama3", "stream": True}),
        ("response-404", RESPONSE, {"model": "nobody"}),
        ("response-503-stream", RESPONSE, {"model": "busy", "stream": True}),
        ("response-cut-stream", RESPONSE, {"model": "cut", "stream": True}),
    )
}
OTHER_CALLS["response-tools"] = (
    "openai",
    partial(Client.respond, model="tool-call", given="gnommoweb?", tools=[{"type": "function", **TOOL["function"]}]),
)
OTHER_CALLS["message"] = ("anthropic", partial(Client.message, model="llama3", messages=HELLO[1:], system="Be kind."))
OTHER_CALLS["message-404"] = ("anthropic", partial(Client.message, model="nobody", messages=HELLO[1:]))


@pytest.mark.parametrize(
    ("provider", "call"),
    [*BY_PROVIDER, *(pytest.param(provider, call, id=name) for name, (provider, call) in OTHER_CALLS.items())],
)
def test_a_prompt(litellm: Any, direct: Side, festinger: Side, provider: str, call: Call) -> None:
    assert_nothing_differs(direct, festinger, lambda url: call(Client(litellm, provider, url, OFF)), besides=DETAILS)


@pytest.mark.parametrize(  # ollama_chat has no embeddings
    ("provider", "model"), [("ollama", "embedder"), ("openai", "embedder"), ("openai", "nobody")]
)
def test_embeddings(litellm: Any, direct: Side, festinger: Side, provider: str, model: str) -> None:
    def embed(url: str) -> Any:
        return Client(litellm, provider, url, OFF).embed(model, ["gnommoweb", "two"])

    assert_nothing_differs(direct, festinger, embed, besides=DETAILS)
