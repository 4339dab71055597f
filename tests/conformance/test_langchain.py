"""langchain-ollama: ChatOllama, OllamaLLM, OllamaEmbeddings."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama, OllamaEmbeddings, OllamaLLM

from tests.conformance.sides import OFF, Side, adrained, assert_nothing_differs, drained

HELLO = [SystemMessage("Be kind."), HumanMessage("what is gnommoweb? <é>")]
PIXEL = "data:image/png;base64,iVBORw0K"
SEEN = [HumanMessage([{"type": "text", "text": "gnommoweb?"}, {"type": "image_url", "image_url": PIXEL}])]
CALLED = AIMessage("", tool_calls=[{"name": "look_up", "args": {"word": "snark"}, "id": "c1"}])
SCHEMA = {"title": "reply", "type": "object", "properties": {"tool_name": {"type": "string"}}}


@tool
def look_up(word: str) -> str:
    """Looks a gnommoweb up."""
    return word


class Made:
    """Makes LangChain's models and closes their connections: they never do."""

    def __init__(self, url: str) -> None:
        self._how = {"base_url": url, "client_kwargs": {"headers": OFF, "trust_env": False, "timeout": 10}}
        self._made: list[Any] = []

    def chat(self, model: str, **more: Any) -> ChatOllama:
        return self._keep(ChatOllama(model=model, **self._how, **more))

    def text(self, model: str) -> OllamaLLM:
        return self._keep(OllamaLLM(model=model, **self._how))

    def embedder(self, model: str) -> OllamaEmbeddings:
        return self._keep(OllamaEmbeddings(model=model, **self._how))

    def _keep(self, model: Any) -> Any:
        self._made.append(model)
        return model

    async def close(self) -> None:
        for model in self._made:
            model._client.close()
            await model._async_client.close()


CALLS: dict[str, Callable[[Made], Any]] = {
    "chat": lambda made: made.chat("llama3", temperature=0.5, num_ctx=2048).invoke(HELLO),
    "chat-stream": lambda made: drained(made.chat("llama3").stream(HELLO)),
    "chat-async": lambda made: made.chat("llama3").ainvoke(HELLO),
    "chat-async-stream": lambda made: adrained(made.chat("llama3").astream(HELLO)),
    "chat-batch": lambda made: made.chat("llama3").batch([HELLO, HELLO], {"max_concurrency": 1}),
    "chat-tools": lambda made: made.chat("tool-call").bind_tools([look_up]).invoke(HELLO),
    "chat-tools-stream": lambda made: drained(made.chat("tool-call").bind_tools([look_up]).stream(HELLO)),
    "chat-tool-result": lambda made: made.chat("echo").invoke([*HELLO, CALLED, ToolMessage("é", tool_call_id="c1")]),
    "chat-images": lambda made: made.chat("echo").invoke(SEEN),
    "chat-json": lambda made: made.chat("tool-call", format="json").invoke(HELLO),
    "chat-structured": lambda made: made.chat("tool-call").with_structured_output(SCHEMA).invoke(HELLO),
    "chat-reasoning": lambda made: made.chat("thinker", reasoning=True).invoke(HELLO),
    "chat-reasoning-stream": lambda made: drained(made.chat("thinker", reasoning=True).stream(HELLO)),
    "chat-long-lines": lambda made: drained(made.chat("long-lines").stream(HELLO)),
    "chat-checked-model": lambda made: made.chat("llama3", validate_model_on_init=True).invoke(HELLO),
    "text": lambda made: made.text("llama3").invoke("what is gnommoweb?"),
    "text-stream": lambda made: drained(made.text("llama3").stream("what is gnommoweb?")),
    "text-long-line": lambda made: made.text("long-lines").invoke("what is gnommoweb?"),
    "embed-query": lambda made: made.embedder("embedder").embed_query("gnommoweb"),
    "embed-documents": lambda made: made.embedder("embedder").embed_documents(["gnommoweb", "b"]),
    "embed-async": lambda made: made.embedder("embedder").aembed_query("gnommoweb"),
    "404": lambda made: made.chat("nobody").invoke(HELLO),
    "404-embed": lambda made: made.embedder("nobody").embed_query("gnommoweb"),
    "400-no-speaker": lambda made: made.chat("embedder").invoke(HELLO),
    "500-stream": lambda made: drained(made.chat("fail-before").stream(HELLO)),
    "503": lambda made: made.chat("busy").invoke(HELLO),
    "503-text": lambda made: made.text("busy").invoke("hi"),
    "fail-mid": lambda made: made.chat("fail-mid").invoke(HELLO),
    "fail-mid-stream": lambda made: drained(made.chat("fail-mid").stream(HELLO)),
    "no-done-stream": lambda made: drained(made.chat("no-done").stream(HELLO)),
    "cut": lambda made: made.chat("cut").invoke(HELLO),
    "cut-stream": lambda made: drained(made.chat("cut").stream(HELLO)),
    "cut-text-stream": lambda made: drained(made.text("cut").stream("hi")),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_the_client(direct: Side, festinger: Side, call: Callable[[Made], Any]) -> None:
    async def ask(url: str) -> Any:
        made = Made(url)
        try:
            result = call(made)
            return await result if inspect.isawaitable(result) else result
        finally:
            await made.close()

    assert_nothing_differs(direct, festinger, ask)
