"""``/api/chat`` and ``/api/generate``: one JSON object, or a line of JSON for each chunk."""

from abc import ABC, abstractmethod

import orjson

from proxy.domain.formats.answers.framing import (
    JSON_TYPE,
    NDJSON_TYPE,
    Json,
    Lines,
    created_at,
    line,
    object_at,
    object_in,
    objects_at,
    text_at,
    written,
)
from proxy.domain.formats.answers.stream_reader import Watch


class NativeAnswers(ABC):
    """Each line says something in fields of its own; the last one is done."""

    context: Json = {}

    def watch(self) -> "NativeWatch":
        return NativeWatch(self)

    def made_up(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        head: Json = {"model": model, "created_at": created_at(now)}
        last = self.done(tokens=0)
        if not is_stream:
            return JSON_TYPE, written({**head, **self.saying(text), **last})
        first = line({**head, **self.saying(text), "done": False})
        return NDJSON_TYPE, first + line({**head, **self.saying(""), **last})

    @abstractmethod
    def said(self, value: Json) -> str:
        """The text of one line, thoughts and calls included."""

    @abstractmethod
    def saying(self, text: str) -> Json:
        """The fields of a line that say it."""

    def done(self, *, tokens: int) -> Json:
        """The further fields of a last line."""
        return {
            "done": True,
            "done_reason": "stop",
            **self.context,
            "total_duration": 0,
            "load_duration": 0,
            "prompt_eval_count": 0,
            "prompt_eval_duration": 0,
            "eval_count": tokens,
            "eval_duration": 0,
        }


class ChatAnswers(NativeAnswers):
    def said(self, value: Json) -> str:
        message = object_at(value, "message")
        text = text_at(message, "thinking") + text_at(message, "content")
        if "tool_calls" in message:
            text += "".join([called(call) for call in objects_at(message, "tool_calls")])
        return text

    def saying(self, text: str) -> Json:
        return {"message": {"role": "assistant", "content": text}}


class GenerateAnswers(NativeAnswers):
    context: Json = {"context": []}  # the ids of the tokens are not known

    def said(self, value: Json) -> str:
        return text_at(value, "thinking") + text_at(value, "response")

    def saying(self, text: str) -> Json:
        return {"response": text}


class NativeWatch(Watch):
    def __init__(self, answers: NativeAnswers) -> None:
        super().__init__(Lines())
        self._answers = answers
        self._last: Json = {}

    def _read(self, frame: bytes) -> str:
        value = object_in(frame)
        if value.get("done") is True or "error" in value:
            self._is_over = True
        if "model" in value:
            self._last = value
        return self._answers.said(value)

    def _end(self) -> bytes:
        head: Json = {"model": text_at(self._last, "model")}
        head["created_at"] = text_at(self._last, "created_at") or created_at(0)
        last = self._answers.done(tokens=self._said_times)
        return line({**head, **self._answers.saying(""), **last})


def called(call: Json) -> str:
    """A call, which comes as a whole, as text."""
    function = object_at(call, "function")
    return text_at(function, "name") + orjson.dumps(function.get("arguments")).decode()
