"""The stand-in's answers, as bytes."""

from collections.abc import Callable
from typing import Any

from standin.chat_completions import ChatCompletion, TextCompletion
from standin.completion import GenerateLines, Lines
from standin.messages import Message
from standin.responses import Response
from standin.speech import Chunk, Shape
from standin.wire import data, event

END = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 9,
    "load_duration": 8,
    "prompt_eval_count": 7,
    "prompt_eval_duration": 6,
    "eval_count": 5,
    "eval_duration": 4,
}
CONTEXT = {"context": [1, 2, 3]}
SHAPES: dict[str, Callable[[], Shape]] = {
    "/api/chat": lambda: Lines("llama3"),
    "/api/generate": lambda: GenerateLines("llama3"),
    "/v1/chat/completions": lambda: ChatCompletion("llama3", includes_usage=False),
    "/v1/completions": lambda: TextCompletion("llama3", includes_usage=False),
    "/v1/responses": lambda: Response({"model": "llama3"}),
    "/v1/messages": lambda: Message("llama3", 7),
}


def end_of(path: str) -> dict[str, Any]:
    return {**END, **CONTEXT} if path == "/api/generate" else END


def streamed(path: str, said: list[Chunk], *, is_ended: bool = False) -> bytes:
    shape = SHAPES[path]()
    last = [Chunk(end=end_of(path))] if is_ended else []
    return b"".join(shape.part(one) for one in [*said, *last])


# --- a call that is cut within its arguments: Ollama sends calls as a whole, other servers do not ---

PIECES = ('{"text": "a', " a a", " a")
CHAT_HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "llama3"}


def cut_call(path: str) -> list[bytes]:
    """The events of a stream that breaks off."""
    return {"/v1/chat/completions": cut_chat, "/v1/messages": cut_message, "/v1/responses": cut_response}[path]()


def cut_chat() -> list[bytes]:
    begun = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write", "arguments": ""}}
    calls = [begun, *({"index": 0, "function": {"arguments": piece}} for piece in PIECES)]
    choices = [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}} for call in calls]
    return [data({**CHAT_HEAD, "choices": [choice]}) for choice in choices]


def cut_message() -> list[bytes]:
    block = {"type": "tool_use", "id": "call_1", "name": "write", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in PIECES]
    return [
        Message("llama3", 7).part(Chunk()),
        event("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
        *(event("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": one}) for one in deltas),
    ]


def cut_response() -> list[bytes]:
    item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "write", "arguments": ""}
    at = {"item_id": "fc_1", "output_index": 0}
    told: list[tuple[str, dict[str, Any]]] = [
        ("response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress"}}),
        *(("response.function_call_arguments.delta", {**at, "delta": piece}) for piece in PIECES),
    ]
    begun = Response({"model": "llama3"}).part(Chunk())  # two events
    numbered = [
        (kind, {"type": kind, "sequence_number": number, **fields}) for number, (kind, fields) in enumerate(told, 2)
    ]
    return [begun, *(event(kind, fields) for kind, fields in numbered)]
