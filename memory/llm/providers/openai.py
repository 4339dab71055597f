"""Asks OpenAI, and the many servers with its Chat Completions API. Nothing is taken from the environment."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from memory.llm.errors import HttpFailure, no_answer, transport_failure
from memory.llm.types import (
    HEADERS,
    MAX_TOKENS,
    Access,
    Embedded,
    Question,
    Reply,
    error_message_in,
    system_with_schema,
)

SDK = "openai.resources.chat"
NO_KEY = "none"  # self-hosted servers often need none, but the SDK does
SCHEMA, JSON, TEMPERATURE, MAX = "json_schema", "json_object", "temperature", "max_completion_tokens"
# The schema comes late: its messages are the longest, and may quote a request.
SIGNS = (
    (TEMPERATURE, ("temperature",)),
    (MAX, ("max_completion_tokens", "max_tokens")),
    (SCHEMA, ("response_format", "json_schema", "schema", "grammar", "guided", "structured output")),
    (JSON, ("response_format", "json_object")),
)


async def send(access: Access, question: Question, without: frozenset[str]) -> Reply:
    async with connect(access) as client:
        return read(await client.chat.completions.create(**request(access.name, question, without)))


async def embed(access: Access, texts: Sequence[str]) -> Embedded:
    async with connect(access) as client:
        answer = await client.embeddings.create(model=access.name, input=list(texts), encoding_format="float")
    try:
        vectors = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        return Embedded(vectors, answer.usage.prompt_tokens if answer.usage else 0)
    except (AttributeError, TypeError):
        raise no_answer(answer) from None


@asynccontextmanager
async def connect(access: Access) -> AsyncIterator[Any]:
    """Yield the SDK's client. Raises HttpFailure for errors within the block."""
    import httpx
    import openai

    async with httpx.AsyncClient(trust_env=False) as http:
        client = openai.AsyncOpenAI(
            api_key=access.key or NO_KEY,
            admin_api_key="",
            base_url=access.url,
            timeout=None,
            max_retries=0,
            http_client=http,
        )
        client.organization = client.project = None
        client._custom_headers = HEADERS  # drops those of OPENAI_CUSTOM_HEADERS
        try:
            yield client
        except openai.APIStatusError as error:
            message = error_message_in(error.body, error.message)
            headers = dict(error.response.headers)
            raise HttpFailure(error.status_code, f"{message} {error.code or ''}".strip(), headers) from None
        except openai.APIError as error:
            raise transport_failure(error) from None


def request(name: str, question: Question, without: frozenset[str]) -> dict[str, Any]:
    # Not all servers accept all options: the newest models refuse a temperature, older servers do not know
    # ``max_completion_tokens``, or no schema.
    body: dict[str, Any] = {
        "model": name,
        "messages": [
            {"role": "system", "content": system_with_schema(question) if SCHEMA in without else question.system},
            {"role": "user", "content": question.prompt},
        ],
        "max_tokens" if MAX in without else MAX: MAX_TOKENS,
    }
    if TEMPERATURE not in without:
        body[TEMPERATURE] = 0
    if SCHEMA not in without:
        schema = {"name": "answer", "strict": True, "schema": question.schema}
        body["response_format"] = {"type": SCHEMA, SCHEMA: schema}
    elif JSON not in without:
        body["response_format"] = {"type": JSON}
    return body


def read(completion: Any) -> Reply:
    try:
        choice = completion.choices[0]
        usage = completion.usage
        read_tokens, written_tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
        text, refusal = choice.message.content or "", choice.message.refusal
    except (AttributeError, TypeError, IndexError):  # the SDK passes on what it cannot read
        raise no_answer(completion) from None
    if refusal or choice.finish_reason == "content_filter":
        return Reply(refusal or text, "refused", read_tokens, written_tokens)
    return Reply(text, "cut" if choice.finish_reason == "length" else "whole", read_tokens, written_tokens)
