"""Asks Claude by the Messages API. Nothing is taken from the environment.

The form of the answer is constrained by ``output_config.format``, which all models accept that the pinned SDK knows."""

from typing import Any

from memory.llm.errors import HttpFailure, no_answer, transport_failure
from memory.llm.types import HEADERS, MAX_TOKENS, Access, Ending, Question, Reply, error_message_in, system_with_schema

SDK = "anthropic.resources.messages"
FORMAT = "output_config"
SIGNS = ((FORMAT, (FORMAT, "output_format", "schema", "structured output")),)
ENDINGS: dict[str, Ending] = {"refusal": "refused", "max_tokens": "cut", "model_context_window_exceeded": "cut"}


async def send(access: Access, question: Question, without: frozenset[str]) -> Reply:
    import anthropic
    import httpx2

    async with httpx2.AsyncClient(trust_env=False) as http:
        client = anthropic.AsyncAnthropic(
            api_key=access.key, base_url=access.url, timeout=None, max_retries=0, open_telemetry=False, http_client=http
        )
        client._custom_headers = HEADERS  # drops those of ANTHROPIC_CUSTOM_HEADERS
        try:
            message = await client.messages.create(**request(access.name, question, without))
        except anthropic.APIStatusError as error:
            raise HttpFailure(
                error.status_code, error_message_in(error.body, error.message), dict(error.response.headers)
            ) from None
        except anthropic.APIError as error:
            raise transport_failure(error) from None
    return read(message)


def request(name: str, question: Question, without: frozenset[str]) -> dict[str, Any]:
    is_free = FORMAT in without
    # No temperature: the newer models refuse it. No forced tool call for the form: models with thinking refuse one.
    body: dict[str, Any] = {
        "model": name,
        "max_tokens": MAX_TOKENS,
        "system": system_with_schema(question) if is_free else question.system,
        "messages": [{"role": "user", "content": question.prompt}],
    }
    if not is_free:
        body[FORMAT] = {"format": {"type": "json_schema", "schema": question.schema}}
    return body


def read(message: Any) -> Reply:
    try:
        text = "".join(block.text for block in message.content if block.type == "text")
        usage = message.usage
        cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        return Reply(text, ENDINGS.get(message.stop_reason, "whole"), usage.input_tokens + cached, usage.output_tokens)
    except (AttributeError, TypeError):  # the SDK passes on what it cannot read
        raise no_answer(message) from None
