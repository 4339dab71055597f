"""With enrichment on, what OpenAI's and Anthropic's clients send arrives with a recollection at its place, and is
otherwise as it was sent: blocks, images, calls, items, marks for caches."""

import base64
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel

from tests.conformance.changed import (
    ANOTHER_BLOCK,
    BLOCK,
    BOTH,
    GAP,
    Put,
    after,
    all_of,
    as_item,
    assert_only_puts,
    before,
    load,
    question,
)
from tests.conformance.sides import Side, adrained, drained

SYSTEM = "Be kind. é"
PIXEL = base64.b64encode(b"\x89PNG\r\n").decode()
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
FORMAT = {"type": "json_schema", "name": "reply", "schema": SCHEMA, "strict": True}
TELLING = "it is at the gnommoweb"
THE_SYSTEMS_MESSAGE = before("messages", 0, "content")
LAST_MESSAGE = after("messages", -1, "content")


@pytest.fixture(scope="module", autouse=True)
def _known(direct: Side, topping: Side) -> None:
    for side in (direct, topping):
        load(side, "llama3", "tool-call", "thinker", "system-model")


@pytest.fixture
def said() -> str:
    return question()


class AgentReply(BaseModel):
    tool_name: str


# --- openai ---


TOOL = {"type": "function", "function": {"name": "look_up", "description": "a <word>", "parameters": SCHEMA}}
FLAT_TOOL = {"type": "function", "name": "look_up", "parameters": SCHEMA, "strict": False}
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "é", "n": 1.0}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": TELLING}
ITEM_CALLED = {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "look_up", "arguments": '{"word": "é"}'}
ITEM_TOLD = {"type": "function_call_output", "call_id": "c1", "output": TELLING}
ITEM_SAID = {
    "type": "message",
    "id": "m1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It is.", "annotations": []}],
}
ITEM_THOUGHT = {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "the snark"}]}


def asked(said: Any, system: Any = SYSTEM, role: str = "system") -> list[dict[str, Any]]:
    return [{"role": role, "content": system}, {"role": "user", "content": said}]


def seen(said: str) -> list[dict[str, Any]]:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}}
    return [{"type": "text", "text": said}, image]


def input_seen(said: str) -> list[dict[str, Any]]:
    image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PIXEL}"}
    return [{"type": "input_text", "text": said}, image]


def chat(client: openai.OpenAI, messages: Any, model: str = "llama3", **more: Any) -> Any:
    answer = client.chat.completions.create(model=model, messages=messages, **more)
    return drained(answer) if more.get("stream") else answer


def respond(client: openai.OpenAI, given: Any, model: str = "llama3", **more: Any) -> Any:
    answer = client.responses.create(model=model, input=given, **more)
    return drained(answer) if more.get("stream") else answer


def complete(client: openai.OpenAI, prompt: str, **more: Any) -> Any:
    answer = client.completions.create(model="llama3", prompt=prompt, **more)
    return drained(answer) if more.get("stream") else answer


def chat_turns(client: openai.OpenAI, said: str) -> Any:
    history = asked(seen(said))
    return chat(client, history), chat(client, [*history, CALLED, TOLD], tools=[TOOL])


def chat_turns_in_blocks(client: openai.OpenAI, said: str) -> Any:
    history = asked(said)
    again = {"role": "user", "content": seen(TELLING)}
    return chat(client, history), chat(client, [*history, {"role": "assistant", "content": "It is."}, again])


def response_turns(client: openai.OpenAI, said: str) -> Any:
    items = [{"role": "user", "content": input_seen(said)}]
    later = [*items, ITEM_THOUGHT, ITEM_SAID, ITEM_CALLED, ITEM_TOLD]
    return [respond(client, given, instructions=SYSTEM, tools=[FLAT_TOOL]) for given in (items, later)]


def put_together(client: openai.OpenAI, said: str) -> Any:
    with client.chat.completions.stream(model="tool-call", messages=asked(said), tools=[TOOL]) as stream:
        return stream.get_final_completion()


async def achat(url: str, said: str) -> Any:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=10) as client:
        return await adrained(
            await client.chat.completions.create(model="llama3", messages=asked(said), stream=True, seed=1)
        )


