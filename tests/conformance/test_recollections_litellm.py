"""With enrichment on, what LiteLLM sends by each of its providers arrives with a recollection at its place, and is
otherwise as it was sent. ``ollama`` is how Agent Zero does it."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

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
    at_the_flattened_end,
    before,
    load,
    question,
    under_the_header,
)
from tests.conformance.lite import Client
from tests.conformance.sides import Side

pytestmark = [  # Pydantic's, on LiteLLM's own types
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]

SYSTEM = {"role": "system", "content": "Be kind. é"}
ANSWERED = {"role": "assistant", "content": '{"tool_name": "x"}'}
TOLD = {"role": "user", "content": "it is at the gnommoweb"}
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"type": "function", "function": {"name": "look_up", "description": "a <word>", "parameters": SCHEMA}}
PIXEL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}

Ask = Callable[[Client, str], Any]


@pytest.fixture(scope="module", autouse=True)
def _known(direct: Side, topping: Side) -> None:
    for side in (direct, topping):
        load(side, "llama3")


@pytest.fixture
def said() -> str:
    return question()


def chat(client: Client, said: str, *, model: str = "llama3", **more: Any) -> Any:
    return client.chat(model, [SYSTEM, {"role": "user", "content": said}], **more)


def shown(client: Client, said: str) -> Any:
    blocks = [{"type": "text", "text": said}, PIXEL]
    return client.chat("llama3", [SYSTEM, {"role": "user", "content": blocks}])


def turns(client: Client, said: str) -> Any:
    history = [SYSTEM, {"role": "user", "content": said}, ANSWERED, TOLD]
    return [client.chat("llama3", history[:turn], stream=True) for turn in (2, 4)]


# By which providers: each puts the recollection at a place of its own, whatever else is in the prompt.
ASKS: dict[str, tuple[str, Ask]] = {
    "whole": ("ollama ollama_chat openai anthropic", chat),
    "stream": ("ollama ollama_chat openai anthropic", partial(chat, stream=True)),
    "options": ("ollama_chat anthropic", partial(chat, temperature=0.5, max_tokens=9, stop=["END"])),
    "tools": ("ollama openai", partial(chat, model="tool-call", tools=[TOOL])),
    "tools-stream": ("ollama_chat anthropic", partial(chat, model="tool-call", tools=[TOOL], stream=True)),
    "json": ("ollama openai", partial(chat, model="tool-call", response_format={"type": "json_object"})),
    "image": ("ollama anthropic", shown),
}
THE_SYSTEMS_MESSAGE = before("messages", 0, "content")
THE_FIRST_BLOCK = as_item("system", index=0, item={"type": "text", "text": BLOCK + GAP})
PUTS: dict[str, Put] = {
    "ollama": under_the_header,
    "ollama_chat": THE_SYSTEMS_MESSAGE,
    "openai": THE_SYSTEMS_MESSAGE,
    "anthropic": THE_FIRST_BLOCK,
}
# Where another recollection goes in the next turn.
TAILS: dict[str, Put] = {
    "ollama": at_the_flattened_end(ANOTHER_BLOCK),
    "ollama_chat": after("messages", -1, "content", text=ANOTHER_BLOCK),
    "openai": after("messages", -1, "content", text=ANOTHER_BLOCK),
    "anthropic": as_item("messages", -1, "content", index=-1, item={"type": "text", "text": GAP + ANOTHER_BLOCK}),
}
# Where the first one goes by default.
ENDS: dict[str, Put] = {
    "ollama": at_the_flattened_end(BLOCK),
    "ollama_chat": after("messages", -1, "content"),
    "openai": after("messages", -1, "content"),
    "anthropic": as_item("messages", -1, "content", index=-1, item={"type": "text", "text": GAP + BLOCK}),
}

each_prompt = pytest.mark.parametrize(
    ("provider", "ask"),
    [
        pytest.param(provider, ask, id=f"{name}-{provider}")
        for name, (providers, ask) in ASKS.items()
        for provider in providers.split()
    ],
)


@each_prompt
def test_a_prompt_by_default(litellm: Any, direct: Side, festinger: Side, said: str, provider: str, ask: Ask) -> None:
    assert_only_puts(direct, festinger, lambda url: ask(Client(litellm, provider, url), said), ENDS[provider])


@each_prompt
def test_a_prompt(litellm: Any, direct: Side, topping: Side, said: str, provider: str, ask: Ask) -> None:
    assert_only_puts(direct, topping, lambda url: ask(Client(litellm, provider, url), said), PUTS[provider])


@pytest.mark.parametrize("provider", PUTS)
def test_two_turns(litellm: Any, direct: Side, topping: Side, said: str, provider: str) -> None:
    assert_only_puts(
        direct,
        topping,
        lambda url: turns(Client(litellm, provider, url), said),
        PUTS[provider],
        with_text(PUTS[provider], BLOCK, BOTH),
    )


def with_text(put: Put, block: str, other: str) -> Put:
    """Puts the other block where the one would go."""

    def put_other(payload: dict[str, Any]) -> None:
        put(payload)
        written = json.dumps(payload).replace(json.dumps(block)[1:-1], json.dumps(other)[1:-1])
        payload.update(json.loads(written))

    return put_other


@pytest.mark.parametrize("provider", ENDS)
def test_two_turns_by_default(litellm: Any, direct: Side, festinger: Side, said: str, provider: str) -> None:
    kept = {
        "ollama": in_its_section(said),
        "anthropic": as_item("messages", 0, "content", index=-1, item={"type": "text", "text": GAP + BLOCK}),
    }.get(provider, after("messages", 1, "content"))

    assert_only_puts(
        direct,
        festinger,
        lambda url: turns(Client(litellm, provider, url), said),
        ENDS[provider],
        all_of(kept, TAILS[provider]),
    )


def in_its_section(said: str) -> Put:
    def put(payload: dict[str, Any]) -> None:
        payload["prompt"] = payload["prompt"].replace(said, said + GAP + BLOCK, 1)

    return put


OTHER: dict[str, tuple[str, Ask, Put]] = {
    "completion": (
        "text-completion-openai",
        lambda client, said: client.complete("llama3", said, stream=True),
        before("prompt"),
    ),
    "generate": (
        "ollama",
        lambda client, said: client.complete("llama3", said),
        after("prompt"),
    ),
    "response": (
        "openai",
        lambda client, said: client.respond("llama3", said, instructions="Be kind.", stream=True),
        before("instructions"),
    ),
    "message": (
        "anthropic",
        lambda client, said: client.message("llama3", [{"role": "user", "content": said}], system="Be kind."),
        before("system"),
    ),
}


@pytest.mark.parametrize(("provider", "ask", "put"), OTHER.values(), ids=OTHER.keys())
def test_other_prompts(litellm: Any, direct: Side, topping: Side, said: str, provider: str, ask: Ask, put: Put) -> None:
    assert_only_puts(direct, topping, lambda url: ask(Client(litellm, provider, url), said), put)


OTHER_ENDS: dict[str, Put] = {
    "completion": before("prompt"),
    "generate": after("prompt"),
    "response": after("input"),
    "message": after("messages", -1, "content"),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_prompts_by_default(litellm: Any, direct: Side, festinger: Side, said: str, name: str) -> None:
    provider, ask, _ = OTHER[name]

    assert_only_puts(direct, festinger, lambda url: ask(Client(litellm, provider, url), said), OTHER_ENDS[name])
