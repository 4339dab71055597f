"""The mock model server for a comparison: also of OpenAI's and Anthropic's protocols, with a model of ordinary size,
and answers that a script decides.

``python -m benchmarks.peers.upstream PORT``. ``PUT /answer`` sets what it answers from then on.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Final

import orjson
import uvloop

from benchmarks.client import HOST
from benchmarks.model import Model, Seen, reply
from standin.chat_completions import ChatCompletion
from standin.completion import GenerateLines, Lines
from standin.messages import Message
from standin.responses import Response
from standin.speech import Chunk, Shape

MODEL: Final = "llama3.1:8b"
SHOWN: Final = {"details": {"family": "llama", "parameter_size": "8.0B", "quantization_level": "Q4_K_M"}}
END: Final = {"done": True, "done_reason": "stop", "prompt_eval_count": 500, "eval_count": 40}
PROMPTS: Final[dict[bytes, Callable[[], Shape]]] = {
    b"POST /api/chat ": lambda: Lines(MODEL),
    b"POST /api/generate ": lambda: GenerateLines(MODEL),
    b"POST /v1/chat/completions ": lambda: ChatCompletion(MODEL, includes_usage=False),
    b"POST /v1/messages ": lambda: Message(MODEL, 0),
    b"POST /v1/responses ": lambda: Response({"model": MODEL}),
}


class Script:
    """The current answer, ready for each protocol."""

    def __init__(self) -> None:
        self.say("Understood. " * 20)

    def say(self, answer: str) -> None:
        self.replies = {start: reply(shape().whole(Chunk(answer, end=END)).body) for start, shape in PROMPTS.items()}


class Upstream(Model):
    SHOW = b"POST /api/show "
    PUT = b"PUT /answer "
    SHOW_REPLY = reply(orjson.dumps(SHOWN))

    def __init__(self, seen: Seen, script: Script) -> None:
        super().__init__(seen)
        self._script = script

    def _answer(self, head: bytes, body: bytes) -> None:
        for start, answer in self._script.replies.items():
            if head.startswith(start):
                self._seen.note(body)
                self._transport.write(answer)
                return
        if head.startswith(self.PUT):
            self._script.say(body.decode())
            self._transport.write(self.OTHER_REPLY)
        elif head.startswith(self.SHOW):
            self._transport.write(self.SHOW_REPLY)
        else:
            super()._answer(head, body)


async def serve(port: int) -> None:
    seen, script = Seen(), Script()
    server = await asyncio.get_running_loop().create_server(lambda: Upstream(seen, script), HOST, port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