BLOCK_OF_SYSTEM = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
CHAT_BLOCK = {"type": "text", "text": BLOCK + GAP}
CHAT_TAIL = {"type": "text", "text": GAP + BLOCK}
THROUGH_OPENAI: dict[str, tuple[Callable[[openai.OpenAI, str], Any], list[Put]]] = {
    "chat": (
        lambda client, said: chat(client, asked(said), temperature=0.5, seed=7, max_tokens=9, stop=["END"]),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-stream": (
        lambda client, said: chat(client, asked(said), stream=True, stream_options={"include_usage": True}),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-tools-put-together": (put_together, [THE_SYSTEMS_MESSAGE]),
    "chat-developer": (lambda client, said: chat(client, asked(said, role="developer")), [THE_SYSTEMS_MESSAGE]),
    "chat-system-blocks": (
        lambda client, said: chat(client, asked(said, BLOCK_OF_SYSTEM)),
        [as_item("messages", 0, "content", index=0, item=CHAT_BLOCK)],
    ),
    "chat-json": (
        lambda client, said: chat(client, asked(said), "tool-call", response_format={"type": "json_object"}),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-parse": (
        lambda client, said: client.chat.completions.parse(
            model="tool-call", messages=asked(said), response_format=AgentReply
        ),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-reasoning": (
        lambda client, said: chat(client, asked(said), "thinker", reasoning_effort="high"),
        [THE_SYSTEMS_MESSAGE],
    ),
    "chat-no-system": (lambda client, said: chat(client, asked(said)[1:]), [LAST_MESSAGE]),
    "chat-modelfile": (
        lambda client, said: chat(client, asked(seen(said))[1:], "system-model"),
        [as_item("messages", -1, "content", index=-1, item=CHAT_TAIL)],
    ),
    "chat-turns": (
        chat_turns,
        [THE_SYSTEMS_MESSAGE, before("messages", 0, "content", text=BOTH)],
    ),
    "chat-turns-in-blocks": (
        chat_turns_in_blocks,
        [THE_SYSTEMS_MESSAGE, before("messages", 0, "content", text=BOTH)],
    ),
    "completion": (lambda client, said: complete(client, said, temperature=0.5), [before("prompt")]),
    "completion-stream": (lambda client, said: complete(client, said, stream=True), [before("prompt")]),
    "response": (
        lambda client, said: respond(client, said, instructions=SYSTEM, temperature=0.5, max_output_tokens=99),
        [before("instructions")],
    ),
    "response-stream": (
        lambda client, said: respond(client, said, instructions=SYSTEM, stream=True),
        [before("instructions")],
    ),
    "response-developer": (
        lambda client, said: respond(client, asked(said, role="developer")),
        [before("input", 0, "content")],
    ),
    "response-system-blocks": (
        lambda client, said: respond(client, asked(said, [{"type": "input_text", "text": SYSTEM}])),
        [as_item("input", 0, "content", index=0, item={"type": "input_text", "text": BLOCK + GAP})],
    ),
    "response-schema": (
        lambda client, said: respond(client, asked(said), "tool-call", text={"format": FORMAT}),
        [before("input", 0, "content")],
    ),
    "response-no-system": (lambda client, said: respond(client, said), [after("input")]),
    "response-modelfile": (
        lambda client, said: respond(client, said, "system-model"),
        [after("input")],
    ),
    "response-turns": (
        response_turns,
        [before("instructions"), before("instructions", text=BOTH)],
    ),
}


@pytest.mark.parametrize(("call", "puts"), THROUGH_OPENAI.values(), ids=THROUGH_OPENAI.keys())
def test_openai(
    direct: Side, topping: Side, said: str, call: Callable[[openai.OpenAI, str], Any], puts: list[Put]
) -> None:
    def ask(url: str) -> Any:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=10) as client:
            return call(client, said)

    assert_only_puts(direct, topping, ask, *puts)


SEEN = as_item("messages", 1, "content", index=-1, item=CHAT_TAIL)
INPUT_SEEN = as_item("input", 0, "content", index=-1, item={"type": "input_text", "text": GAP + BLOCK})
# Where it goes by default.
OPENAIS_ENDS: dict[str, list[Put]] = {
    "chat-modelfile": [as_item("messages", -1, "content", index=-1, item=CHAT_TAIL)],
    "chat-turns": [SEEN, all_of(SEEN, after("messages", -1, "content", text=ANOTHER_BLOCK))],
    "chat-turns-in-blocks": [
        after("messages", 1, "content"),
        all_of(
            after("messages", 1, "content"),
            as_item("messages", -1, "content", index=-1, item={"type": "text", "text": GAP + ANOTHER_BLOCK}),
        ),
    ],
    "completion": [before("prompt")],
    "completion-stream": [before("prompt")],
    **{key: [after("input")] for key in ("response", "response-stream", "response-no-system", "response-modelfile")},
    **{
        key: [after("input", -1, "content")]
        for key in ("response-developer", "response-system-blocks", "response-schema")
    },
    "response-turns": [INPUT_SEEN, all_of(INPUT_SEEN, after("input", -1, "output", text=ANOTHER_BLOCK))],
}


@pytest.mark.parametrize("name", THROUGH_OPENAI)
def test_openai_by_default(direct: Side, festinger: Side, said: str, name: str) -> None:
    call, _ = THROUGH_OPENAI[name]

    def ask(url: str) -> Any:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=10) as client:
            return call(client, said)

    assert_only_puts(direct, festinger, ask, *OPENAIS_ENDS.get(name, [LAST_MESSAGE]))


