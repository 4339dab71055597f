"""OpenAI's ``/v1/responses``: instructions, and a string or a list of items of several types.

Its answers are one JSON object, or named events in which the items of a response grow one after the other.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from proxy.formats import payloads, streams
from proxy.formats.base import Part, Payload, Prompt
from proxy.formats.json_text import Path
from proxy.formats.streams import Delta, Json, get_number, get_object, get_text

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
BEGUN = ("response.created", "response.in_progress")
OVER = ("response.completed", "response.incomplete", "response.failed", "error")
PLAIN: Json = {
    "incomplete_details": None,
    "previous_response_id": None,
    "instructions": None,
    "error": None,
    "tools": [],
    "tool_choice": "auto",
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "text": {"format": {"type": "text"}},
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_logprobs": 0,
    "temperature": 1,
    "reasoning": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "store": False,
    "background": False,
    "service_tier": "default",
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
}


def kind_of(item: dict[str, Any]) -> str:
    """Return the item's type; a message may leave it out."""
    kind = item.get("type") or "message"
    return kind if isinstance(kind, str) else ""


def write_numbered(numbers: Iterator[int], kind: str, **fields: object) -> bytes:
    """Serialize an event with the next number."""
    return streams.write_event(kind, sequence_number=next(numbers), **fields)


class ResponseReader(streams.AnswerReader):
    def __init__(self) -> None:
        super().__init__(streams.EventFrames())
        self._response: Json = {}
        self._next = 0  # the number of the next event
        self._items: list[Json] = []  # the complete ones
        self._item: Json | None = None  # the one that grows
        self._index = 0  # its place among them
        self._text: list[str] = []  # its text, in pieces

    def _read(self, frame: bytes) -> Delta:
        value = streams.parse_object(frame)
        kind = get_text(value, "type")
        # Events are numbered consecutively: those that end this answer continue the numbers.
        if kind:
            self._next = max(self._next, get_number(value, "sequence_number") + 1)
        if kind.endswith(".delta"):
            text = get_text(value, "delta")
            self._text.append(text)
            return Delta(text, text if kind == "response.output_text.delta" else "")
        if kind == "response.output_item.added":
            self._item, self._index, self._text = get_object(value, "item"), get_number(value, "output_index"), []
            return Delta(get_text(self._item, "name") if self._item.get("type") == "function_call" else "")
        if kind == "response.output_item.done":
            self._items.append(get_object(value, "item"))
            self._item = None
        elif kind in OVER:
            self._is_over = True
        elif kind in BEGUN:
            self._response = get_object(value, "response")
        return Delta()

    def _end(self) -> bytes:
        # Codex takes each item from the event that ends it, and OpenAI's library all of them from the last event. A
        # response that only ends as incomplete makes Codex ask again.
        numbers, events, items = count(self._next), b"", self._items
        response = self._response or build_response("", "", 0)
        if not self._response:
            events += write_numbered(numbers, "response.created", response=response)
        if self._item is not None:
            item = finish_item(self._item, "".join(self._text))
            events += write_numbered(numbers, "response.output_item.done", output_index=self._index, item=item)
            items = [*items, item]
        status = "incomplete" if items and items[-1].get("status") == "incomplete" else "completed"
        last = finish_response(response, items, status=status, tokens=self._delta_count)
        return events + write_numbered(numbers, f"response.{status}", response=last)


def finish_item(item: Json, text: str) -> Json:
    """Return an item that has been growing, with its text so far."""
    kind = item.get("type")
    if kind == "message":
        return {**item, "status": "completed", "content": [build_part(text)] if text else []}
    if kind == "reasoning":
        # Ollama encrypts nothing either: it expects the plain text back with the next request.
        return {**item, "summary": [{"type": "summary_text", "text": text}], "encrypted_content": text}
    if kind == "function_call":
        # A call that is cut off is incomplete, and so is its response, as if it had hit the token limit.
        return {**item, "status": "completed" if streams.is_json(text) else "incomplete", "arguments": text}
    return item


class OpenAIResponses(payloads.SamplingBesidePrompt, payloads.MessageFormat):
    name = "responses"
    long_field = "input"
    system_field = "instructions"
    block_type = "input_text"
    has_seed = False
    reader = ResponseReader

    def read(self, payload: Payload) -> Prompt | None:
        given = payload.get("input")
        if isinstance(payload.get("instructions"), list):
            return None
        if isinstance(given, str) and given:
            payload = {**payload, "input": [{"role": "user", "content": given}]}
        return super().read(payload)

    def parts_of(self, message: object, place: int) -> list[Part]:
        if not isinstance(message, dict) or (kind := kind_of(message)) == "message":
            return [payloads.part_of(message, place)]
        if kind in RESULTS:
            return [payloads.part_of({"role": "tool", "content": message.get("output")}, place)]
        # Reasoning and other output of the model has a place, too, though clients do not show it.
        calls = (payloads.read_call(message, CALLS[kind]),) if kind in CALLS else ()
        return [Part("assistant", "", place, calls=calls)]

    def is_system(self, message: object) -> bool:
        return isinstance(message, dict) and kind_of(message) == "message" and super().is_system(message)

    def find_content(self, messages: Any, number: int) -> tuple[Path, Any]:
        if isinstance(messages, str):
            return ("input",), messages
        field = "content" if kind_of(messages[number]) == "message" else "output"
        return ("input", number, field), messages[number][field]

    def write_answer(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        response = build_response(f"resp_{unique}", model, int(now))
        item: Json = {"id": f"msg_{unique}", "type": "message", "status": "completed", "role": "assistant"}
        if not is_stream:
            item["content"] = [build_part(text)]
            return streams.TRANSLATED_TYPE, streams.write_line(
                finish_response(response, [item], status="completed", tokens=0)
            )
        numbers, at = count(), {"item_id": item["id"], "output_index": 0, "content_index": 0}
        growing = {**item, "status": "in_progress", "content": []}
        events = [
            write_numbered(numbers, "response.created", response=response),
            write_numbered(numbers, "response.in_progress", response=response),
            write_numbered(numbers, "response.output_item.added", output_index=0, item=growing),
            write_numbered(numbers, "response.content_part.added", **at, part=build_part("")),
            write_numbered(numbers, "response.output_text.delta", **at, delta=text, logprobs=[]),
            write_numbered(numbers, "response.output_text.done", **at, text=text, logprobs=[]),
            write_numbered(numbers, "response.content_part.done", **at, part=build_part(text)),
        ]
        return streams.SSE_TYPE, streams.complete_stream(b"".join(events), self.reader())


def build_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def build_response(identity: str, model: str, now: int) -> Json:
    """Return a response that has only begun; ``now`` is in seconds since the epoch."""
    return {
        "id": identity,
        "object": "response",
        "created_at": now,
        "completed_at": None,
        "status": "in_progress",
        "model": model,
        "output": [],
        "usage": None,
        **PLAIN,
    }


def finish_response(response: Json, items: list[Json], *, status: str, tokens: int) -> Json:
    """Return the response with all its items; ``status`` is completed or incomplete."""
    is_complete = status == "completed"
    return {
        **response,
        "status": status,
        "completed_at": response.get("created_at") if is_complete else None,
        "incomplete_details": None if is_complete else {"reason": "max_output_tokens"},
        "output": items,
        "usage": {
            "input_tokens": 0,
            "output_tokens": tokens,
            "total_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }
