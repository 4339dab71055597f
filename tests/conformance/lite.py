"""LiteLLM at one server, by one of its providers."""

from typing import Any

from tests.conformance.sides import adrained, drained, plain

V1 = ("openai", "text-completion-openai")  # these want /v1 in the address
OWN = ("id", "created")  # made by LiteLLM, new each time

Told = list[dict[str, Any]]


class Client:
    """Each call gives the chunks of its answer, one where it is not streamed."""

    def __init__(self, litellm: Any, provider: str, url: str, headers: dict[str, str] | None = None) -> None:
        self.litellm = litellm
        self._provider = provider
        self._how: dict[str, Any] = {"api_key": "none", "timeout": 10, "max_retries": 0, "num_retries": 0}
        self._how["api_base"] = f"{url}/v1" if provider in V1 else url
        if headers:
            self._how["extra_headers"] = headers

    def chat(self, model: str, messages: Any, **more: Any) -> Told:
        answer = self.litellm.completion(f"{self._provider}/{model}", messages, **self._how, **more)
        return told(answer, is_stream=more.get("stream", False))

    async def achat(self, model: str, messages: Any) -> Told:
        answer = await self.litellm.acompletion(f"{self._provider}/{model}", messages, **self._how, stream=True)
        return [without_own(chunk) for chunk in await adrained(answer)]

    def complete(self, model: str, prompt: str, **more: Any) -> Told:
        answer = self.litellm.text_completion(prompt, f"{self._provider}/{model}", **self._how, **more)
        return told(answer, is_stream=more.get("stream", False))

    def respond(self, model: str, given: Any, **more: Any) -> Told:
        answer = self.litellm.responses(given, f"{self._provider}/{model}", **self._how, **more)
        return told(answer, is_stream=more.get("stream", False))

    async def message(self, model: str, messages: Any, **more: Any) -> Any:
        """Anthropic's format, as LiteLLM passes it on. Its streams are bytes."""
        how = {key: value for key, value in self._how.items() if key not in ("max_retries", "num_retries")}
        answer = await self.litellm.anthropic_messages(
            max_tokens=100, messages=messages, model=f"{self._provider}/{model}", **how, **more
        )
        return await adrained(answer) if more.get("stream") else answer

    def embed(self, model: str, texts: list[str]) -> Any:
        return plain(self.litellm.embedding(f"{self._provider}/{model}", texts, **self._how))


def told(answer: Any, *, is_stream: bool) -> Told:
    return [without_own(chunk) for chunk in (drained(answer) if is_stream else [plain(answer)])]


def without_own(chunk: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in chunk.items() if key not in OWN}
