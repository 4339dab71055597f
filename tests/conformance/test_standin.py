"""The stand-in itself, asked by the real clients: the other tests here compare two answers, whatever they say."""

from collections.abc import Callable
from typing import Any

import anthropic
import ollama
import openai
import pytest

from standin.behaviours import SKY
from tests.conformance.sides import Side

pytestmark = pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning")  # Pydantic's

HELLO = [{"role": "user", "content": "hello"}]
THOUGHT = "Why is it blue? Because of the air."
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
FUNCTION = {"name": "look_up", "parameters": SCHEMA}
TOOL = {"type": "function", "function": FUNCTION}


def native(side: Side) -> ollama.Client:
    return ollama.Client(host=side.ollama.url, trust_env=False)


def oai(side: Side) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{side.ollama.url}/v1", api_key="none", max_retries=0)


def claude(side: Side) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=side.ollama.url, api_key="none", max_retries=0)


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
@pytest.mark.parametrize("stream", [True, False])
def test_litellm_reads_answers_whole_and_streamed(litellm: Any, direct: Side, provider: str, stream: bool) -> None:
    answer = litellm.completion(f"{provider}/llama3", HELLO, api_base=direct.ollama.url, stream=stream)

    said = [chunk.choices[0].delta.content for chunk in answer] if stream else [answer.choices[0].message.content]
    assert "".join(part or "" for part in said) == SKY


def test_the_native_api_streams_what_it_says_as_a_whole(direct: Side) -> None:
    with native(direct) as client:
        streamed = list(client.chat("thinker", HELLO, think=True, stream=True))
        whole = client.generate("thinker", "why?", think=True)
        call = client.chat("tool-call", HELLO, tools=[TOOL]).message.tool_calls[0]

    assert "".join(chunk.message.content or "" for chunk in streamed) == whole.response == SKY
    assert "".join(chunk.message.thinking or "" for chunk in streamed) == whole.thinking == THOUGHT
    assert call.function.arguments == {"word": "stand-in"}


def test_chat_and_text_completions_are_put_together(direct: Side) -> None:
    with oai(direct) as client:
        with client.chat.completions.stream(model="tool-call", messages=HELLO, tools=[TOOL]) as stream:
            called = stream.get_final_completion().choices[0]
        chat = list(client.chat.completions.create(model="llama3", messages=HELLO, stream=True))
        text = list(client.completions.create(model="llama3", prompt="why?", stream=True))
        whole = client.completions.create(model="llama3", prompt="why?")

    assert (called.message.tool_calls[0].function.arguments, called.finish_reason) == (
        '{"word":"stand-in"}',
        "tool_calls",
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chat) == SKY
    assert "".join(chunk.choices[0].text for chunk in text) == whole.choices[0].text == SKY


def test_a_streamed_response_is_put_together(direct: Side) -> None:
    with oai(direct) as client:
        with client.responses.stream(model="thinker", input="why?") as stream:
            final = stream.get_final_response()
        tools = [{"type": "function", "strict": False, **FUNCTION}]
        called = client.responses.create(model="tool-call", input="why?", tools=tools)

    assert (final.output[0].summary[0].text, final.output_text) == (THOUGHT, SKY)
    assert (called.output[0].type, called.output[0].arguments) == ("function_call", '{"word":"stand-in"}')


def test_a_streamed_message_is_put_together(direct: Side) -> None:
    asked = {"max_tokens": 99, "messages": HELLO}
    with claude(direct) as client:
        with client.messages.stream(model="thinker", **asked) as stream:
            thought, said = stream.get_final_message().content
        tools = [{"name": "look_up", "input_schema": SCHEMA}]
        with client.messages.stream(model="tool-call", tools=tools, **asked) as stream:
            called = stream.get_final_message()

    assert (thought.thinking, said.text) == (THOUGHT, SKY)
    assert (called.content[0].input, called.stop_reason) == ({"word": "stand-in"}, "tool_use")


REFUSED: dict[str, tuple[Callable[[Side, str], Any], type[Exception]]] = {
    "ollama": (lambda side, model: native(side).chat(model, HELLO), ollama.ResponseError),
    "openai": (lambda side, model: oai(side).chat.completions.create(model=model, messages=HELLO), openai.APIError),
    "anthropic": (
        lambda side, model: claude(side).messages.create(model=model, max_tokens=9, messages=HELLO),
        anthropic.APIError,
    ),
}


@pytest.mark.parametrize(("model", "status"), [("nobody", 404), ("embedder", 400), ("busy", 503), ("fail-before", 500)])
@pytest.mark.parametrize(("ask", "raised"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refusal_has_its_status(
    direct: Side, ask: Callable[[Side, str], Any], raised: type[Exception], model: str, status: int
) -> None:
    with pytest.raises(raised) as caught:
        ask(direct, model)

    assert caught.value.status_code == status
