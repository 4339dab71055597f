"""A client that talks as an application does, one prompt after the other, and what arrives at the model server."""

import http.client
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from benchmarks.client import HOST, BenchmarkBroken

CHAT: Final = "/api/chat"
COMPLETIONS: Final = "/v1/chat/completions"
TIMEOUT_S: Final = 60


class Line:
    """A connection that is kept, to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the answer's headers, in lower case. Raises BenchmarkBroken for one that is no success."""
        status, content, answered = self._ask("POST", path, orjson.dumps(body), headers or {})
        if status != 200:
            raise BenchmarkBroken(f"POST {path}: {status} {content[:200]!r}")
        return answered

    def put(self, path: str, text: str) -> None:
        self._ask("PUT", path, text.encode(), {})

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body."""
        status, content, _ = self._ask("GET", path, None, {})
        return status, content

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, dict[str, str]]:
        try:
            self._connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            answer = self._connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):  # it stood still for too long
            self._connection.close()
            self._connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            answer = self._connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}


def find_injected(sent: Sequence[str], arrived: Mapping[str, Any]) -> str:
    """Return all text of the prompt that arrived, less the texts that the client sent. Raises BenchmarkBroken where one
    of these is not in it as it was sent."""
    texts = [message["content"] for message in arrived["messages"]]
    for own in sent:
        place = next((place for place, text in enumerate(texts) if own in text), None)
        if place is None:
            raise BenchmarkBroken("a message did not arrive as it was sent")
        texts[place] = texts[place].replace(own, "", 1)
    return "\n".join(stripped for text in texts if (stripped := text.strip()))
