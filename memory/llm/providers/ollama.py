"""Asks an Ollama by its own API: the upstream unless the model names another."""

from collections.abc import Sequence
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

SDK = "httpx"
SCHEMA, THINK = "format", "think"
SIGNS = ((THINK, (THINK,)), (SCHEMA, (SCHEMA,)))


async def send(access: Access, question: Question, without: frozenset[str]) -> Reply:
    body = await post(access, "/api/chat", request(access, question, without))
    return read(body)


async def embed(access: Access, texts: Sequence[str]) -> Embedded:
    body = await post(access, "/api/embed", {"model": access.name, "input": list(texts), "truncate": True})
    try:
        return Embedded(body["embeddings"], body.get("prompt_eval_count", 0))
    except (AttributeError, TypeError, KeyError):
        raise no_answer(body) from None


async def post(access: Access, path: str, content: dict[str, Any]) -> Any:
    """Return the body of the answer. Raises HttpFailure."""
    import httpx

    headers = HEADERS | ({"Authorization": f"Bearer {access.key}"} if access.key else {})
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=None) as http:
            response = await http.post(f"{access.url}{path}", json=content, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise transport_failure(error) from None
    try:
        body = response.json()
    except ValueError:
        body = response.text
    if not response.is_success:
        message = error_message_in(body, f"status {response.status_code}")
        raise HttpFailure(response.status_code, message, dict(response.headers))
    return body


def request(access: Access, question: Question, without: frozenset[str]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": access.name,
        "messages": [
            {"role": "system", "content": system_with_schema(question)},
            {"role": "user", "content": question.prompt},
        ],
        "stream": False,
        "format": "json" if SCHEMA in without else question.schema,
        "options": {**access.options, "temperature": 0, "num_predict": MAX_TOKENS},
    }
    if access.keep_alive is not None:
        body["keep_alive"] = access.keep_alive
    if THINK not in without:
        body[THINK] = False  # the schema has a field for its reasoning
    return body


def read(body: Any) -> Reply:
    try:
        text, reason = body["message"]["content"], body.get("done_reason")
        read_tokens, written_tokens = body.get("prompt_eval_count", 0), body.get("eval_count", 0)
    except (AttributeError, TypeError, KeyError):
        raise no_answer(body) from None
    return Reply(text, "cut" if reason == "length" else "whole", read_tokens, written_tokens)
