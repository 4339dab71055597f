"""Ollama's own formats: ``/api/chat``, a list of messages, and ``/api/generate``, a prompt that may be flattened.

Their answers are one JSON object, or a line of JSON for each chunk; the last line is marked as done.
"""

from abc import ABC, abstractmethod
from dataclasses import replace

import orjson

from proxy.formats import flattened, payloads, streams
from proxy.formats.base import GAP, Edit, Part, Payload, Prompt
from proxy.formats.code_completion import is_code_completion
from proxy.formats.json_text import Change, MembersChange, TextChange
from proxy.formats.streams import Delta, Json, get_object, get_objects, get_text

DEFAULT_TEMPERATURE = 0.8


class OllamaFormat(ABC):
    """The base of both formats. Each line of an answer has its text in fields of the format's own."""

    context: Json = {}

    def raise_temperature(self, payload: Payload, by: float, seed: int) -> list[Change]:
        # Change nothing else here: if num_ctx, num_batch and the like change, Ollama reloads the model.
        options = payload.get("options")
        if not isinstance(options, dict | None):
            return []
        members = payloads.raise_temperature(options or {}, by, default=DEFAULT_TEMPERATURE) | {"seed": seed}
        return [MembersChange((), {"options": members}) if options is None else MembersChange(("options",), members)]

    def reader(self) -> "OllamaReader":
        return OllamaReader(self)

    def write_answer(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        head: Json = {"model": model, "created_at": streams.format_time(now)}
        last = self.last_fields(tokens=0)
        if not is_stream:
            return streams.JSON_TYPE, streams.write_json({**head, **self.text_fields(text), **last})
        # The last line has an empty text: LiteLLM raises on a generate line without one.
        first = streams.write_line({**head, **self.text_fields(text), "done": False})
        return streams.NDJSON_TYPE, first + streams.write_line({**head, **self.text_fields(""), **last})

    @abstractmethod
    def read_line(self, value: Json) -> Delta:
        """Return what one line adds."""

    @abstractmethod
    def text_fields(self, text: str) -> Json:
        """Return the fields of a line that say the text."""

    def last_fields(self, *, tokens: int) -> Json:
        """Return the additional fields of a last line."""
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


class OllamaReader(streams.AnswerReader):
    def __init__(self, wire: OllamaFormat) -> None:
        super().__init__(streams.LineFrames())
        self._format = wire
        self._last: Json = {}

    def _read(self, frame: bytes) -> Delta:
        value = streams.parse_object(frame)
        # The status has long been 200 when a running answer fails: the error is its last line, and no done line comes.
        if value.get("done") is True or "error" in value:
            self._is_over = True
        if "model" in value:
            self._last = value
        return self._format.read_line(value)

    def _end(self) -> bytes:
        head: Json = {"model": get_text(self._last, "model")}
        head["created_at"] = get_text(self._last, "created_at") or streams.format_time(0)
        last = self._format.last_fields(tokens=self._delta_count)
        return streams.write_line({**head, **self._format.text_fields(""), **last})


class OllamaChat(OllamaFormat, payloads.MessageFormat):
    name = "chat"
    streams_by_default = True

    def is_system(self, message: object) -> bool:
        # A developer message does not count: Ollama keeps the Modelfile's SYSTEM beside it.
        return isinstance(message, dict) and super().is_system(message) and message["role"].lower() == "system"

    def read_line(self, value: Json) -> Delta:
        message = get_object(value, "message")
        content = get_text(message, "content")
        text = get_text(message, "thinking") + content
        # Unlike OpenAI's, each call comes as a whole, its arguments as an object.
        for call in get_objects(message, "tool_calls"):
            function = get_object(call, "function")
            text += get_text(function, "name") + orjson.dumps(function.get("arguments")).decode()
        return Delta(text, content)

    def text_fields(self, text: str) -> Json:
        return {"message": {"role": "assistant", "content": text}}


class OllamaGenerate(OllamaFormat):
    name = "generate"
    long_field = "prompt"
    context: Json = {"context": []}  # the ids of the tokens are not known

    def read(self, payload: Payload) -> Prompt | None:
        prompt, system = payload.get("prompt"), payload.get("system")
        # Without a prompt the request loads or unloads a model: an injected one would make it answer.
        if not isinstance(prompt, str) or not prompt or not isinstance(system, str | None):
            return None
        # A suffix asks to complete code. Ollama refuses raw together with a system text (status 400), and a template in
        # the request may have no place for one.
        if payload.get("raw") or payload.get("suffix") or payload.get("template"):
            return None
        top = [Part("system", system, 0)] if system else []
        model, asks_stream = payloads.model_of(payload), payloads.is_stream(payload, default=True)
        if found := flattened.read(prompt, top, model, is_stream=asks_stream):
            return found
        if is_code_completion(prompt):
            return None
        parts = [*top, Part("user", prompt, len(top), takes_block=True, has_media=bool(payload.get("images")))]
        return Prompt(model, parts, bool(system), asks_stream)

    def write_edit(self, payload: Payload, prompt: Prompt, edit: Edit) -> list[Change]:
        changes, system = list[Change](), payload.get("system")
        if edit.top and system:
            changes.append(payloads.put_before(("system",), system, edit.top))
        if isinstance(prompt, flattened.FlattenedPrompt):
            top = "" if system else edit.top
            return [*changes, *flattened.write_edit(("prompt",), prompt, replace(edit, top=top))]
        if tail := edit.tails.get(len(prompt.parts) - 1):
            # Before the trailing white space, which stays the last thing that the model reads.
            said = len(payload["prompt"].rstrip())
            changes.append(TextChange(("prompt",), GAP + tail if said else tail, start=said))
        return changes

    def read_line(self, value: Json) -> Delta:
        content = get_text(value, "response")
        return Delta(get_text(value, "thinking") + content, content)

    def text_fields(self, text: str) -> Json:
        return {"response": text}
