"""``/v1/chat/completions``: one JSON object, or a chunk for each word, then ``[DONE]``."""

from abc import ABC, abstractmethod

from proxy.domain.formats.answers.framing import (
    SSE_TYPE,
    TRANSLATED_TYPE,
    Events,
    Json,
    data,
    is_json,
    line,
    object_at,
    object_in,
    objects_at,
    text_at,
)
from proxy.domain.formats.answers.stream_reader import Watch, ended

DONE = b"[DONE]"
FINGERPRINT = "fp_ollama"
USAGE: Json = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


class ChunkWatch(Watch, ABC):
    """Of a stream of chunks, each with one choice."""

    def __init__(self) -> None:
        super().__init__(Events())
        self._last: Json = {}
        self._has_finished = False  # only [DONE] is missing

    def _read(self, frame: bytes) -> str:
        chunk = object_in(frame)
        if frame == DONE or "error" in chunk:
            self._is_over = True
        if chunk.get("model"):  # a chunk without one is how Ollama tells of an error
            self._last = chunk
        return "".join([self._chosen(choice) for choice in objects_at(chunk, "choices")])

    def _chosen(self, choice: Json) -> str:
        if choice.get("finish_reason"):
            self._has_finished = True
        return self._said(choice)

    def _end(self) -> bytes:
        head = {key: value for key, value in self._last.items() if key not in ("choices", "usage")}
        finish = b"" if self._has_finished else data({**head, "choices": [self._finished()]})
        return finish + b"data: " + DONE + b"\n\n"

    @abstractmethod
    def _said(self, choice: Json) -> str:
        """The text of one choice, thoughts and calls included."""

    @abstractmethod
    def _finished(self) -> Json:
        """The last choice."""


class ChatWatch(ChunkWatch):
    """A tool call that is cut ends like one that was too long for the model, so that nobody takes it for complete."""

    def __init__(self) -> None:
        super().__init__()
        self._arguments: list[str] | None = None  # of the last call, in pieces

    def _said(self, choice: Json) -> str:
        delta = object_at(choice, "delta")
        text = text_at(delta, "reasoning") + text_at(delta, "reasoning_content") + text_at(delta, "content")
        if "tool_calls" in delta:
            text += "".join([self._called(call) for call in objects_at(delta, "tool_calls")])
        return text

    def _called(self, call: Json) -> str:
        function = object_at(call, "function")
        name, arguments = text_at(function, "name"), text_at(function, "arguments")
        if name or self._arguments is None:
            self._arguments = []
        self._arguments.append(arguments)
        return name + arguments

    def _finished(self) -> Json:
        return {"index": 0, "delta": {}, "finish_reason": self._reason()}

    def _reason(self) -> str:
        if self._arguments is None:
            return "stop"
        return "tool_calls" if is_json("".join(self._arguments)) else "length"


class ChatCompletionAnswers:
    def watch(self) -> ChatWatch:
        return ChatWatch()

    def made_up(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        head = head_of(f"chatcmpl-{unique}", "chat.completion", model, now)
        message: Json = {"role": "assistant", "content": text}
        if not is_stream:
            choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
            return TRANSLATED_TYPE, line({**head, "choices": [choice], "usage": USAGE})
        head["object"] = "chat.completion.chunk"
        first = data({**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]})
        return SSE_TYPE, ended(first, self.watch())


def head_of(identity: str, kind: str, model: str, now: float) -> Json:
    return {
        "id": identity,
        "object": kind,
        "created": int(now),
        "model": model,
        "system_fingerprint": FINGERPRINT,
    }
