"""With enrichment on, what clients of Ollama's own API send arrives with a recollection at its place, and is otherwise
as it was sent: by default, and where blocks go before the system text."""

from collections.abc import Callable
from typing import Any

import ollama
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_ollama import ChatOllama, OllamaLLM

from tests.conformance.changed import (
    ANOTHER_BLOCK,
    BOTH,
    Put,
    after,
    all_of,
    assert_only_puts,
    before,
    load,
    question,
)
from tests.conformance.sides import Call, Side, drained

SYSTEM = "Be kind. é"
SYSTEMS = {"role": "system", "content": SYSTEM}
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"type": "function", "function": {"name": "look_up", "description": "a <word>", "parameters": SCHEMA}}
CALLED = {"role": "assistant", "tool_calls": [{"function": {"name": "look_up", "arguments": {"word": "é", "n": 1.0}}}]}
TOLD = {"role": "tool", "tool_name": "look_up", "content": "it is at the gnommoweb"}
PIXEL = b"\x89PNG\r\n"
PIXEL_URL = "data:image/png;base64,iVBORw0KGgo="
OPTIONS = {"temperature": 0.5, "seed": 7, "num_ctx": 2048, "stop": ["END"]}
THE_SYSTEMS_MESSAGE = before("messages", 0, "content")
LAST_MESSAGE = after("messages", -1, "content")


@pytest.fixture(scope="module", autouse=True)
def _known(direct: Side, topping: Side) -> None:
    for side in (direct, topping):
        load(side, "llama3", "tool-call", "thinker", "system-model")


@pytest.fixture
def said() -> str:
    return question()


