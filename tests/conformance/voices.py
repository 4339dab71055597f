"""Agents that go in circles, each with another library: the history of one task, with as many rounds of the same call
and the same result as are asked for."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anthropic
import ollama
import openai
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_ollama import ChatOllama, OllamaLLM

from tests.conformance.changed import Put, after, as_item, at_the_flattened_end
from tests.conformance.sides import drained

PATH = {"path": "/nowhere"}
RESULT = "no such folder"
JSON_CALL = '{"thoughts": ["I look."], "tool_name": "look", "tool_args": {"path": "/nowhere"}}'
PLAIN = {"trust_env": False, "timeout": 10}

Messages = list[dict[str, Any]]
Put_Of = Callable[[str], Put]


@dataclass(frozen=True, slots=True)
class Asked:
    """``url`` is a server's address."""

    url: str
    task: str
    rounds: int
    model: str = "llama3"
    stream: bool = False

    def rounds_of(self, *messages: Any) -> list[Any]:
        return [message for _ in range(self.rounds) for message in messages]


@dataclass(frozen=True, slots=True)
class Voice:
    """``say`` gives the text of the answer as the library tells it; ``put_at_end`` is where a note goes."""

    say: Callable[[Asked], str]
    put_at_end: Put_Of


# --- histories ---


def native(asked: Asked) -> Messages:
    called = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": PATH}}]}
    told = {"role": "tool", "tool_name": "look", "content": RESULT}
    return [{"role": "user", "content": asked.task}, *asked.rounds_of(called, told)]


def chat_completions(asked: Asked) -> Messages:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"path": "/nowhere"}'}}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    told = {"role": "tool", "tool_call_id": "c1", "content": RESULT}
    return [{"role": "user", "content": asked.task}, *asked.rounds_of(called, told)]


def responses(asked: Asked) -> Messages:
    called = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"path": "/nowhere"}'}
    told = {"type": "function_call_output", "call_id": "c1", "output": RESULT}
    return [{"role": "user", "content": asked.task}, *asked.rounds_of(called, told)]


def messages(asked: Asked) -> Messages:
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": PATH}]}
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": RESULT}]}
    return [{"role": "user", "content": asked.task}, *asked.rounds_of(called, told)]


def langchain(asked: Asked) -> list[Any]:
    called = AIMessage("", tool_calls=[{"name": "look", "args": PATH, "id": "c1"}])
    return [HumanMessage(asked.task), *asked.rounds_of(called, ToolMessage(RESULT, tool_call_id="c1"))]


def in_text(asked: Asked) -> Messages:
    """As Agent Zero does it."""
    said = [{"role": "assistant", "content": JSON_CALL}, {"role": "user", "content": RESULT}]
    return [{"role": "user", "content": asked.task}, *asked.rounds_of(*said)]


def flattened(asked: Asked) -> str:
    headers = {"user": "### User:", "assistant": "### Assistant:"}
    return "".join(f"{headers[one['role']]}\n{one['content']}\n\n" for one in in_text(asked))


# --- ollama ---


@contextmanager
def ollama_client(asked: Asked) -> Iterator[ollama.Client]:
    with ollama.Client(host=asked.url, **PLAIN) as client:
        yield client


def ollama_chat(asked: Asked) -> str:
    with ollama_client(asked) as client:
        answer = client.chat(asked.model, native(asked), stream=asked.stream)
        return "".join(one.message.content or "" for one in (answer if asked.stream else [answer]))


def ollama_generate(asked: Asked) -> str:
    with ollama_client(asked) as client:
        answer = client.generate(asked.model, flattened(asked), stream=asked.stream)
        return "".join(one.response for one in (answer if asked.stream else [answer]))


# --- openai ---


@contextmanager
def openai_client(asked: Asked) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{asked.url}/v1", api_key="none", max_retries=0, timeout=10) as client:
        yield client


def openai_chat(asked: Asked) -> str:
    with openai_client(asked) as client:
        said: Any = chat_completions(asked)
        if not asked.stream:
            return client.chat.completions.create(model=asked.model, messages=said).choices[0].message.content or ""
        with client.chat.completions.stream(model=asked.model, messages=said) as stream:
            return stream.get_final_completion().choices[0].message.content or ""


def openai_completion(asked: Asked) -> str:
    with openai_client(asked) as client:
        answer: Any = client.completions.create(model=asked.model, prompt=flattened(asked), stream=asked.stream)
        return "".join(one.choices[0].text for one in (answer if asked.stream else [answer]))


def openai_response(asked: Asked) -> str:
    with openai_client(asked) as client:
        given: Any = responses(asked)
        if not asked.stream:
            return client.responses.create(model=asked.model, input=given).output_text
        with client.responses.stream(model=asked.model, input=given) as stream:
            return stream.get_final_response().output_text


# --- anthropic ---


def anthropic_message(asked: Asked) -> str:
    with anthropic.Anthropic(base_url=asked.url, api_key="none", max_retries=0, timeout=10) as client:
        how: Any = {"model": asked.model, "max_tokens": 100, "messages": messages(asked)}
        if not asked.stream:
            return client.messages.create(**how).content[0].text
        with client.messages.stream(**how) as stream:
            return stream.get_final_text()


# --- langchain-ollama ---


def langchain_chat(asked: Asked) -> str:
    model = ChatOllama(model=asked.model, base_url=asked.url, client_kwargs=PLAIN)
    said = langchain(asked)
    with closing(model):
        return "".join(str(one.content) for one in (model.stream(said) if asked.stream else [model.invoke(said)]))


def langchain_text(asked: Asked) -> str:
    model = OllamaLLM(model=asked.model, base_url=asked.url, client_kwargs=PLAIN)
    prompt = flattened(asked)
    with closing(model):
        return "".join(model.stream(prompt) if asked.stream else [model.invoke(prompt)])


@contextmanager
def closing(model: Any) -> Iterator[None]:
    """LangChain's models never close their connections; the asynchronous one has none here."""
    try:
        yield
    finally:
        model._client.close()


# --- litellm ---


def lite(litellm: Any, provider: str, history: Callable[[Asked], Messages], asked: Asked) -> str:
    how = {"api_base": f"{asked.url}/v1" if provider == "openai" else asked.url, "api_key": "none", "timeout": 10}
    answer = litellm.completion(
        f"{provider}/{asked.model}", history(asked), stream=asked.stream, max_retries=0, num_retries=0, **how
    )
    if asked.stream:
        return "".join(text_of(drained(answer)))
    return answer.choices[0].message.content or ""


def text_of(chunks: Iterable[dict[str, Any]]) -> Iterator[str]:
    for chunk in chunks:
        assert "choices" in chunk, chunk
        yield from ((choice["delta"].get("content") or "") for choice in chunk["choices"])


def after_the_result(note: str) -> Put:
    return after("messages", -1, "content", text=note)


def behind_the_result(note: str) -> Put:
    return as_item("messages", -1, "content", index=-1, item={"type": "text", "text": note})


VOICES = {
    "ollama-chat": Voice(ollama_chat, after_the_result),
    "ollama-generate": Voice(ollama_generate, at_the_flattened_end),
    "openai-chat": Voice(openai_chat, after_the_result),
    "openai-completion": Voice(openai_completion, at_the_flattened_end),
    "openai-response": Voice(openai_response, lambda note: after("input", -1, "output", text=note)),
    "anthropic": Voice(anthropic_message, behind_the_result),
    "langchain-chat": Voice(langchain_chat, after_the_result),
    "langchain-text": Voice(langchain_text, at_the_flattened_end),
}


def litellms(litellm: Any) -> dict[str, Voice]:
    return {
        "ollama": Voice(partial(lite, litellm, "ollama", in_text), at_the_flattened_end),
        "ollama_chat": Voice(partial(lite, litellm, "ollama_chat", chat_completions), after_the_result),
        "openai": Voice(partial(lite, litellm, "openai", chat_completions), after_the_result),
        "anthropic": Voice(partial(lite, litellm, "anthropic", chat_completions), behind_the_result),
    }
