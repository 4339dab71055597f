"""The endpoints ``/v1/chat/completions`` and ``/v1/completions``."""

from standin import openai
from standin.completion import Prompt, answer
from standin.incoming import Request
from standin.shelf import Shelf
from standin.speech import Chunk, Shape
from standin.wire import SSE_TYPE, Json, Refusal, Reply, Stream, data

DONE = b"data: [DONE]\n\n"
FINGERPRINT = "fp_ollama"
FIELDS = {
    "model": str,
    "messages": list,
    "tools": list,
    "stream": bool,
    "stream_options": dict,
    "reasoning": dict,
}
GO_TYPES = {type(None): "<nil>", bool: "bool", int: "float64", float: "float64", dict: "map[string]interface {}"}


async def chat_completions(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json("ChatCompletionRequest", **FIELDS)
    messages = openai.objects(asked.get("messages"), "ChatCompletionRequest.messages of type openai.Message")
    if not messages:
        raise Refusal(400, "[] is too short - 'messages'")
    for message in messages:
        check_message(message)
    name = asked.get("model") or ""
    reasoning = asked.get("reasoning") or {}
    prompt = Prompt(
        model=name,
        heard=messages,
        is_streamed=asked.get("stream") is True,
        tools=openai.objects(asked.get("tools"), "ChatCompletionRequest.tools of type api.Tool"),
        think=openai.think(reasoning.get("effort") or asked.get("reasoning_effort")),
        temperature=asked.get("temperature"),
    )
    return await answer(shelf, prompt, ChatCompletion(name, includes_usage=includes_usage(asked)))


async def completions(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json("CompletionRequest", model=str, prompt=str, suffix=str, stream=bool, stream_options=dict)
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


def check_message(message: Json) -> None:
    """Raise Refusal for what Ollama cannot translate."""
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            check_part(part)
    elif not isinstance(content, str) and message.get("tool_calls") is None:
        raise Refusal(400, f"invalid message content type: {GO_TYPES[type(content)]}")
    for call in openai.objects(message.get("tool_calls"), "Message.tool_calls of type openai.ToolCall"):
        arguments = (call.get("function") or {}).get("arguments") or ""
        openai.check_arguments(arguments, "invalid tool call arguments")


def check_part(part: Json) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return
    if kind != "image_url":
        raise Refusal(400, "invalid message format")
    image = part.get("image_url")
    openai.check_image(image.get("url") if isinstance(image, dict) else image)


def usage(end: Json) -> Json:
    asked, answered = end.get("prompt_eval_count", 0), end.get("eval_count", 0)
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


class ChatCompletion(Shape):
    """A chat completion; as a stream: the role, the chunks, the end, and the usage if requested."""

    stream_type = SSE_TYPE

    def __init__(self, model: str, *, includes_usage: bool) -> None:
        self._model = model
        self._includes_usage = includes_usage
        self._has_begun = False
        self._has_called = False

    def whole(self, chunk: Chunk) -> Reply:
        reason = "tool_calls" if chunk.tool_calls else chunk.end.get("done_reason")
        choice = {"index": 0, "message": {"role": "assistant", **delta_fields(chunk)}, "finish_reason": reason}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": openai.CREATED, "model": self._model}
        return openai.reply_translated(
            {**head, "system_fingerprint": FINGERPRINT, "choices": [choice], "usage": usage(chunk.end)}
        )

    def part(self, chunk: Chunk) -> bytes:
        is_done = chunk.end["done"]
        is_trailer = is_done and self._has_begun and not (chunk.content or chunk.thinking or chunk.tool_calls)
        opening = b"" if is_trailer else self._delta(chunk)
        return opening + self._ending(chunk.end) if is_done else opening

    def failure(self, message: str) -> bytes:
        """Return an empty chunk without a model: Ollama reads the error as a chunk and loses its message."""
        return data(self._chunk([{"index": 0, "delta": {"content": ""}, "finish_reason": None}], model=""))

    def _delta(self, chunk: Chunk) -> bytes:
        role = {} if self._has_begun else {"role": "assistant"}
        self._has_begun = True
        self._has_called = self._has_called or bool(chunk.tool_calls)
        return data(self._chunk([{"index": 0, "delta": {**role, **delta_fields(chunk)}, "finish_reason": None}]))

    def _ending(self, end: Json) -> bytes:
        reason = "tool_calls" if self._has_called else end["done_reason"]
        finish = data(self._chunk([{"index": 0, "delta": {}, "finish_reason": reason}]))
        numbers = data({**self._chunk([]), "usage": usage(end)}) if self._includes_usage else b""
        return finish + numbers + DONE

    def _chunk(self, choices: list[Json], model: str | None = None) -> Json:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": openai.CREATED,
            "model": self._model if model is None else model,
            "system_fingerprint": FINGERPRINT,
            "choices": choices,
        }


def delta_fields(chunk: Chunk) -> Json:
    reasoning = {"reasoning": chunk.thinking} if chunk.thinking else {}
    calls = {"tool_calls": openai.tool_calls(chunk.tool_calls)} if chunk.tool_calls else {}
    return {"content": chunk.content, **reasoning, **calls}


class TextCompletion(Shape):
    """A text completion, without thinking."""

    stream_type = SSE_TYPE

    def __init__(self, model: str, *, includes_usage: bool) -> None:
        self._model = model
        self._includes_usage = includes_usage

    def whole(self, chunk: Chunk) -> Reply:
        head = {"id": "cmpl-1", "object": "text_completion", "created": openai.CREATED, "model": self._model}
        return openai.reply_translated(
            {**head, "system_fingerprint": FINGERPRINT, "choices": [text_choice(chunk)], "usage": usage(chunk.end)}
        )

    def part(self, chunk: Chunk) -> bytes:
        event = data(self._chunk([text_choice(chunk)], self._model))
        if not chunk.end["done"]:
            return event
        numbers = self._chunk([], self._model) | {"usage": usage(chunk.end)}
        return event + (data(numbers) if self._includes_usage else b"") + DONE

    def failure(self, message: str) -> bytes:
        """Return an empty chunk without a model, as in a chat."""
        return data(self._chunk([text_choice(Chunk())], model=""))

    def _chunk(self, choices: list[Json], model: str) -> Json:
        head = {"id": "cmpl-1", "object": "text_completion", "created": openai.CREATED, "choices": choices}
        numbers = {"usage": usage({})} if self._includes_usage else {}
        return {**head, "model": model, "system_fingerprint": FINGERPRINT, **numbers}


def text_choice(chunk: Chunk) -> Json:
    return {"text": chunk.content, "index": 0, "finish_reason": chunk.end.get("done_reason")}
