"""The clients people use, directly and through Festinger: the same answers, the same errors, the same bytes."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import ollama
import pytest

from tests.served.server import Served
from tests.standin import StandIn

HELLO = [{"role": "user", "content": "hello"}]
Call = Callable[[ollama.Client], Any]
# Pydantic's remark on LiteLLM's own types, made when its first chunk is parsed.
litellm_warns = pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning")


def chunks(stream: Iterator[Any]) -> Any:
    """All that a stream gave, and the error that ended it."""
    found: list[Any] = []
    try:
        found.extend(chunk.model_dump() for chunk in stream)
    except Exception as error:
        found.append((type(error).__name__, str(error)))
    return found


def outcome(call: Call, url: str) -> Any:
    with ollama.Client(host=url, trust_env=False, timeout=10) as client:
        try:
            answer = call(client)
        except Exception as error:
            return type(error).__name__, getattr(error, "status_code", None), str(error)
        return answer.model_dump() if hasattr(answer, "model_dump") else answer


CALLS: dict[str, Call] = {
    "list": lambda client: client.list(),
    "show": lambda client: client.show("system-model"),
    "ps": lambda client: client.ps(),
    "chat": lambda client: client.chat("llama3", HELLO),
    "chat, streamed": lambda client: chunks(client.chat("llama3", HELLO, stream=True)),
    "chat, a tool call": lambda client: client.chat("tool-call", HELLO),
    "chat, a load": lambda client: client.chat("llama3", []),
    "generate": lambda client: client.generate("llama3", "why?"),
    "generate, streamed": lambda client: chunks(client.generate("llama3", "why?", stream=True)),
    "generate, one very long line": lambda client: chunks(client.generate("long-lines", "why?", stream=True)),
    "generate, an unload": lambda client: client.generate("llama3", "", keep_alive=0),
    "embed": lambda client: client.embed("embedder", ["one", "two"]),
    "pull": lambda client: chunks(client.pull("new-model", stream=True)),
    "an unknown model": lambda client: client.chat("nobody", HELLO),
    "an unknown model to show": lambda client: client.show("nobody"),
    "no model": lambda client: client.chat("", HELLO),
    "raw with system": lambda client: client.generate("llama3", "hi", raw=True, system="S"),
    "an error before the answer": lambda client: client.chat("fail-before", HELLO),
    "an error before the stream": lambda client: chunks(client.chat("fail-before", HELLO, stream=True)),
    "a full queue": lambda client: client.chat("busy", HELLO),
    "an error in mid-stream": lambda client: chunks(client.chat("fail-mid", HELLO, stream=True)),
    "a stream that ends without done": lambda client: chunks(client.chat("no-done", HELLO, stream=True)),
    "a stream that is cut": lambda client: chunks(client.chat("cut", HELLO, stream=True)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_the_ollama_client_sees_through_festinger_what_it_sees_directly(
    server: Served, ollama: StandIn, call: Call
) -> None:
    assert outcome(call, server.url) == outcome(call, ollama.url)


LITELLM = [("ollama", False), ("ollama", True), ("ollama_chat", False), ("ollama_chat", True)]


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
    import litellm

    return litellm


def completed(litellm: Any, url: str, provider: str, stream: bool, model: str = "llama3") -> str:
    messages = [{"role": "system", "content": "S"}, *HELLO, {"role": "user", "content": "the snark"}]
    answer = litellm.completion(f"{provider}/{model}", messages, api_base=url, stream=stream, max_retries=0)
    if stream:
        return "".join(chunk.choices[0].delta.content or "" for chunk in answer)
    return str(answer.choices[0].message.content)


@litellm_warns
@pytest.mark.parametrize(("provider", "stream"), LITELLM)
def test_litellm_gets_the_same_answer_through_festinger(
    litellm: Any, server: Served, ollama: StandIn, provider: str, stream: bool
) -> None:
    assert completed(litellm, server.url, provider, stream) == completed(litellm, ollama.url, provider, stream)


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
def test_litellms_prompt_arrives_with_its_recollection(
    litellm: Any, server: Served, ollama: StandIn, provider: str
) -> None:
    server.teach("snark -isa boojum")

    echoed = completed(litellm, server.url, provider, False, "echo")

    recalled = "<recollection>\nsnark: [type] boojum\n</recollection>\n\nS"
    prompt = json.loads(echoed)
    if provider == "ollama":
        assert prompt["prompt"].startswith("### System:\n" + recalled + "\n\n### User:\n")
    else:
        assert prompt[0]["content"] == recalled


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
def test_litellm_raises_the_same_error_through_festinger(
    litellm: Any, server: Served, ollama: StandIn, provider: str
) -> None:
    def error(url: str) -> tuple[str, str]:
        with pytest.raises(litellm.exceptions.InternalServerError) as caught:
            completed(litellm, url, provider, False, "fail-before")
        return type(caught.value).__name__, str(caught.value)

    assert error(server.url) == error(ollama.url)


def raw(url: str, path: str, payload: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
    answer = httpx.post(url + path, json=payload, headers={"X-Festinger": "off"}, trust_env=False)
    hop_by_hop = {"date", "connection", "transfer-encoding", "content-length"}
    return answer.status_code, answer.content, {k: v for k, v in answer.headers.items() if k not in hop_by_hop}


@pytest.mark.parametrize("model", ["llama3", "nobody", "fail-before", "fail-mid", "no-done", "long-lines"])
@pytest.mark.parametrize("stream", [True, False])
def test_with_festinger_off_status_bytes_and_headers_are_the_same(
    server: Served, ollama: StandIn, model: str, stream: bool
) -> None:
    for path, said in (("/api/chat", {"messages": HELLO}), ("/api/generate", {"prompt": "hi"})):
        payload = {"model": model, "stream": stream, **said}

        assert raw(server.url, path, payload) == raw(ollama.url, path, payload)


# --- streams ---


def test_chunks_come_as_the_model_says_them(server: Served) -> None:
    payload = {"model": "slow-200ms", "messages": HELLO}
    arrivals = []
    with server.client.stream("POST", "/api/chat", json=payload) as answer:
        for _ in answer.iter_lines():
            arrivals.append(time.monotonic())
            if len(arrivals) == 3:
                break

    assert arrivals[1] - arrivals[0] > 0.1
    assert arrivals[2] - arrivals[1] > 0.1


@pytest.mark.parametrize("model", ["hang", "hang-headers", "hang-before"])
def test_a_client_that_leaves_stops_the_model(server: Served, ollama: StandIn, model: str) -> None:
    with pytest.raises(httpx.ReadTimeout):
        server.client.post("/api/chat", json={"model": model, "messages": HELLO}, timeout=0.4)

    prompts = [request for request in ollama.settled() if request.path == "/api/chat"]
    assert [request.disconnected for request in prompts] == [True]


def test_a_client_that_leaves_stops_the_model_also_without_a_stream(server: Served, ollama: StandIn) -> None:
    payload = {"model": "hang-before", "messages": HELLO, "stream": False}
    with pytest.raises(httpx.ReadTimeout):
        server.client.post("/api/chat", json=payload, timeout=0.4)

    assert ollama.settled()[0].disconnected is True


def test_a_client_that_leaves_stops_what_passes_through(database: str) -> None:
    """The upstream here accepts, and then only watches whether it is left."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        served = Served(upstream=f"http://127.0.0.1:{listener.getsockname()[1]}", database=database)
        with ThreadPoolExecutor(1) as thread:
            ready = thread.submit(served.wait_ready)
            answer_version_until(ready, listener)
        client = httpx.Client(base_url=served.url, trust_env=False, timeout=0.4)

        with ThreadPoolExecutor(1) as thread:
            asking = thread.submit(client.post, "/api/embed", json={"model": "x", "input": "y"})
            connection, _ = listener.accept()
            with connection, pytest.raises(httpx.ReadTimeout):
                connection.settimeout(5)
                assert connection.recv(65536).startswith(b"POST /api/embed")
                while connection.recv(65536):  # ends when the connection is closed
                    pass
                asking.result()
        served.stop()


def answer_version_until(ready: Future[Served], listener: socket.socket) -> None:
    """``/health`` asks the upstream for its version."""
    listener.settimeout(0.1)
    while not ready.done():
        with suppress(TimeoutError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    listener.settimeout(5)


def test_a_model_server_that_comes_back_is_found_again(database: str) -> None:
    first = StandIn()
    served = Served(upstream=first.url, database=database).wait_ready()
    assert served.chat(("user", "hi")).status_code == 200
    first.kill()
    assert served.chat(("user", "hi")).status_code == 502

    with StandIn(port=first.port):
        assert served.chat(("user", "hi")).status_code == 200

    served.stop()