def test_openais_asynchronous_client(direct: Side, festinger: Side, topping: Side, said: str) -> None:
    assert_only_puts(direct, topping, lambda url: achat(url, said), THE_SYSTEMS_MESSAGE)
    assert_only_puts(direct, festinger, lambda url: achat(url, said), LAST_MESSAGE)


# --- anthropic ---

CLAUDES_TOOL = {"name": "look_up", "description": "a <word>", "input_schema": SCHEMA}
SOURCE = {"type": "base64", "media_type": "image/png", "data": PIXEL}
CACHED = {"cache_control": {"type": "ephemeral"}}
USED = [
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"word": "é", "n": 1.0}},
]
RESULT = [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": TELLING}], **CACHED}]
CLAUDES_BLOCK = {"type": "text", "text": BLOCK + GAP}


def message(client: anthropic.Anthropic, content: Any, model: str = "llama3", **more: Any) -> Any:
    messages = [{"role": "user", "content": content}]
    answer = client.messages.create(model=model, max_tokens=100, messages=messages, **more)
    return drained(answer) if more.get("stream") else answer


def shown(said: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": said, **CACHED}, {"type": "image", "source": SOURCE}]


def message_turns(client: anthropic.Anthropic, said: str) -> Any:
    history = [{"role": "user", "content": shown(said)}]
    later = [*history, {"role": "assistant", "content": USED}, {"role": "user", "content": RESULT}]
    how = {"model": "llama3", "max_tokens": 100, "system": [{"type": "text", "text": SYSTEM, **CACHED}]}
    return [client.messages.create(**how, messages=messages, tools=[CLAUDES_TOOL]) for messages in (history, later)]


def message_put_together(client: anthropic.Anthropic, said: str) -> Any:
    asked = [{"role": "user", "content": said}]
    with client.messages.stream(
        model="tool-call", max_tokens=100, system=SYSTEM, messages=asked, tools=[CLAUDES_TOOL]
    ) as stream:
        return stream.get_final_message()


SHOWN = as_item("messages", 0, "content", index=-1, item=CHAT_TAIL)
THROUGH_ANTHROPIC: dict[str, tuple[Callable[[anthropic.Anthropic, str], Any], list[Put]]] = {
    "message": (
        lambda client, said: message(client, said, system=SYSTEM, stop_sequences=["END"], extra_body={"top_k": 7}),
        [before("system")],
    ),
    "stream": (lambda client, said: message(client, said, system=SYSTEM, stream=True), [before("system")]),
    "tools-put-together": (message_put_together, [before("system")]),
    "thinking": (
        lambda client, said: message(
            client, said, "thinker", system=SYSTEM, thinking={"type": "enabled", "budget_tokens": 50}
        ),
        [before("system")],
    ),
    "system-blocks": (
        lambda client, said: message(client, shown(said), system=[{"type": "text", "text": SYSTEM, **CACHED}]),
        [as_item("system", index=0, item=CLAUDES_BLOCK)],
    ),
    "no-system": (lambda client, said: message(client, shown(said)), [SHOWN]),
    "modelfile": (
        lambda client, said: message(client, said, "system-model"),
        [LAST_MESSAGE],
    ),
    "turns": (
        message_turns,
        [
            as_item("system", index=0, item=CLAUDES_BLOCK),
            as_item("system", index=0, item={"type": "text", "text": BOTH + GAP}),
        ],
    ),
}


@pytest.mark.parametrize(("call", "puts"), THROUGH_ANTHROPIC.values(), ids=THROUGH_ANTHROPIC.keys())
def test_anthropic(
    direct: Side, topping: Side, said: str, call: Callable[[anthropic.Anthropic, str], Any], puts: list[Put]
) -> None:
    def ask(url: str) -> Any:
        with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=10) as client:
            return call(client, said)

    assert_only_puts(direct, topping, ask, *puts)


# Where it goes by default.
ANTHROPICS_ENDS: dict[str, list[Put]] = {
    "system-blocks": [SHOWN],
    "no-system": [SHOWN],
    "turns": [
        SHOWN,
        all_of(SHOWN, as_item("messages", -1, "content", index=-1, item={"type": "text", "text": ANOTHER_BLOCK})),
    ],
}


@pytest.mark.parametrize("name", THROUGH_ANTHROPIC)
def test_anthropic_by_default(direct: Side, festinger: Side, said: str, name: str) -> None:
    call, _ = THROUGH_ANTHROPIC[name]

    def ask(url: str) -> Any:
        with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=10) as client:
            return call(client, said)

    assert_only_puts(direct, festinger, ask, *ANTHROPICS_ENDS.get(name, [LAST_MESSAGE]))
