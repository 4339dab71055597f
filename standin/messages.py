"""The endpoint ``/v1/messages``: Anthropic's format, content blocks streamed as named events."""

from typing import Any

from standin import openai
from standin.catalogue import Shelf
from standin.completion import Prompt, answer, tokens_in
from standin.incoming import Request
from standin.speech import Chunk, Shape
from standin.wire import SSE_TYPE, Json, Refusal, Reply, Stream, event, translated_reply

MESSAGE_ID = "msg_000000000000000000000001"
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens"}
ERROR_TYPES = {400: "invalid_request_error", 404: "not_found_error", 503: "overloaded_error"}
THINKING = {"enabled": True, "disabled": False}


async def messages(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json()
    for field in ("model", "max_tokens", "messages"):
        if not asked.get(field):
            raise Refusal(400, f"{field} is required")
    prompt = Prompt(
        model=asked["model"],
        heard={"system": asked.get("system"), "messages": asked["messages"]},
        is_streamed=asked.get("stream") is True,
        tools=[to_native_tool(tool) for tool in asked.get("tools") or []],
        think=thinking(shelf, asked),
        temperature=asked.get("temperature"),
    )
    return await answer(shelf, prompt, Message(asked["model"], tokens_in(prompt.heard)))


def error(refusal: Refusal) -> Json:
    told = {"type": ERROR_TYPES.get(refusal.status, "api_error"), "message": refusal.message}
    return {"type": "error", "error": told}


def to_native_tool(tool: Json) -> Json:
    return {"function": {"name": tool.get("name"), "parameters": tool.get("input_schema")}}


def thinking(shelf: Shelf, asked: Json) -> bool | None:
    """Return the request's wish for thinking, or None for a model that cannot think: such a request is not refused."""
    model = shelf.get(asked["model"])
    wanted = THINKING.get((asked.get("thinking") or {}).get("type", ""))
    return wanted if model is not None and "thinking" in model.capabilities else None


def stop_reason(end: Json, *, calls: bool) -> Json:
    """Return the field ``stop_reason``, or no field if the answer has no end."""
    if calls:
        return {"stop_reason": "tool_use"}
    reason = end.get("done_reason")
    return {"stop_reason": STOP_REASONS.get(reason, "stop_sequence")} if reason else {}


def usage(end: Json) -> Json:
    return {"input_tokens": end.get("prompt_eval_count", 0), "output_tokens": end.get("eval_count", 0)}


class Message(Shape):
    """A message; as a stream: the events by which its blocks grow, one after the other."""

    stream_type = SSE_TYPE
    stream_headers = openai.KEPT_OPEN

    def __init__(self, model: str, prompt_tokens: int) -> None:
        self._head = {"id": MESSAGE_ID, "type": "message", "role": "assistant", "model": model}
        self._prompt_tokens = prompt_tokens
        self._has_begun = False
        self._has_called = False
        self._growing = ""  # the type of the growing block
        self._index = 0  # the index of the growing or next block

    def whole(self, chunk: Chunk) -> Reply:
        content = [{"type": "thinking", "thinking": chunk.thinking}] if chunk.thinking else []
        content += [{"type": "text", "text": chunk.content}] if chunk.content else []
        content += [tool_use(call, call["function"]["arguments"]) for call in chunk.tool_calls]
        reason = stop_reason(chunk.end, calls=bool(chunk.tool_calls))
        return translated_reply({**self._head, "content": content or None, **reason, "usage": usage(chunk.end)})

    def part(self, chunk: Chunk) -> bytes:
        events = b"" if self._has_begun else self._begin()
        if chunk.thinking:
            events += self._grow("thinking", chunk.thinking)
        if chunk.content:
            events += self._grow("text", chunk.content)
        for call in chunk.tool_calls:
            events += self._call(call)
        return events + self._end(chunk.end) if chunk.end["done"] else events

    def failure(self, message: str) -> bytes:
        """Return nothing: Ollama reads the error as an empty chunk, and the stream just ends."""
        return b""

    def _begin(self) -> bytes:
        self._has_begun = True
        tokens = {"input_tokens": self._prompt_tokens, "output_tokens": 0}
        return write_event("message_start", message={**self._head, "content": [], "usage": tokens})

    def _grow(self, kind: str, text: str) -> bytes:
        events = b""
        if self._growing != kind:
            events = self._finish() + self._start(kind, {"type": kind, kind: ""})
        return events + self._delta({"type": f"{kind}_delta", kind: text})

    def _call(self, call: Json) -> bytes:
        self._has_called = True
        events = self._finish() + self._start("tool_use", tool_use(call, {}))
        events += self._delta({"type": "input_json_delta", "partial_json": openai.arguments(call)})
        return events + self._finish()

    def _start(self, kind: str, block: Json) -> bytes:
        self._growing = kind
        return write_event("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: Json) -> bytes:
        return write_event("content_block_delta", index=self._index, delta=delta)

    def _finish(self) -> bytes:
        if not self._growing:
            return b""
        self._growing = ""
        self._index += 1
        return write_event("content_block_stop", index=self._index - 1)

    def _end(self, end: Json) -> bytes:
        events = self._finish()
        events += write_event("message_delta", delta=stop_reason(end, calls=self._has_called), usage=usage(end))
        return events + write_event("message_stop")


def write_event(kind: str, **fields: Any) -> bytes:
    return event(kind, {"type": kind, **fields})


def tool_use(call: Json, given: Json) -> Json:
    return {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": given}
