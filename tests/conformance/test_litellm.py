"""LiteLLM, its three ways to an Ollama: ollama/ (flattened prompts), ollama_chat/, openai/."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.sides import OFF, Side, adrained, drained, nothing_differs, plain

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
PROVIDERS = ("ollama", "ollama_chat", "openai")
DETAILS = ("/api/show",)  # a thread of LiteLLM's asks for the model's details when it gets to it
OWN = ("id", "created")  # made by LiteLLM, new each time


class Client:
    """LiteLLM at one server, by one of its providers."""

    def __init__(self, litellm: Any, provider: str, url: str) -> None:
        self.litellm = litellm
        self._provider = provider
        self._how = {"api_key": "none", "extra_headers": OFF, "timeout": 10, "max_retries": 0, "num_retries": 0}
        self._how["api_base"] = f"{url}/v1" if provider == "openai" else url

    def chat(self, model: str, messages: Any = HELLO, **more: Any) -> Any:
        answer = self.litellm.completion(f"{self._provider}/{model}", messages, **self._how, **more)
        return [told(chunk) for chunk in drained(answer)] if more.get("stream") else told(plain(answer))

    async def achat(self, model: str) -> Any:
        answer = await self.litellm.acompletion(f"{self._provider}/{model}", HELLO, **self._how, stream=True)
        return [told(chunk) for chunk in await adrained(answer)]

    def embed(self, model: str, texts: list[str]) -> Any:
        return plain(self.litellm.embedding(f"{self._provider}/{model}", texts, **self._how))


def told(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key not in OWN}


CALLS: dict[str, Callable[[Client], Any]] = {
    "chat": lambda client: client.chat("llama3", temperature=0.5, max_tokens=9),
    "chat-stream": lambda client: client.chat("llama3", stream=True),
    "chat-async-stream": lambda client: client.achat("llama3"),
    "tools": lambda client: client.chat("tool-call", tools=[TOOL]),
    "tools-stream": lambda client: client.chat("tool-call", tools=[TOOL], stream=True),
    "agent-zero-tool-stream": lambda client: client.chat("tool-call", stream=True),
    "images": lambda client: client.chat("echo", SEEN),
    "json": lambda client: client.chat("tool-call", response_format={"type": "json_object"}),
    "reasoning": lambda client: client.chat("thinker", reasoning_effort="high"),
    "reasoning-stream": lambda client: client.chat("thinker", stream=True),
    "long-lines": lambda client: client.chat("long-lines", stream=True),
    "404": lambda client: client.chat("nobody"),
    "404-stream": lambda client: client.chat("nobody", stream=True),
    "400-no-speaker": lambda client: client.chat("embedder"),
    "500": lambda client: client.chat("fail-before"),
    "500-stream": lambda client: client.chat("fail-before", stream=True),
    "503": lambda client: client.chat("busy"),
    "fail-mid": lambda client: client.chat("fail-mid"),
    "fail-mid-stream": lambda client: client.chat("fail-mid", stream=True),
    "no-done-stream": lambda client: client.chat("no-done", stream=True),
    "cut": lambda client: client.chat("cut"),
    "cut-stream": lambda client: client.chat("cut", stream=True),
}


@pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning")  # Pydantic's, on LiteLLM's own types
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_prompt(litellm: Any, direct: Side, festinger: Side, provider: str, call: Callable[[Client], Any]) -> None:
    nothing_differs(direct, festinger, lambda url: call(Client(litellm, provider, url)), besides=DETAILS)


@pytest.mark.parametrize("provider", ["ollama", "openai"])  # ollama_chat has no embeddings
@pytest.mark.parametrize("model", ["embedder", "nobody"])
def test_embeddings(litellm: Any, direct: Side, festinger: Side, provider: str, model: str) -> None:
    def embed(url: str) -> Any:
        return Client(litellm, provider, url).embed(model, ["gnommoweb", "two"])

    nothing_differs(direct, festinger, embed, besides=DETAILS)
