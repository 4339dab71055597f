"""The mock model server for a comparison: also of OpenAI's and Anthropic's protocols, with a model of ordinary size,
and answers that a script decides.

``python -m benchmarks.peers.upstream PORT``. ``PUT /answer`` sets what it answers from then on.
"""

import asyncio
import sys
from typing import Final

import orjson
import uvloop

from benchmarks.client import HOST
from benchmarks.model import Model, Seen, reply

MODEL: Final = "llama3.1:8b"
SHOWN: Final = {"details": {"family": "llama", "parameter_size": "8.0B", "quantization_level": "Q4_K_M"}}
AT: Final = "2026-01-01T00:00:00Z"


def say_chat(answer: str) -> dict[str, object]:
    message = {"role": "assistant", "content": answer}
    return {"model": MODEL, "created_at": AT, "message": message, "done_reason": "stop", "done": True}


def say_generate(answer: str) -> dict[str, object]:
    return {"model": MODEL, "created_at": AT, "response": answer, "done_reason": "stop", "done": True}


def say_completion(answer: str) -> dict[str, object]:
    choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 500, "completion_tokens": 40, "total_tokens": 540}
    ids = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_767_225_600, "model": MODEL}
    return {**ids, "choices": [choice], "usage": usage}


def say_message(answer: str) -> dict[str, object]:
    usage = {"input_tokens": 500, "output_tokens": 40}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "stop_reason": "end_turn"}
    return {**head, "content": [{"type": "text", "text": answer}], "usage": usage}


def say_response(answer: str) -> dict[str, object]:
    content = [{"type": "output_text", "text": answer, "annotations": []}]
    output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]
    return {"id": "resp_1", "object": "response", "status": "completed", "model": MODEL, "output": output}


PROMPTS: Final = {
    b"POST /api/chat ": say_chat,
    b"POST /api/generate ": say_generate,
    b"POST /v1/chat/completions ": say_completion,
    b"POST /v1/messages ": say_message,
    b"POST /v1/responses ": say_response,
}


class Script:
    """The current answer, ready for each protocol."""

    def __init__(self) -> None:
        self.say("Understood. " * 20)

    def say(self, answer: str) -> None:
        self.replies = {start: reply(orjson.dumps(say(answer))) for start, say in PROMPTS.items()}


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
