"""llama-index-llms-ollama, where it is installed. It brings a quarter of a gigabyte with it: nothing here asks for it.

pip install llama-index-llms-ollama"""

import inspect
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from standin.behaviours import SKY
from tests.conformance.changed import (
    ANOTHER_BLOCK,
    GAP,
    LOOP,
    Put,
    after,
    all_of,
    assert_only_differ_in,
    assert_only_puts,
    question,
    task,
)
from tests.conformance.sides import OFF, PROMPTS, Call, Side, adrained, assert_nothing_differs, drained

DETAILS = ("/api/show",)  # it asks for the size of the model's context
PIXEL = b"\x89PNG\r\n\x1a\n"
RESULT = "it is at the gnommoweb"
LAST_MESSAGE = after("messages", -1, "content")


@pytest.fixture(scope="module")
def index() -> SimpleNamespace:
    """The parts of LlamaIndex that are used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = pytest.importorskip("llama_index.llms.ollama", reason="llama-index-llms-ollama is not installed")
        from llama_index.core.base.llms import types
        from llama_index.core.tools import FunctionTool
    return SimpleNamespace(Ollama=made.Ollama, types=types, FunctionTool=FunctionTool)


class Model:
    """One of its models, and how to speak to it."""

    def __init__(self, index: SimpleNamespace, url: str, headers: dict[str, str] | None = None) -> None:
        self._index, self._types = index, index.types
        self._how = {"base_url": url, "headers": headers, "request_timeout": 10, "context_window": 2048}
        self._made: list[Any] = []

    def of(self, name: str, **more: Any) -> Any:
        self._made.append(self._index.Ollama(model=name, **self._how, **more))
        return self._made[-1]

    def said(self, role: str, content: Any) -> Any:
        return self._types.ChatMessage(role=role, content=content)

    def hello(self, text: str = "what is gnommoweb? <é>", system: str = "Be kind. é") -> list[Any]:
        return [self.said("system", system), self.said("user", text)]

    def shown(self, text: str) -> list[Any]:
        blocks = [self._types.TextBlock(text=text), self._types.ImageBlock(image=PIXEL, image_mimetype="image/png")]
        return [self._types.ChatMessage(role="user", blocks=blocks)]

    def called(self, result: str) -> list[Any]:
        call = self._types.ToolCallBlock(tool_name="look_up", tool_kwargs={"word": "é"})
        return [self._types.ChatMessage(role="assistant", blocks=[call]), self.said("tool", result)]

    def tool(self) -> Any:
        def look_up(word: str) -> str:
            """Looks a gnommoweb up."""
            return word

        return self._index.FunctionTool.from_defaults(look_up)

    async def close(self) -> None:
        for made in self._made:
            if made._client is not None:
                made._client._client.close()
            if made._async_client is not None:
                await made._async_client._client.aclose()


Ask = Callable[[Model], Any]


def asking(index: SimpleNamespace, ask: Ask, headers: dict[str, str] | None = None) -> Call:
    async def call(url: str) -> Any:
        model = Model(index, url, headers)
        try:
            result = ask(model)
            return await result if inspect.isawaitable(result) else result
        finally:
            await model.close()

    return call


async def streamed(model: Model) -> Any:
    return await adrained(await model.of("llama3").astream_chat(model.hello()))


CALLS: dict[str, Ask] = {
    "chat": lambda model: model.of("llama3", temperature=0.5).chat(model.hello()),
    "chat-stream": lambda model: drained(model.of("llama3").stream_chat(model.hello())),
    "chat-async": lambda model: model.of("llama3").achat(model.hello()),
    "chat-async-stream": streamed,
    "complete": lambda model: model.of("llama3").complete("what is gnommoweb?"),
    "complete-stream": lambda model: drained(model.of("llama3").stream_complete("what is gnommoweb?")),
    "tools": lambda model: model.of("tool-call").chat_with_tools([model.tool()], "gnommoweb?"),
    "tool-result": lambda model: model.of("echo").chat([*model.hello(), *model.called("a boojum")]),
    "image": lambda model: model.of("echo").chat(model.shown("gnommoweb?")),
    "json": lambda model: model.of("tool-call", json_mode=True).chat(model.hello()),
    "thinking": lambda model: model.of("thinker", thinking=True).chat(model.hello()),
    "thinking-stream": lambda model: drained(model.of("thinker", thinking=True).stream_chat(model.hello())),
    "long-lines": lambda model: drained(model.of("long-lines").stream_chat(model.hello())),
    "404": lambda model: model.of("nobody").chat(model.hello()),
    "500-stream": lambda model: drained(model.of("fail-before").stream_chat(model.hello())),
    "503": lambda model: model.of("busy").chat(model.hello()),
    "fail-mid-stream": lambda model: drained(model.of("fail-mid").stream_chat(model.hello())),
    "no-done-stream": lambda model: drained(model.of("no-done").stream_chat(model.hello())),
    "cut-stream": lambda model: drained(model.of("cut").stream_chat(model.hello())),
}


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS.keys())
def test_with_enrichment_off_nothing_differs(index: SimpleNamespace, direct: Side, festinger: Side, ask: Ask) -> None:
    assert_nothing_differs(direct, festinger, asking(index, ask, OFF), besides=DETAILS)


# --- with recollections ---


@pytest.fixture
def said() -> str:
    return question()


def turns(model: Model, said: str) -> Any:
    history = model.hello(said)
    return [model.of("llama3").chat(given) for given in (history, [*history, *model.called(RESULT)])]


RECALLED: dict[str, tuple[Callable[[Model, str], Any], list[Put]]] = {
    "chat": (lambda model, said: model.of("llama3", temperature=0.5).chat(model.hello(said)), [LAST_MESSAGE]),
    "stream": (lambda model, said: drained(model.of("llama3").stream_chat(model.hello(said))), [LAST_MESSAGE]),
    "image": (lambda model, said: model.of("llama3").chat(model.shown(said)), [LAST_MESSAGE]),
    "modelfile": (
        lambda model, said: model.of("system-model").complete(said),
        [LAST_MESSAGE],
    ),
    "turns": (
        turns,
        [
            LAST_MESSAGE,
            all_of(after("messages", 1, "content"), after("messages", -1, "content", text=ANOTHER_BLOCK)),
        ],
    ),
}


@pytest.mark.parametrize(("ask", "puts"), RECALLED.values(), ids=RECALLED.keys())
def test_a_recollection_is_all_that_changes(
    index: SimpleNamespace,
    direct: Side,
    festinger: Side,
    said: str,
    ask: Callable[[Model, str], Any],
    puts: list[Put],
) -> None:
    assert_only_puts(direct, festinger, asking(index, lambda model: ask(model, said)), *puts)


# --- with a loop ---


def looping(index: SimpleNamespace, rounds: int, *, stream: bool) -> Call:
    """Gives the text of the answer."""
    doing = task()

    def ask(model: Model) -> Any:
        history = [model.said("user", doing)]
        for _ in range(rounds):
            history += model.called("no such folder")
        if not stream:
            return model.of("llama3").chat(history).message.content
        return "".join(chunk.delta for chunk in model.of("llama3").stream_chat(history))

    return asking(index, ask)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_note_is_all_that_changes(index: SimpleNamespace, direct: Side, festinger: Side, stream: bool) -> None:
    call = looping(index, 3, stream=stream)

    here, there = (side.run(call, besides=DETAILS) for side in (direct, festinger))

    (*_, told) = there.requests[-1].json()["messages"]
    note = told["content"].removeprefix("no such folder" + GAP)
    assert (here.outcome, note.startswith("<loop_warning>")) == (SKY, True)
    assert_only_differ_in(here, there, after("messages", -1, "content", text=note), step="note")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_what_festinger_says_for_the_model_is_taken_for_an_answer(
    index: SimpleNamespace, festinger: Side, stream: bool
) -> None:
    seen = festinger.run(looping(index, 6, stream=stream), besides=DETAILS)

    assert [request for request in seen.requests if request.path in PROMPTS] == []
    assert [dict(answer.headers)[LOOP] for answer in seen.answers] == ["break"]
    assert str(seen.outcome).startswith("Festinger has stopped a loop: ")
