"""A server in the place of the language models: the three APIs that Festinger asks, on a real socket.

    with LlmServer() as llm:                      # or the fixture ``llm``, see the end of this file
        model = llm.model("claude")               # a row of LanguageModel that leads here, its key encrypted
        llm.answers({"reasoning": "...", ...})    # what the next request gets: a dict is said as JSON
        llm.answers("no JSON at all", Fails(429), Says({...}, stop="length"), Cuts(), Hangs())   # one a request
        llm.answers_by(lambda asked: {...})       # what requests get for which nothing is queued
        ...
        llm.asked[-1].prompt, .system, .schema, .headers, .body      # what it got, oldest first

Claude's API is at ``/v1/messages``, OpenAI's at ``/v1/chat/completions``, Ollama's at ``/api/chat``: ``llm.url_of``
tells each one's base address. One server speaks all of them, and the same queue serves all. A request for which
neither an answer is queued nor a function is there gets a 400, which is not tried again. It runs in a thread of the
test's process; other processes reach it at its address as well.
"""

import contextlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

import pytest

from standin.app import refuse
from standin.chat_completions import ChatCompletion
from standin.completion import Lines
from standin.messages import Message
from standin.speech import Chunk, Shape
from standin.wire import Refusal

Provider = Literal["claude", "openai", "ollama"]
PATHS: dict[str, Provider] = {"/v1/messages": "claude", "/v1/chat/completions": "openai", "/api/chat": "ollama"}
KEY = "sk-test-key-0123456789abcdef"


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    provider: Provider
    path: str
    headers: dict[str, str]  # names in small letters
    body: dict[str, Any]

    @property
    def system(self) -> str:
        return self.body.get("system") or self._said_by("system")

    @property
    def prompt(self) -> str:
        return self._said_by("user")

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema that the answer is constrained to; None without."""
        if self.provider == "claude":
            return self.body.get("output_config", {}).get("format", {}).get("schema")
        if self.provider == "openai":
            return self.body.get("response_format", {}).get("json_schema", {}).get("schema")
        constraint = self.body.get("format")
        return constraint if isinstance(constraint, dict) else None

    def _said_by(self, role: str) -> str:
        return "\n".join(said["content"] for said in self.body["messages"] if said["role"] == role)


@dataclass(frozen=True)
class Says:
    """A finished answer. ``stop`` is the reason in any of the three APIs' words: ``stop``, ``length`` and ``refusal``
    are put in each one's own; others are sent as they are."""

    content: dict[str, Any] | str
    stop: str = "stop"
    input_tokens: int = 100
    output_tokens: int = 20
    refusal: str | None = None  # OpenAI's message.refusal

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else json.dumps(self.content)


@dataclass(frozen=True)
class Fails:
    """An error in the API's own form."""

    status: int
    message: str = "it failed on purpose"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Any bytes."""

    body: bytes
    status: int = 200
    content_type: str = "text/html"


@dataclass(frozen=True)
class Trickles:
    """Begins an answer and sends a byte every now and then, for ever."""

    every_s: float = 0.02


@dataclass(frozen=True)
class Hangs:
    """Takes the request and says nothing, until the client leaves or the server stops."""


@dataclass(frozen=True)
class Cuts:
    """Closes the connection without an answer."""


Answer = Says | Fails | Raw | Trickles | Hangs | Cuts | dict[str, Any] | str


class LlmServer:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.stopping = threading.Event()
        self._queue: deque[Answer] = deque()
        self._by: Callable[[Asked], Answer] | None = None
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.llm = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.005})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def url_of(self, provider: str) -> str:
        """The base address, as the row of a model has it."""
        return f"{self.url}/v1" if provider == "openai" else self.url

    def answers(self, *answers: Answer) -> None:
        """Queues them: one for each request to come."""
        with self._lock:
            self._queue.extend(answers)

    def answers_by(self, function: Callable[[Asked], Answer] | None) -> None:
        """What requests get while the queue is empty. It runs in the server's threads."""
        self._by = function

    def model(self, provider: str = "claude", *, key: str = KEY, **fields: Any) -> Any:
        """A stored LanguageModel that leads here. Needs a database."""
        from memory.access import key_encryption
        from memory.models import LanguageModel

        fields = {"model_name": f"{provider}-test", "base_url": self.url_of(provider)} | fields
        return LanguageModel.objects.create(
            provider=provider, api_key=key_encryption.encrypt(key) if key else "", **fields
        )

    def next_answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if self._queue:
                return self._queue.popleft()
        if self._by is not None:
            return self._by(asked)
        return Fails(400, "the test has no answer for this request")

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()  # waits for the requests under way
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    llm: LlmServer
    daemon_threads = False
    block_on_close = True


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5  # for a client that opens a connection and says nothing

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        provider = PATHS.get(self.path.partition("?")[0])
        if provider is None:
            self.reply(404, {"error": {"message": f"no such path: {self.path}"}})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(provider, self.path, headers, body)
        with contextlib.suppress(ConnectionError):  # the client may leave whenever it likes
            self.answer(asked, self.server.llm.next_answer(asked))

    def answer(self, asked: Asked, answer: Answer) -> None:
        match answer:
            case Says():
                self.reply(200, speak(asked.provider, answer))
            case Fails(status, message, headers):
                refused = refuse(asked.path, Refusal(status, message))
                self.send(status, refused.body, {"Content-Type": "application/json", **headers})
            case Raw(raw, status, content_type):
                self.send(status, raw, {"Content-Type": content_type})
            case Trickles(every_s):
                self.trickle(every_s)
            case Hangs():
                self.wait_for_the_end()
            case Cuts():
                self.close_connection = True
            case _:
                self.answer(asked, Says(answer))

    def reply(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self.send(status, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})

    def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body)), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def trickle(self, every_s: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        while not self.server.llm.stopping.wait(every_s):
            self.wfile.write(b" ")

    def wait_for_the_end(self) -> None:
        self.connection.settimeout(0.05)
        while not self.server.llm.stopping.is_set():
            try:
                if not self.connection.recv(1):
                    return
            except TimeoutError:
                continue

    def log_message(self, *_: object) -> None:
        pass


SHAPES: dict[Provider, Callable[[], Shape]] = {
    "claude": lambda: Message("claude-test", 0),
    "openai": lambda: ChatCompletion("openai-test", includes_usage=False),
    "ollama": lambda: Lines("ollama-test"),
}
STOP_REASONS: dict[Provider, dict[str, str]] = {
    "claude": {"stop": "end_turn", "length": "max_tokens"},
    "openai": {"refusal": "content_filter"},
    "ollama": {},
}


def speak(provider: Provider, answer: Says) -> dict[str, Any]:
    """The answer as the stand-in would write it, but for reasons to stop that it does not know."""
    end = {"done": True, "prompt_eval_count": answer.input_tokens, "eval_count": answer.output_tokens}
    said: dict[str, Any] = json.loads(SHAPES[provider]().whole(Chunk(answer.text, end=end)).body)
    reason = STOP_REASONS[provider].get(answer.stop, answer.stop)
    if provider == "openai":
        said["choices"][0]["finish_reason"] = reason
        said["choices"][0]["message"]["refusal"] = answer.refusal
    elif provider == "claude":
        said |= {"content": said["content"] or [{"type": "text", "text": ""}], "stop_reason": reason}
    else:
        said["done_reason"] = reason
    return said


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    """For tests: ``from tests.llm_server import llm`` in a conftest, or in the test's file (``# noqa: F401``)."""
    with LlmServer() as server:
        yield server
