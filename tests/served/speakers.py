"""The libraries people use, each as a speaker of one wire format: one question, its answer as a whole or in chunks."""

import asyncio
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

import anthropic
import httpx
import ollama
import openai
from langchain_ollama import ChatOllama, OllamaLLM

HELLO = [{"role": "user", "content": "hello"}]
PLAIN = {"trust_env": False, "verify": False, "timeout": 10}  # no list of authorities to read: all is plain HTTP

Chunks = Iterator[Any]


@dataclass(frozen=True, slots=True)
class Speaker:
    """``stream`` gives the library's chunks and ends its connection when it is closed; ``text`` is what one of them
    says. ``whole`` is the text of an answer that is not streamed."""

    path: str
    stream: Callable[[str, str], Chunks]  # of a server's address and a model
    text: Callable[[Any], str]
    whole: Callable[[str, str], str]


# --- ollama ---


def ollama_client(url: str) -> ollama.Client:
    return ollama.Client(host=url, **PLAIN)


def stream_ollama_chat(url: str, model: str) -> Chunks:
    with ollama_client(url) as client:
        yield from client.chat(model, HELLO, stream=True)


def whole_ollama_chat(url: str, model: str) -> str:
    with ollama_client(url) as client:
        return client.chat(model, HELLO).message.content or ""


def stream_ollama_generate(url: str, model: str) -> Chunks:
    with ollama_client(url) as client:
        yield from client.generate(model, "hello", stream=True)


def whole_ollama_generate(url: str, model: str) -> str:
    with ollama_client(url) as client:
        return client.generate(model, "hello").response


# --- openai ---


@contextmanager
def openai_client(url: str) -> Iterator[openai.OpenAI]:
    with (
        httpx.Client(**PLAIN) as http,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=http) as client,
    ):
        yield client


def stream_openai_chat(url: str, model: str) -> Chunks:
    with openai_client(url) as client:
        yield from client.chat.completions.create(model=model, messages=HELLO, stream=True)


def stream_openai_chat_put_together(url: str, model: str) -> Chunks:
    with openai_client(url) as client, client.chat.completions.stream(model=model, messages=HELLO) as stream:
        yield from stream
        yield stream.get_final_completion()


def whole_openai_chat(url: str, model: str) -> str:
    with openai_client(url) as client:
        return client.chat.completions.create(model=model, messages=HELLO).choices[0].message.content or ""


def stream_openai_completion(url: str, model: str) -> Chunks:
    with openai_client(url) as client:
        yield from client.completions.create(model=model, prompt="hello", stream=True)


def whole_openai_completion(url: str, model: str) -> str:
    with openai_client(url) as client:
        return client.completions.create(model=model, prompt="hello").choices[0].text


def stream_openai_response(url: str, model: str) -> Chunks:
    with openai_client(url) as client:
        yield from client.responses.create(model=model, input="hello", stream=True)


def stream_openai_response_put_together(url: str, model: str) -> Chunks:
    with openai_client(url) as client, client.responses.stream(model=model, input="hello") as stream:
        yield from stream
        yield stream.get_final_response()


def whole_openai_response(url: str, model: str) -> str:
    with openai_client(url) as client:
        return client.responses.create(model=model, input="hello").output_text


# --- anthropic ---


@contextmanager
def anthropic_client(url: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=10) as client:
        yield client


def stream_anthropic(url: str, model: str) -> Chunks:
    with anthropic_client(url) as client:
        yield from client.messages.create(model=model, max_tokens=100, messages=HELLO, stream=True)


def stream_anthropic_put_together(url: str, model: str) -> Chunks:
    with anthropic_client(url) as client, client.messages.stream(model=model, max_tokens=100, messages=HELLO) as stream:
        yield from stream
        yield stream.get_final_message()


def whole_anthropic(url: str, model: str) -> str:
    with anthropic_client(url) as client:
        return client.messages.create(model=model, max_tokens=100, messages=HELLO).content[0].text


# --- litellm ---


@cache
def litellm() -> Any:
    """Imported when it is needed: that takes seconds."""
    with patch.dict(os.environ, LITELLM_LOCAL_MODEL_COST_MAP="True"):  # else it asks the network
        import litellm
    litellm.suppress_debug_info = True
    return litellm


