"""A mock model server: the same answer at once, whatever is asked, in the protocols of Ollama, OpenAI and Anthropic,
and its own count of what arrived.

A bare protocol without a framework: what it costs is in every figure, so it must be little and always the same.
``PUT /answer`` sets what it answers from then on. ``GET /seen`` tells what came since it was last asked, so that nobody
measures a path that recalls nothing, and ``GET /last`` is the newest prompt itself. A prompt of Ollama's that asks
for a stream gets ``num_predict`` lines; its model's name says how fast, as in ``paced-2ms``.
"""

import asyncio
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

import orjson
import uvloop

from benchmarks.client import CONTENT_LENGTH, END_OF_HEAD, HOST
from memory.recall.block import CLOSING, OPENING
from standin.chat_completions import ChatCompletion
from standin.completion import GenerateLines, Lines
from standin.messages import Message
from standin.responses import Response
from standin.speech import Chunk, Shape

MODEL: Final = "llama3.1:8b"
BLOCK: Final = re.compile(f"{OPENING}.*?{CLOSING}", re.DOTALL)
WANTS_STREAM: Final = b'"stream":true'  # in a text its quotes would be escaped
PACED: Final = b'"paced-'
END: Final = {"done": True, "done_reason": "stop", "prompt_eval_count": 500, "eval_count": 40}
PROMPTS: Final[dict[bytes, Callable[[], Shape]]] = {
    b"POST /api/chat ": lambda: Lines(MODEL),
    b"POST /api/generate ": lambda: GenerateLines(MODEL),
    b"POST /v1/chat/completions ": lambda: ChatCompletion(MODEL, includes_usage=False),
    b"POST /v1/messages ": lambda: Message(MODEL, 0),
    b"POST /v1/responses ": lambda: Response({"model": MODEL}),
}


def reply(content: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return head.encode() + END_OF_HEAD + content


SHOWN: Final = {"details": {"family": "llama", "parameter_size": "8.0B", "quantization_level": "Q4_K_M"}}
SHOW_REPLY: Final = reply(orjson.dumps(SHOWN))
OTHER_REPLY: Final = reply(b'{"version": "0.0.0", "system": ""}')


@dataclass(slots=True)
class Seen:
    """``recollections`` of the ``prompts`` held a block; ``last_body`` is that of the newest prompt."""

    prompts: int = 0
    recollections: int = 0
    last_body: bytes = b""

    def note(self, body: bytes) -> None:
        self.prompts += 1
        self.recollections += OPENING.encode() in body
        self.last_body = body

    def report(self) -> bytes:
        """Return JSON; the counting begins anew."""
        text = "\n".join(message["content"] for message in orjson.loads(self.last_body or b"{}").get("messages", []))
        block = BLOCK.search(text)
        counts = {"prompts": self.prompts, "recollections": self.recollections}
        self.prompts = self.recollections = 0
        return orjson.dumps({**counts, "last_block": block[0] if block else ""})


class Script:
    """The current answer, ready for each protocol."""

    def __init__(self) -> None:
        self.say("Understood. " * 20)

    def say(self, answer: str) -> None:
        self.replies = {start: reply(shape().whole(Chunk(answer, end=END)).body) for start, shape in PROMPTS.items()}


class Speech:
    """A streamed answer, one line after the other at a steady pace. Each holds the time it left."""

    HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked" + END_OF_HEAD

    def __init__(self, transport: asyncio.Transport, body: bytes) -> None:
        asked = orjson.loads(body)
        self._transport = transport
        self._left = int(asked["options"]["num_predict"])
        self._pace_s = int(asked["model"].removeprefix("paced-").removesuffix("ms")) / 1000
        self._loop = asyncio.get_running_loop()
        self._due_s = self._loop.time()
        self._next: asyncio.TimerHandle | None = None
        self._transport.write(self.HEAD)
        self._say()

    def stop(self) -> None:
        if self._next:
            self._next.cancel()

    def _say(self) -> None:
        self._left -= 1
        self._transport.write(line(is_last=not self._left))
        if self._left:
            self._due_s += self._pace_s
            self._next = self._loop.call_at(self._due_s, self._say)


def line(*, is_last: bool) -> bytes:
    """Return a chunk of HTTP; the last one has its end with it."""
    said = orjson.dumps(
        {
            "model": "mock",
            "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": str(time.monotonic_ns())},
            "done": is_last,
        }
    )
    return b"%x\r\n%s\n\r\n%s" % (len(said) + 1, said, b"0\r\n\r\n" if is_last else b"")


class Model(asyncio.Protocol):
    """One connection. Bodies must come with a Content-Length."""

    def __init__(self, seen: Seen, script: Script) -> None:
        self._seen = seen
        self._script = script
        self._unread = b""
        self._speech: Speech | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def connection_lost(self, error: Exception | None) -> None:
        if self._speech:
            self._speech.stop()

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while (head_end := self._unread.find(END_OF_HEAD)) >= 0:
            start = head_end + len(END_OF_HEAD)
            length = CONTENT_LENGTH.search(self._unread, 0, start)
            end = start + (int(length[1]) if length else 0)
            if len(self._unread) < end:
                return
            self._answer(self._unread[:start], self._unread[start:end])
            self._unread = self._unread[end:]

    def _answer(self, head: bytes, body: bytes) -> None:
        for start, answer in self._script.replies.items():
            if head.startswith(start):
                self._seen.note(body)
                if WANTS_STREAM in body and PACED in body:
                    self._speech = Speech(self._transport, body)
                else:
                    self._transport.write(answer)
                return
        if head.startswith(b"GET /seen "):
            self._transport.write(reply(self._seen.report()))
        elif head.startswith(b"GET /last "):
            self._transport.write(reply(self._seen.last_body))
        elif head.startswith(b"PUT /answer "):
            self._script.say(body.decode())
            self._transport.write(OTHER_REPLY)
        else:
            self._transport.write(SHOW_REPLY if head.startswith(b"POST /api/show ") else OTHER_REPLY)


async def serve(port: int) -> None:
    seen, script = Seen(), Script()
    server = await asyncio.get_running_loop().create_server(lambda: Model(seen, script), HOST, port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
