"""LiteLLM, its ways to an Ollama: ollama/ (flattened prompts), ollama_chat/, and those of OpenAI and Anthropic."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.conformance.lite import Client
from tests.conformance.sides import OFF, Side, nothing_differs

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
PROVIDERS = ("ollama", "ollama_chat", "openai", "anthropic")
DETAILS = ("/api/show",)  # a thread of LiteLLM's asks for the model's details when it gets to it


CALLS: dict[str, Callable[[Client], Any]] = {
    "chat": lambda client: client.chat("llama3", HELLO, temperature=0.5, max_tokens=9),
    "chat-stream": lambda client: client.chat("llama3", HELLO, stream=True),
    "chat-async-stream": lambda client: client.achat("llama3", HELLO),
    "tools": lambda client: client.chat("tool-call", HELLO, tools=[TOOL]),
    "tools-stream": lambda client: client.chat("tool-call", HELLO, tools=[TOOL], stream=True),
    "agent-zero-tool-stream": lambda client: client.chat("tool-call", HELLO, stream=True),
    "images": lambda client: client.chat("echo", SEEN),
    "json": lambda client: client.chat("tool-call", HELLO, response_format={"type": "json_object"}),
    "reasoning": lambda client: client.chat("thinker", HELLO, reasoning_effort="high", drop_params=True),
    "reasoning-stream": lambda client: client.chat("thinker", HELLO, stream=True),
    "long-lines": lambda client: client.chat("long-lines", HELLO, stream=True),
    "404": lambda client: client.chat("nobody", HELLO),
    "404-stream": lambda client: client.chat("nobody", HELLO, stream=True),
    "400-no-speaker": lambda client: client.chat("embedder", HELLO),
    "500": lambda client: client.chat("fail-before", HELLO),
    "500-stream": lambda client: client.chat("fail-before", HELLO, stream=True),
    "503": lambda client: client.chat("busy", HELLO),
    "fail-mid": lambda client: client.chat("fail-mid", HELLO),
    "fail-mid-stream": lambda client: client.chat("fail-mid", HELLO, stream=True),
    "no-done-stream": lambda client: client.chat("no-done", HELLO, stream=True),
    "cut": lambda client: client.chat("cut", HELLO),
    "cut-stream": lambda client: client.chat("cut", HELLO, stream=True),
}
OTHER_CALLS: dict[str, tuple[str, Callable[[Client], Any]]] = {
    f"{name}-{way}": (provider, partial(call, **how))
    for way, how in (
        ("whole", {"model": "llama3"}),
        ("stream", {"model": "llama3", "stream": True}),
        ("404", {"model": "nobody"}),
        ("503-stream", {"model": "busy", "stream": True}),
        ("cut-stream", {"model": "cut", "stream": True}),
    )
    for name, provider, call in (
        ("completion", "text-completion-openai", partial(Client.complete, prompt="what is gnommoweb?")),
        ("generate", "ollama", partial(Client.complete, prompt="what is gnommoweb?")),
        ("response", "openai", partial(Client.respond, given="what is gnommoweb?", instructions="Be kind.")),
    )
}
OTHER_CALLS["response-tools"] = (
    "openai",
    partial(Client.respond, model="tool-call", given="gnommoweb?", tools=[{"type": "function", **TOOL["function"]}]),
)
OTHER_CALLS["message"] = ("anthropic", partial(Client.message, model="llama3", messages=HELLO[1:], system="Be kind."))
OTHER_CALLS["message-404"] = ("anthropic", partial(Client.message, model="nobody", messages=HELLO[1:]))


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_prompt(litellm: Any, direct: Side, festinger: Side, provider: str, call: Callable[[Client], Any]) -> None:
    nothing_differs(direct, festinger, lambda url: call(Client(litellm, provider, url, OFF)), besides=DETAILS)


@pytest.mark.parametrize(("provider", "call"), OTHER_CALLS.values(), ids=OTHER_CALLS.keys())
def test_other_prompts(
    litellm: Any, direct: Side, festinger: Side, provider: str, call: Callable[[Client], Any]
) -> None:
    nothing_differs(direct, festinger, lambda url: call(Client(litellm, provider, url, OFF)), besides=DETAILS)


@pytest.mark.parametrize("provider", ["ollama", "openai"])  # ollama_chat has no embeddings
@pytest.mark.parametrize("model", ["embedder", "nobody"])
def test_embeddings(litellm: Any, direct: Side, festinger: Side, provider: str, model: str) -> None:
    def embed(url: str) -> Any:
        return Client(litellm, provider, url, OFF).embed(model, ["gnommoweb", "two"])

    nothing_differs(direct, festinger, embed, besides=DETAILS)
