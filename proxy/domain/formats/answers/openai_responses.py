"""``/v1/responses``: one JSON object, or the named events in which a response's items grow, one after the other."""

from proxy.domain.formats.answers.framing import (
    SSE_TYPE,
    TRANSLATED_TYPE,
    Events,
    Json,
    event,
    is_json,
    line,
    number_at,
    object_at,
    object_in,
    text_at,
)
from proxy.domain.formats.answers.stream_reader import Watch, ended

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


class Sequence:
    """Writes events; ``number`` is that of the next one."""

    def __init__(self, number: int = 0) -> None:
        self._number = number

    def told(self, kind: str, **fields: object) -> bytes:
        self._number += 1
        return event(kind, sequence_number=self._number - 1, **fields)


class ResponseWatch(Watch):
    """A tool call that is cut is incomplete, and so is its response, like one that was too long for the model."""

    def __init__(self) -> None:
        super().__init__(Events())
        self._response: Json = {}
        self._next = 0  # the number of the next event
        self._items: list[Json] = []  # the complete ones
        self._item: Json | None = None  # the one that grows
        self._at: Json = {}  # its place
        self._part_at: Json | None = None  # the place of the part in it that grows
        self._text: list[str] = []  # what that says, in pieces
        self._is_told = False  # its end has come, though not that of all around it

    def _read(self, frame: bytes) -> str:
        value = object_in(frame)
        kind = text_at(value, "type")
        if kind:
            self._next = max(self._next, number_at(value, "sequence_number") + 1)
        if kind.endswith(".delta"):
            return self._grown(text_at(value, "delta"))
        if kind == "response.output_item.added":
            return self._added(value, object_at(value, "item"))
        if kind == "response.content_part.added":
            self._part_at, self._text = {"content_index": number_at(value, "content_index")}, []
        elif kind == "response.output_item.done":
            self._items.append(object_at(value, "item"))
            self._item = None
        elif kind.endswith(".done"):
            self._is_told = True
            if kind == "response.content_part.done":
                self._part_at = None
        elif kind in OVER:
            self._is_over = True
        elif kind in BEGUN:
            self._response = object_at(value, "response")
        return ""

    def _added(self, value: Json, item: Json) -> str:
        self._item, self._part_at, self._text = item, None, []
        self._is_told = False
        self._at = {"item_id": text_at(item, "id"), "output_index": number_at(value, "output_index")}
        return text_at(item, "name") if item.get("type") == "function_call" else ""

    def _grown(self, delta: str) -> str:
        self._is_told = False
        self._text.append(delta)
        return delta

    # --- the end ---

    def _end(self) -> bytes:
        sequence = Sequence(self._next)
        events, response = b"", self._response
        if not response:
            response = response_of("", "", 0)
            events = sequence.told("response.created", response=response)
        items = self._items
        if self._item is not None:
            item = self._whole(self._item)
            events += self._ended_part(sequence, item)
            events += sequence.told("response.output_item.done", output_index=self._at["output_index"], item=item)
            items = [*items, item]
        status = "incomplete" if items and items[-1].get("status") == "incomplete" else "completed"
        last = finished(response, items, status=status, tokens=self._said_times)
        return events + sequence.told(f"response.{status}", response=last)

    def _whole(self, item: Json) -> Json:
        """The item that grows, with what it says so far."""
        text, kind = "".join(self._text), item.get("type")
        if kind == "message":
            return {**item, "status": "completed", "content": [part_of(text)] if self._text else []}
        if kind == "reasoning":
            return {**item, "summary": [{"type": "summary_text", "text": text}], "encrypted_content": text}
        if kind == "function_call":
            return {**item, "status": "completed" if is_json(text) else "incomplete", "arguments": text}
        return item

    def _ended_part(self, sequence: Sequence, item: Json) -> bytes:
        """The events that end what grows in the item."""
        kind, text, events = item.get("type"), "".join(self._text), b""
        if kind == "reasoning" and self._text and not self._is_told:
            return sequence.told("response.reasoning_summary_text.done", **self._at, summary_index=0, text=text)
        if kind == "function_call" and item["status"] == "completed" and not self._is_told:
            return sequence.told("response.function_call_arguments.done", **self._at, arguments=text)
        if kind == "message" and self._part_at is not None:
            at = {**self._at, **self._part_at}
            if not self._is_told:
                events = sequence.told("response.output_text.done", **at, text=text, logprobs=[])
            events += sequence.told("response.content_part.done", **at, part=part_of(text))
        return events


class ResponseAnswers:
    def watch(self) -> ResponseWatch:
        return ResponseWatch()

    def made_up(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        response = response_of(f"resp_{unique}", model, int(now))
        item: Json = {"id": f"msg_{unique}", "type": "message", "status": "completed", "role": "assistant"}
        if not is_stream:
            item["content"] = [part_of(text)]
            return TRANSLATED_TYPE, line(finished(response, [item], status="completed", tokens=0))
        sequence, at = Sequence(), {"item_id": item["id"], "output_index": 0, "content_index": 0}
        growing = {**item, "status": "in_progress", "content": []}
        events = [
            sequence.told("response.created", response=response),
            sequence.told("response.in_progress", response=response),
            sequence.told("response.output_item.added", output_index=0, item=growing),
            sequence.told("response.content_part.added", **at, part=part_of("")),
            sequence.told("response.output_text.delta", **at, delta=text, logprobs=[]),
        ]
        return SSE_TYPE, ended(b"".join(events), self.watch())


def part_of(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def response_of(identity: str, model: str, now: int) -> Json:
    """A response that has only begun; ``now`` in seconds since the epoch."""
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


def finished(response: Json, items: list[Json], *, status: str, tokens: int) -> Json:
    """The response with all its items; ``status`` is completed or incomplete."""
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