def litellm_speaker(provider: str, path: str) -> Speaker:
    def ask(url: str, model: str, *, stream: bool) -> Any:
        base = f"{url}/v1" if provider == "openai" else url
        how = {"api_key": "none", "timeout": 10, "max_retries": 0, "num_retries": 0}
        return litellm().completion(f"{provider}/{model}", HELLO, api_base=base, stream=stream, **how)

    def stream(url: str, model: str) -> Chunks:
        answer = ask(url, model, stream=True)
        try:
            yield from answer
        except GeneratorExit:
            if hasattr(answer.completion_stream, "close"):  # of OpenAI's; the others end when they are collected
                answer.completion_stream.close()
            del answer
            gc.collect()
            raise

    def whole(url: str, model: str) -> str:
        return ask(url, model, stream=False).choices[0].message.content or ""

    return Speaker(path, stream, text_of_choice, whole)


# --- langchain-ollama ---


@contextmanager
def closing(made: Any) -> Iterator[Any]:
    """LangChain's models never close their connections."""
    try:
        yield made
    finally:
        made._client.close()
        asyncio.run(made._async_client.close())


def stream_langchain_chat(url: str, model: str) -> Chunks:
    with closing(ChatOllama(model=model, base_url=url, client_kwargs=PLAIN)) as made:
        yield from made.stream("hello")


def whole_langchain_chat(url: str, model: str) -> str:
    with closing(ChatOllama(model=model, base_url=url, client_kwargs=PLAIN)) as made:
        return str(made.invoke("hello").content)


def stream_langchain_text(url: str, model: str) -> Chunks:
    with closing(OllamaLLM(model=model, base_url=url, client_kwargs=PLAIN)) as made:
        yield from made.stream("hello")


def whole_langchain_text(url: str, model: str) -> str:
    with closing(OllamaLLM(model=model, base_url=url, client_kwargs=PLAIN)) as made:
        return str(made.invoke("hello"))


# --- what a chunk says ---


def text_of_choice(chunk: Any) -> str:
    choices = chunk.choices
    return (choices[0].delta.content or "") if choices else ""


def text_of_event(event: Any) -> str:
    """Of OpenAI's responses and chats, and of Anthropic's messages."""
    if event.type in ("response.output_text.delta", "content.delta"):
        return str(event.delta)
    if event.type == "content_block_delta":
        return str(getattr(event.delta, "text", ""))
    return ""


def text_put_together(event: Any) -> str:
    """What the library says it was, at the end."""
    if isinstance(event, openai.types.chat.ChatCompletion):
        return event.choices[0].message.content or ""
    if isinstance(event, openai.types.responses.Response):
        return event.output_text
    if isinstance(event, anthropic.types.Message):
        return event.content[0].text
    return ""


SPEAKERS: dict[str, Speaker] = {
    "ollama-chat": Speaker(
        "/api/chat", stream_ollama_chat, lambda chunk: chunk.message.content or "", whole_ollama_chat
    ),
    "ollama-generate": Speaker(
        "/api/generate", stream_ollama_generate, lambda chunk: chunk.response or "", whole_ollama_generate
    ),
    "openai-chat": Speaker("/v1/chat/completions", stream_openai_chat, text_of_choice, whole_openai_chat),
    "openai-chat-put-together": Speaker(
        "/v1/chat/completions", stream_openai_chat_put_together, text_put_together, whole_openai_chat
    ),
    "openai-completion": Speaker(
        "/v1/completions", stream_openai_completion, lambda chunk: chunk.choices[0].text, whole_openai_completion
    ),
    "openai-response": Speaker("/v1/responses", stream_openai_response, text_of_event, whole_openai_response),
    "openai-response-put-together": Speaker(
        "/v1/responses", stream_openai_response_put_together, text_put_together, whole_openai_response
    ),
    "anthropic": Speaker("/v1/messages", stream_anthropic, text_of_event, whole_anthropic),
    "anthropic-put-together": Speaker(
        "/v1/messages", stream_anthropic_put_together, text_put_together, whole_anthropic
    ),
    "litellm-ollama": litellm_speaker("ollama", "/api/generate"),
    "litellm-ollama_chat": litellm_speaker("ollama_chat", "/api/chat"),
    "litellm-openai": litellm_speaker("openai", "/v1/chat/completions"),
    "langchain-chat": Speaker(
        "/api/chat", stream_langchain_chat, lambda chunk: str(chunk.content), whole_langchain_chat
    ),
    "langchain-text": Speaker("/api/generate", stream_langchain_text, str, whole_langchain_text),
}
