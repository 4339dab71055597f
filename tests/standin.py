"""The stand-in Ollama for tests: a process of its own, so that it can be slow, hang and die."""

import base64
import json
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

PROJECT = Path(__file__).parent.parent
STOP_S = 5
POLL_S = 0.01
NEWEST = 50  # requests; of those that are under way at once none is missed


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as the stand-in received it.

    ``body`` holds its first MiB; ``body_bytes`` and ``body_digest`` (``sha256:...``) are of all of it.
    ``disconnected``: True if the client left before the answer was complete, None while it is under way."""

    method: str
    path: str
    query: str
    headers: httpx.Headers
    body: bytes
    body_bytes: int
    body_digest: str
    disconnected: bool | None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields["headers"]]
        fields = {**fields, "headers": httpx.Headers(pairs)}
        fields["body"] = base64.b64decode(fields.pop("body_base64"))
        del fields["body_text"]
        return cls(**fields)

    def json(self) -> Any:
        return json.loads(self.body)


class StandIn:
    """``with StandIn() as ollama:`` runs a stand-in at ``ollama.url``; requests are accepted at once.

    ``port``: 0 is any free one; a given one lets a stopped stand-in come back where it was."""

    def __init__(self, *, port: int = 0, echo: bool = False) -> None:
        with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
            self.port: int = listener.getsockname()[1]
            self.url = f"http://127.0.0.1:{self.port}"
            arguments = ["--fd", str(listener.fileno()), *(["--echo"] if echo else [])]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "standin", *arguments],
                pass_fds=[listener.fileno()],
                cwd=PROJECT,
            )
        self._client = httpx.Client(base_url=self.url, trust_env=False)

    def requests(self, last: int = 1_000) -> list[Recorded]:
        """The requests since start or ``clear``, oldest first; at most so many of the last 1,000."""
        shown = self._client.get("/standin/requests", params={"last": last}).json()["requests"]
        return [Recorded.from_json(fields) for fields in shown]

    def last(self, *paths: str) -> Recorded:
        """The newest request, or the newest to one of these paths: to read a thousand takes a tenth of a second."""
        return next(request for request in reversed(self.requests(last=NEWEST)) if not paths or request.path in paths)

    def settled(self, *, timeout_s: float = 5) -> list[Recorded]:
        """The requests once every one of them has ended. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            recorded = self.requests()
            if all(request.disconnected is not None for request in recorded):
                return recorded
            time.sleep(POLL_S)
        raise TimeoutError(f"a request is still under way after {timeout_s} s")

    def clear(self) -> None:
        self._client.delete("/standin/requests")

    def load_only(self, model: str) -> None:
        """Unload all other models."""
        for loaded in self._client.get("/api/ps").json()["models"]:
            self._client.post("/api/generate", json={"model": loaded["name"], "keep_alive": 0})
        self._client.post("/api/generate", json={"model": model})

    def kill(self) -> None:
        """Die at once, in the middle of every answer; new connections are refused."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._client.close()
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
