"""``/v1/messages``: one JSON object, or the named events in which a message's blocks grow, one after the other."""

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

DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class MessageWatch(Watch):
    """A tool call that is cut ends like one that was too long for the model, so that nobody takes it for complete."""

    def __init__(self) -> None:
        super().__init__(Events())
        self._prompt_tokens = 0
        self._has_begun = False
        self._open: int | None = None  # the index of the block that grows
        self._arguments: list[str] | None = None  # of the last call, in pieces
        self._has_finished = False  # only the message's stop is missing

    def _read(self, frame: bytes) -> str:
        value = object_in(frame)
        kind = text_at(value, "type")
        if kind == "content_block_delta":
            return self._grown(object_at(value, "delta"))
        if kind == "content_block_start":
            return self._started(number_at(value, "index"), object_at(value, "content_block"))
        if kind == "content_block_stop":
            self._open = None
        elif kind == "message_start":
            self._has_begun = True
            self._prompt_tokens = number_at(object_at(object_at(value, "message"), "usage"), "input_tokens")
        elif kind == "message_delta":
            self._has_finished = True
        elif kind in ("message_stop", "error"):
            self._is_over = True
        return ""

    def _started(self, index: int, block: Json) -> str:
        self._open = index
        if block.get("type") != "tool_use":
            return text_at(block, "text") + text_at(block, "thinking")
        self._arguments = []
        return text_at(block, "name")

    def _grown(self, delta: Json) -> str:
        kind = text_at(delta, "type")
        text = text_at(delta, DELTAS.get(kind, ""))
        if kind == "input_json_delta" and self._arguments is not None:
            self._arguments.append(text)
        return text

    def _end(self) -> bytes:
        events = b"" if self._has_begun else begun("", "")
        if self._open is not None:
            events += event("content_block_stop", index=self._open)
        if not self._has_finished:
            usage = {"input_tokens": self._prompt_tokens, "output_tokens": self._said_times}
            events += event("message_delta", delta={"stop_reason": self._reason()}, usage=usage)
        return events + event("message_stop")

    def _reason(self) -> str:
        if self._arguments is None:
            return "end_turn"
        arguments = "".join(self._arguments)
        is_whole = is_json(arguments) or (not arguments and self._open is None)
        return "tool_use" if is_whole else "max_tokens"


class MessageAnswers:
    def watch(self) -> MessageWatch:
        return MessageWatch()

    def made_up(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        identity = f"msg_{unique}"
        if not is_stream:
            content = [{"type": "text", "text": text}]
            usage = {"input_tokens": 0, "output_tokens": 0}
            whole = {**head_of(identity, model), "content": content, "stop_reason": "end_turn", "usage": usage}
            return TRANSLATED_TYPE, line(whole)
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
        events = begun(identity, model)
        events += event("content_block_start", index=0, content_block=block)
        events += event("content_block_delta", index=0, delta=delta)
        return SSE_TYPE, ended(events, self.watch())


def head_of(identity: str, model: str) -> Json:
    return {"id": identity, "type": "message", "role": "assistant", "model": model}


def begun(identity: str, model: str) -> bytes:
    usage = {"input_tokens": 0, "output_tokens": 0}
    return event("message_start", message={**head_of(identity, model), "content": [], "usage": usage})