def user(said: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": said, **more}


# --- ollama ---


def seen_and_used(client: ollama.Client, said: str) -> Any:
    """Two turns: an image, then a tool's result that mentions another concept."""
    history = [SYSTEMS, user(said, images=[PIXEL])]
    first = client.chat("llama3", history)
    return first, client.chat("llama3", [*history, CALLED, TOLD], tools=[TOOL])


THROUGH_OLLAMA: dict[str, tuple[Callable[[ollama.Client, str], Any], list[Put]]] = {
    "chat": (
        lambda client, said: client.chat("llama3", [SYSTEMS, user(said)], options=OPTIONS, keep_alive="5m"),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-stream-tools": (
        lambda client, said: drained(client.chat("tool-call", [SYSTEMS, user(said)], tools=[TOOL], stream=True)),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-json": (
        lambda client, said: client.chat("tool-call", [SYSTEMS, user(said)], format="json"),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-schema": (
        lambda client, said: client.chat("tool-call", [SYSTEMS, user(said)], format=SCHEMA),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-thinking": (
        lambda client, said: drained(client.chat("thinker", [SYSTEMS, user(said)], think=True, stream=True)),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-two-systems": (
        lambda client, said: client.chat("llama3", [SYSTEMS, user(said), {"role": "system", "content": "Be brief."}]),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-turns": (
        seen_and_used,
        [THE_SYSTEMS_MESSAGE, before("messages", 0, "content", text=BOTH)],
    ),
    "chat-no-system": (lambda client, said: client.chat("llama3", [user(said)]), [LAST_MESSAGE]),
    "chat-modelfile": (
        lambda client, said: client.chat("system-model", [user(said)]),
        [LAST_MESSAGE],
    ),
    "generate": (
        lambda client, said: client.generate("llama3", said, system=SYSTEM, images=[PIXEL], options=OPTIONS),
        [before("system")],
    ),
    "generate-stream": (
        lambda client, said: drained(client.generate("llama3", said, system=SYSTEM, format=SCHEMA, stream=True)),
        [before("system")],
    ),
    "generate-context": (
        lambda client, said: client.generate("llama3", said, context=[1, 2, 3]),
        [after("prompt")],
    ),
    "generate-modelfile": (
        lambda client, said: client.generate("system-model", said),
        [after("prompt")],
    ),
}

# Where it goes by default. It is at the end of the last message, and stays there.
TWO_TURNS = [
    after("messages", 1, "content"),
    all_of(after("messages", 1, "content"), after("messages", -1, "content", text=ANOTHER_BLOCK)),
]
OLLAMAS_ENDS: dict[str, list[Put]] = {
    "chat-two-systems": [after("messages", 1, "content")],
    "chat-turns": TWO_TURNS,
    **{key: [after("prompt")] for key in [name for name in THROUGH_OLLAMA if name.startswith("generate")]},
}

# Where the model server fails, with a recollection in the prompt.
FAILING: dict[str, tuple[str, bool]] = {
    "404": ("nobody", False),
    "400-stream": ("embedder", True),
    "500": ("fail-before", False),
    "503-stream": ("busy", True),
    "fail-mid-stream": ("fail-mid", True),
    "no-done-stream": ("no-done", True),
    "cut": ("cut", False),
    "cut-stream": ("cut", True),
}


@pytest.mark.parametrize(("call", "puts"), THROUGH_OLLAMA.values(), ids=THROUGH_OLLAMA.keys())
def test_ollama(
    direct: Side, topping: Side, said: str, call: Callable[[ollama.Client, str], Any], puts: list[Put]
) -> None:
    def ask(url: str) -> Any:
        with ollama.Client(host=url, trust_env=False, timeout=10) as client:
            return call(client, said)

    assert_only_puts(direct, topping, ask, *puts)


@pytest.mark.parametrize("name", THROUGH_OLLAMA)
def test_ollama_by_default(direct: Side, festinger: Side, said: str, name: str) -> None:
    call, _ = THROUGH_OLLAMA[name]

    def ask(url: str) -> Any:
        with ollama.Client(host=url, trust_env=False, timeout=10) as client:
            return call(client, said)

    assert_only_puts(direct, festinger, ask, *OLLAMAS_ENDS.get(name, [LAST_MESSAGE]))


@pytest.mark.parametrize(("model", "stream"), FAILING.values(), ids=FAILING.keys())
def test_ollama_fails_as_it_does_directly(direct: Side, topping: Side, said: str, model: str, stream: bool) -> None:
    def ask(url: str) -> Any:
        with ollama.Client(host=url, trust_env=False, timeout=10) as client:
            answer = client.chat(model, [SYSTEMS, user(said)], stream=stream)
            return drained(answer) if stream else answer

    assert_only_puts(direct, topping, ask, THE_SYSTEMS_MESSAGE)


# --- langchain-ollama ---


def turns(model: ChatOllama, said: str) -> Any:
    history = [SystemMessage(SYSTEM), HumanMessage(said)]
    called = AIMessage("", tool_calls=[{"name": "look_up", "args": {"word": "é"}, "id": "c1"}])
    return model.invoke(history), model.invoke([*history, called, ToolMessage(TOLD["content"], tool_call_id="c1")])


def seen(said: str) -> HumanMessage:
    return HumanMessage([{"type": "text", "text": said}, {"type": "image_url", "image_url": PIXEL_URL}])


THROUGH_LANGCHAIN: dict[str, tuple[Callable[[ChatOllama, str], Any], list[Put]]] = {
    "chat": (lambda model, said: model.invoke([SystemMessage(SYSTEM), HumanMessage(said)]), [THE_SYSTEMS_MESSAGE]),
    "stream": (
        lambda model, said: drained(model.bind_tools([TOOL]).stream([SystemMessage(SYSTEM), HumanMessage(said)])),
        [THE_SYSTEMS_MESSAGE],
    ),
    "image": (lambda model, said: model.invoke([SystemMessage(SYSTEM), seen(said)]), [THE_SYSTEMS_MESSAGE]),
    "no-system": (lambda model, said: model.invoke(said), [LAST_MESSAGE]),
    "turns": (
        turns,
        [THE_SYSTEMS_MESSAGE, before("messages", 0, "content", text=BOTH)],
    ),
}


def through_langchain(call: Callable[[ChatOllama, str], Any], said: str) -> Call:
    async def ask(url: str) -> Any:
        model = ChatOllama(model="llama3", base_url=url, client_kwargs={"trust_env": False}, temperature=0.5, top_k=7)
        try:
            return call(model, said)
        finally:
            model._client.close()
            await model._async_client.close()

    return ask


@pytest.mark.parametrize(("call", "puts"), THROUGH_LANGCHAIN.values(), ids=THROUGH_LANGCHAIN.keys())
def test_langchain(
    direct: Side, topping: Side, said: str, call: Callable[[ChatOllama, str], Any], puts: list[Put]
) -> None:
    assert_only_puts(direct, topping, through_langchain(call, said), *puts)


@pytest.mark.parametrize("name", THROUGH_LANGCHAIN)
def test_langchain_by_default(direct: Side, festinger: Side, said: str, name: str) -> None:
    call, _ = THROUGH_LANGCHAIN[name]

    assert_only_puts(
        direct, festinger, through_langchain(call, said), *(TWO_TURNS if name == "turns" else [LAST_MESSAGE])
    )


def test_langchains_text(direct: Side, festinger: Side, topping: Side, said: str) -> None:
    async def ask(url: str) -> Any:
        model = OllamaLLM(model="llama3", base_url=url, client_kwargs={"trust_env": False})
        try:
            return drained(model.stream(said))
        finally:
            model._client.close()
            await model._async_client.close()

    assert_only_puts(direct, topping, ask, after("prompt"))
    assert_only_puts(direct, festinger, ask, after("prompt"))
