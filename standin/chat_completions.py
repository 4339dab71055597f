"""The endpoints ``/v1/chat/completions`` and ``/v1/completions``."""

from abc import abstractmethod

from standin import openai
from standin.catalogue import Shelf
from standin.completion import Prompt, answer
from standin.incoming import Request
from standin.speech import Chunk, Shape
from standin.wire import SSE_TYPE, UNIX_NOW, Json, Refusal, Reply, Stream, data, translated_reply

DONE = b"data: [DONE]\n\n"


async def chat_completions(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json()
    if not asked.get("messages"):
        raise Refusal(400, "[] is too short - 'messages'")
    name = asked.get("model") or ""
    prompt = Prompt(
        model=name,
        heard=asked["messages"],
        is_streamed=asked.get("stream") is True,
        tools=asked.get("tools") or [],
        think=openai.think(asked.get("reasoning_effort") or (asked.get("reasoning") or {}).get("effort")),
        temperature=asked.get("temperature"),
    )
    return await answer(shelf, prompt, ChatCompletion(name, includes_usage=includes_usage(asked)))


async def completions(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json()
    name = asked.get("model") or ""
    prompt = Prompt(
        model=name,
        heard={"system": None, "prompt": asked.get("prompt") or ""},
        is_streamed=asked.get("stream") is True,
        is_empty=not asked.get("prompt"),
        temperature=asked.get("temperature"),
        verb="generate",
    )
    return await answer(shelf, prompt, TextCompletion(name, includes_usage=includes_usage(asked)))


def includes_usage(asked: Json) -> bool:
    return (asked.get("stream_options") or {}).get("include_usage") is True


def usage(end: Json) -> Json:
    asked, answered = end.get("prompt_eval_count", 0), end.get("eval_count", 0)
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


class Completion(Shape):
    """Shared by chat and text completions: the envelope of an answer and of each part."""

    stream_type = SSE_TYPE
    id: str
    whole_kind: str
    part_kind: str
    nothing: Json  # the content of a chunk that says nothing

    def __init__(self, model: str, *, includes_usage: bool) -> None:
        self._model = model
        self._includes_usage = includes_usage

    @abstractmethod
    def _choice(self, chunk: Chunk) -> Json:
        """Return the fields of the whole answer's only choice."""

    def whole(self, chunk: Chunk) -> Reply:
        answer = self._envelope(self.whole_kind, [self._choice(chunk)], self._model)
        return translated_reply({**answer, "usage": usage(chunk.end)})

    def failure(self, message: str) -> bytes:
        """Return an empty chunk without a model: Ollama reads the error as a chunk and loses its message."""
        return self.part_of({**self.nothing, "finish_reason": None}, model="")

    def part_of(self, choice: Json, model: str | None = None) -> bytes:
        choices = [{"index": 0, **choice}]
        return data(self._envelope(self.part_kind, choices, self._model if model is None else model))

    def ending(self, end: Json) -> bytes:
        numbers = {**self._envelope(self.part_kind, [], self._model), "usage": usage(end)}
        return (data(numbers) if self._includes_usage else b"") + DONE

    def _envelope(self, kind: str, choices: list[Json], model: str) -> Json:
        head = {"id": self.id, "object": kind, "created": UNIX_NOW, "model": model}
        return {**head, "system_fingerprint": "fp_ollama", "choices": choices}


class ChatCompletion(Completion):
    """A chat completion; as a stream: the role, the chunks, the end, and the usage if requested."""

    id, whole_kind, part_kind = "chatcmpl-1", "chat.completion", "chat.completion.chunk"
    nothing = {"delta": {"content": ""}}
    _has_begun = False
    _has_called = False

    def part(self, chunk: Chunk) -> bytes:
        is_done = chunk.end["done"]
        is_trailer = is_done and self._has_begun and not (chunk.content or chunk.thinking or chunk.tool_calls)
        opening = b"" if is_trailer else self._delta(chunk)
        if not is_done:
            return opening
        reason = "tool_calls" if self._has_called else chunk.end["done_reason"]
        return opening + self.part_of({"delta": {}, "finish_reason": reason}) + self.ending(chunk.end)

    def _choice(self, chunk: Chunk) -> Json:
        reason = "tool_calls" if chunk.tool_calls else chunk.end.get("done_reason")
        return {"index": 0, "message": {"role": "assistant", **delta_fields(chunk)}, "finish_reason": reason}

    def _delta(self, chunk: Chunk) -> bytes:
        role = {} if self._has_begun else {"role": "assistant"}
        self._has_begun = True
        self._has_called = self._has_called or bool(chunk.tool_calls)
        return self.part_of({"delta": {**role, **delta_fields(chunk)}, "finish_reason": None})


def delta_fields(chunk: Chunk) -> Json:
    reasoning = {"reasoning": chunk.thinking} if chunk.thinking else {}
    calls = {"tool_calls": openai.tool_calls(chunk.tool_calls)} if chunk.tool_calls else {}
    return {"content": chunk.content, **reasoning, **calls}


class TextCompletion(Completion):
    """A text completion, without thinking."""

    id, whole_kind, part_kind = "cmpl-1", "text_completion", "text_completion"
    nothing = {"text": ""}

    def part(self, chunk: Chunk) -> bytes:
        part = self.part_of(self._choice(chunk))
        return part + self.ending(chunk.end) if chunk.end["done"] else part

    def _choice(self, chunk: Chunk) -> Json:
        return {"text": chunk.content, "index": 0, "finish_reason": chunk.end.get("done_reason")}
