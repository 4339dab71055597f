"""Anthropic's ``/v1/messages``: a system text beside the messages, and tool results inside the user's messages.

Its answers are one JSON object, or named events in which the blocks of a message grow one after the other.
"""

from typing import Any

from proxy.formats import payloads, streams
from proxy.formats.base import Part, Role
from proxy.formats.streams import Delta, Json, get_number, get_object, get_text

CALLS = ("tool_use", "server_tool_use")
NO_USAGE: Json = {"input_tokens": 0, "output_tokens": 0}
DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def split_user_message(content: list[Any], place: int) -> list[Part]:
    """Return the tool results, then what the user says."""
    # Ollama makes messages of them in this order, wherever the results are among the other blocks.
    said: list[tuple[Role, object]] = [
        ("tool", block.get("content")) for block in content if type_of(block) == "tool_result"
    ]
    if not said or any(type_of(block) in payloads.TEXT_BLOCKS for block in content):
        said.append(("user", content))
    last = len(said)
    return [
        Part(
            role,
            payloads.text_of(each),
            place,
            takes_block=number == last and payloads.takes_text(content),
            has_media=payloads.has_media(each) or (number == last and payloads.has_media(content)),
        )
        for number, (role, each) in enumerate(said, 1)
    ]


def type_of(block: object) -> object:
    return block.get("type") if isinstance(block, dict) else None


class MessageReader(streams.AnswerReader):
    def __init__(self) -> None:
        super().__init__(streams.EventFrames())
        self._prompt_tokens = 0
        self._has_begun = False
        self._open: int | None = None  # the index of the block that grows
        self._arguments: list[str] | None = None  # of the last call, in pieces
        self._has_finished = False  # only the message's stop is missing

    def _read(self, frame: bytes) -> Delta:
        value = streams.parse_object(frame)
        kind = get_text(value, "type")
        if kind == "content_block_delta":
            return self._read_delta(get_object(value, "delta"))
        if kind == "content_block_start":
            self._open = get_number(value, "index")
            return self._read_block(get_object(value, "content_block"))
        if kind == "content_block_stop":
            self._open = None
        elif kind == "message_start":
            self._has_begun = True
            self._prompt_tokens = get_number(get_object(get_object(value, "message"), "usage"), "input_tokens")
        elif kind == "message_delta":
            # This event has the stop reason and comes only once: a second one would contradict it.
            self._has_finished = True
        elif kind in ("message_stop", "error"):
            self._is_over = True
        return Delta()

    def _read_block(self, block: Json) -> Delta:
        if block.get("type") != "tool_use":
            content = get_text(block, "text")
            return Delta(content + get_text(block, "thinking"), content)
        self._arguments = []
        return Delta(get_text(block, "name"))

    def _read_delta(self, delta: Json) -> Delta:
        kind = get_text(delta, "type")
        text = get_text(delta, DELTAS.get(kind, ""))
        if kind == "input_json_delta" and self._arguments is not None:
            self._arguments.append(text)
        return Delta(text, text if kind == "text_delta" else "")

    def _end(self) -> bytes:
        # Anthropic's clients build the message from these events: open blocks are closed from the inside out, and only
        # message_delta gives the stop reason.
        events = b"" if self._has_begun else write_start(build_head("", ""))
        if self._open is not None:
            events += streams.write_event("content_block_stop", index=self._open)
        if not self._has_finished:
            usage = {"input_tokens": self._prompt_tokens, "output_tokens": self._delta_count}
            events += streams.write_event("message_delta", delta={"stop_reason": self._stop_reason()}, usage=usage)
        return events + streams.write_event("message_stop")

    def _stop_reason(self) -> str:
        if self._arguments is None:
            return "end_turn"
        arguments = "".join(self._arguments)
        is_whole = streams.is_json(arguments) or (not arguments and self._open is None)
        # A call that is cut off ends like one that hit the token limit, so that nobody takes it for complete.
        return "tool_use" if is_whole else "max_tokens"


class AnthropicMessages(payloads.SamplingBesidePrompt, payloads.MessageFormat):
    name = "messages"
    system_field = "system"
    default_temperature = 0.8  # Ollama's own: unlike with OpenAI's formats, it sets none for this one
    hottest = 1.0  # the most that Anthropic's API takes
    has_seed = False
    reader = MessageReader

    def parts_of(self, message: object, place: int) -> list[Part]:
        content = message.get("content") if isinstance(message, dict) else None
        role = payloads.role_of(message) if isinstance(message, dict) else "user"
        if role == "user" and isinstance(content, list):
            return split_user_message(content, place)
        part = payloads.part_of(message, place)
        if role == "assistant" and isinstance(content, list):
            calls = [payloads.read_call(block, "input") for block in content if type_of(block) in CALLS]
            part = part._replace(calls=tuple(calls))
        return [part]

    def write_answer(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        head = build_head(f"msg_{unique}", model)
        if not is_stream:
            content = [{"type": "text", "text": text}]
            return streams.TRANSLATED_TYPE, streams.write_line(
                {**head, "content": content, "stop_reason": "end_turn", "usage": NO_USAGE}
            )
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        events = write_start(head)
        events += streams.write_event("content_block_start", index=0, content_block=block)
        events += streams.write_event("content_block_delta", index=0, delta=delta)
        return streams.SSE_TYPE, streams.complete_stream(events, self.reader())


def build_head(identity: str, model: str) -> Json:
    return {"id": identity, "type": "message", "role": "assistant", "model": model}


def write_start(head: Json) -> bytes:
    return streams.write_event("message_start", message={**head, "content": [], "usage": NO_USAGE})
