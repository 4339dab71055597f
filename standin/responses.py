"""The endpoint ``/v1/responses``: OpenAI's later format, a list of items streamed as named events."""

from typing import Any

import orjson

from standin import openai
from standin.catalogue import Shelf
from standin.completion import Prompt, answer
from standin.incoming import Request
from standin.speech import Chunk, Shape
from standin.wire import SSE_TYPE, UNIX_NOW, Json, Reply, Stream, event, translated_reply

RESPONSE_ID = "resp_1"
MESSAGE_ID = "msg_1"
REASONING_ID = "rs_1"
IN_MESSAGE = {"item_id": MESSAGE_ID, "content_index": 0}
IN_REASONING = {"item_id": REASONING_ID, "summary_index": 0}


async def responses(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json()
    prompt = Prompt(
        model=asked.get("model") or "",
        heard={"instructions": asked.get("instructions"), "input": asked.get("input")},
        is_streamed=asked.get("stream") is True,
        tools=[{"function": tool} for tool in asked.get("tools") or []],
        think=openai.think((asked.get("reasoning") or {}).get("effort")),
        temperature=asked.get("temperature"),
    )
    return await answer(shelf, prompt, Response(asked))


class Response(Shape):
    """A response; as a stream: the events by which its items grow, one after the other."""

    stream_type = SSE_TYPE
    stream_headers = openai.KEPT_OPEN

    def __init__(self, asked: Json) -> None:
        self._asked = asked
        self._sent = 0
        self._growing = ""  # the type of the growing item
        self._thought = ""
        self._said = ""
        self._items: list[Json] = []  # complete items

    def whole(self, chunk: Chunk) -> Reply:
        items = [reasoning_item(chunk.thinking)] if chunk.thinking else []
        items += call_items(chunk) or [message_item(chunk.content)]
        return translated_reply(self._response(items, chunk.end))

    def part(self, chunk: Chunk) -> bytes:
        events = b"" if self._sent else self._begin()
        if chunk.thinking:
            events += self._think(chunk.thinking)
        if chunk.tool_calls:
            events += self._call(chunk)
        elif chunk.content:
            events += self._say(chunk.content)
        return events + self._end(chunk.end) if chunk.end["done"] else events

    def failure(self, message: str) -> bytes:
        """Return nothing: Ollama reads the error as an empty chunk, and the stream just ends."""
        return b""

    def _begin(self) -> bytes:
        response = self._response([], None)
        started = self._event("response.created", response=response)
        return started + self._event("response.in_progress", response=response)

    def _think(self, thinking: str) -> bytes:
        events = b""
        if self._growing != "reasoning":
            events = self._grow({"id": REASONING_ID, "type": "reasoning", "summary": []})
        self._thought += thinking
        return events + self._item_event("response.reasoning_summary_text.delta", **IN_REASONING, delta=thinking)

    def _say(self, content: str) -> bytes:
        events = b""
        if self._growing != "message":
            events = self._finish() + self._grow(message_item("") | {"status": "in_progress", "content": []})
            events += self._item_event("response.content_part.added", **IN_MESSAGE, part=text_part(""))
        self._said += content
        return events + self._item_event("response.output_text.delta", **IN_MESSAGE, delta=content, logprobs=[])

    def _call(self, chunk: Chunk) -> bytes:
        events = self._finish()
        for item in call_items(chunk):
            place, arguments = {"item_id": item["id"]}, item["arguments"]
            events += self._grow(item | {"status": "in_progress", "arguments": ""})
            events += self._item_event("response.function_call_arguments.delta", **place, delta=arguments)
            events += self._item_event("response.function_call_arguments.done", **place, arguments=arguments)
            events += self._done(item)
        return events

    def _end(self, end: Json) -> bytes:
        events = self._finish()
        return events + self._event("response.completed", response=self._response(self._items, end))

    def _grow(self, item: Json) -> bytes:
        self._growing = item["type"]
        return self._item_event("response.output_item.added", item=item)

    def _finish(self) -> bytes:
        """Return the events that complete the growing item."""
        if self._growing == "reasoning":
            events = self._item_event("response.reasoning_summary_text.done", **IN_REASONING, text=self._thought)
            return events + self._done(reasoning_item(self._thought))
        if self._growing == "message":
            events = self._item_event("response.output_text.done", **IN_MESSAGE, text=self._said, logprobs=[])
            events += self._item_event("response.content_part.done", **IN_MESSAGE, part=text_part(self._said))
            return events + self._done(message_item(self._said))
        return b""

    def _done(self, item: Json) -> bytes:
        event = self._item_event("response.output_item.done", item=item)
        self._growing = ""
        self._items.append(item)
        return event

    def _item_event(self, kind: str, **fields: Any) -> bytes:
        return self._event(kind, output_index=len(self._items), **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        """Return the next event, with sorted keys, as Go sorts those of a map."""
        unsorted = {**fields, "type": kind, "sequence_number": self._sent}
        self._sent += 1
        return event(kind, orjson.loads(orjson.dumps(unsorted, option=orjson.OPT_SORT_KEYS)))

    def _response(self, items: list[Json], end: Json | None) -> Json:
        """Return the response with these items; without ``end``, as one in progress."""
        asked = self._asked
        return {
            "id": RESPONSE_ID,
            "object": "response",
            "created_at": UNIX_NOW,
            "completed_at": UNIX_NOW if end else None,
            "status": "completed" if end else "in_progress",
            "incomplete_details": None,
            "model": asked.get("model") or "",
            "previous_response_id": None,
            "instructions": asked.get("instructions") or None,
            "output": items,
            "error": None,
            "tools": asked.get("tools") or [],
            "tool_choice": "auto",
            "truncation": asked.get("truncation") or "disabled",
            "parallel_tool_calls": True,
            "text": {"format": (asked.get("text") or {}).get("format") or {"type": "text"}},
            "top_p": number(asked.get("top_p")),
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "top_logprobs": 0,
            "temperature": number(asked.get("temperature")),
            "reasoning": asked.get("reasoning") or None,
            "usage": usage(end) if end else None,
            "max_output_tokens": asked.get("max_output_tokens"),
            "max_tool_calls": None,
            "store": False,
            "background": asked.get("background") or False,
            "service_tier": "default",
            "metadata": {},
            "safety_identifier": None,
            "prompt_cache_key": None,
        }


def reasoning_item(thought: str) -> Json:
    summary = [{"type": "summary_text", "text": thought}]
    return {"id": REASONING_ID, "type": "reasoning", "summary": summary, "encrypted_content": thought}


def message_item(text: str) -> Json:
    item = {"id": MESSAGE_ID, "type": "message", "status": "completed", "role": "assistant"}
    return {**item, "content": [text_part(text)]}


def text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def call_items(chunk: Chunk) -> list[Json]:
    return [
        {
            "id": f"fc_1_{index}",
            "type": "function_call",
            "status": "completed",
            "call_id": call["id"],
            "name": call["function"]["name"],
            "arguments": openai.arguments(call),
        }
        for index, call in enumerate(chunk.tool_calls)
    ]


def number(given: float | None) -> float:
    """Format a number like Go: whole numbers have no fraction. Defaults to 1."""
    given = 1 if given is None else given
    return int(given) if given == int(given) else given


def usage(end: Json) -> Json:
    asked, answered = end.get("prompt_eval_count", 0), end.get("eval_count", 0)
    return {
        "input_tokens": asked,
        "output_tokens": answered,
        "total_tokens": asked + answered,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
