"""What Festinger refuses itself, as the libraries people use tell it."""

from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import ollama
import openai
import pytest

from festinger_site.dev.scratch_instance import free_port
from tests.served.conftest import AWAY, SMALL_BODY
from tests.served.server import Served

PLAIN = {"trust_env": False, "verify": False, "timeout": 10}  # no list of authorities to read: all is plain HTTP
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata:\r\n"

Ask = Callable[[str, str, str], Any]  # takes a server's address, a token and a text; raises what it was told


@pytest.fixture(scope="module")
def token(tokens: dict[str, str]) -> str:
    return tokens["agent"]


# --- the libraries ---


def of_ollama(call: Callable[[ollama.Client, str], Any]) -> Ask:
    def ask(url: str, token: str, text: str) -> Any:
        with ollama.Client(host=url, headers={"Authorization": f"Bearer {token}"}, **PLAIN) as client:
            return call(client, text)

    return ask


def of_openai(call: Callable[[openai.OpenAI, str], Any]) -> Ask:
    def ask(url: str, token: str, text: str) -> Any:
        with (
            httpx.Client(**PLAIN) as http,
            openai.OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0, http_client=http) as client,
        ):
            return call(client, text)

    return ask


def of_anthropic(call: Callable[[anthropic.Anthropic, str], Any]) -> Ask:
    def ask(url: str, token: str, text: str) -> Any:
        with anthropic.Anthropic(base_url=url, auth_token=token, max_retries=0, timeout=10) as client:
            return call(client, text)

    return ask


def said(text: str) -> dict[str, Any]:
    return {"model": "llama3", "messages": [{"role": "user", "content": text}]}


NATIVE: dict[str, Ask] = {
    "chat": of_ollama(lambda client, text: client.chat(**said(text))),
    "chat-stream": of_ollama(lambda client, text: list(client.chat(**said(text), stream=True))),
    "generate": of_ollama(lambda client, text: client.generate("llama3", text)),
}
OPENAI: dict[str, Ask] = {
    "chat": of_openai(lambda client, text: client.chat.completions.create(**said(text))),
    "chat-stream": of_openai(lambda client, text: list(client.chat.completions.create(**said(text), stream=True))),
    "completion": of_openai(lambda client, text: client.completions.create(model="llama3", prompt=text)),
    "response": of_openai(lambda client, text: client.responses.create(model="llama3", input=text)),
    "response-stream": of_openai(lambda client, text: client.responses.create(model="llama3", input=text, stream=True)),
    "embeddings": of_openai(lambda client, text: client.embeddings.create(model="llama3", input=text)),
}
ANTHROPIC: dict[str, Ask] = {
    "message": of_anthropic(lambda client, text: client.messages.create(**said(text), max_tokens=9)),
    "message-stream": of_anthropic(
        lambda client, text: client.messages.create(**said(text), max_tokens=9, stream=True)
    ),
    "count": of_anthropic(lambda client, text: client.messages.count_tokens(**said(text))),
}

WRONG_TOKEN, LONG, GOOD = ("fst_wrong", "hi"), ("", "x" * SMALL_BODY), ("", "hi")
# What is asked with which token (none: a good one) and text; the status, what is told, and how OpenAI and Anthropic
# call it.
REFUSALS = {
    "wrong-token": (WRONG_TOKEN, 401, "this token is not valid", "authentication_error", "authentication_error"),
    "too-large": (LONG, 413, f"larger than {SMALL_BODY} bytes", "invalid_request_error", "request_too_large"),
    "away": (GOOD, 502, f"cannot reach the model server at {AWAY}", "api_error", "api_error"),
}
REFUSED = pytest.mark.parametrize("refused", REFUSALS.values(), ids=REFUSALS.keys())


def refusal(ask: Ask, served: Served, token: str, refused: tuple[Any, ...]) -> Any:
    """The exception that the library raises."""
    given, text = refused[0]
    with pytest.raises((ollama.ResponseError, openai.APIStatusError, anthropic.APIStatusError)) as raised:
        ask(served.url, given or token, text)
    return raised.value


@REFUSED
@pytest.mark.parametrize("ask", NATIVE.values(), ids=NATIVE.keys())
def test_ollamas_library_tells_it(strict: Served, token: str, ask: Ask, refused: tuple[Any, ...]) -> None:
    error = refusal(ask, strict, token, refused)

    _, status, told, *_ = refused
    assert (error.status_code, told in error.error, "{" in error.error) == (status, True, False)


@REFUSED
@pytest.mark.parametrize("ask", OPENAI.values(), ids=OPENAI.keys())
def test_openais_library_tells_it(strict: Served, token: str, ask: Ask, refused: tuple[Any, ...]) -> None:
    error = refusal(ask, strict, token, refused)

    _, status, told, kind, _ = refused
    assert (error.status_code, error.type, told in error.body["message"]) == (status, kind, True)
    assert (error.param, error.code) == (None, None)
    assert told in str(error)


@REFUSED
@pytest.mark.parametrize("ask", ANTHROPIC.values(), ids=ANTHROPIC.keys())
def test_anthropics_library_tells_it(strict: Served, token: str, ask: Ask, refused: tuple[Any, ...]) -> None:
    error = refusal(ask, strict, token, refused)

    _, status, told, _, kind = refused
    assert (error.status_code, error.type, told in error.body["error"]["message"]) == (status, kind, True)
    assert told in str(error)


def test_a_prompt_that_reaches_no_model_is_told_its_id(strict: Served, token: str) -> None:
    answer = strict.client.post("/api/chat", json=said("hi"), headers={"Authorization": f"Bearer {token}"})

    assert (answer.status_code, len(answer.headers["x-festinger-request"])) == (502, 16)


def test_an_upstream_that_leads_back_here_is_told_and_does_not_go_round(database: str) -> None:
    port = free_port()
    served = Served(upstream=f"http://127.0.0.1:{port}", database=database, port=port).wait_ready()

    found = [
        refusal(asks[name], served, "none", (GOOD,))
        for asks, name in ((NATIVE, "chat"), (OPENAI, "chat"), (ANTHROPIC, "message"))
    ]
    passed = served.client.get("/api/tags")
    health = served.client.get("/health").json()

    assert [error.status_code for error in found] == [508] * 3
    assert all("leads back to this Festinger" in str(error) for error in found)
    assert (passed.status_code, "leads back to this Festinger" in passed.json()["error"]) == (508, True)
    assert (health["upstream"]["reachable"], "508" in health["upstream"]["error"]) == (False, True)
    served.stop()
