"""OpenAI's ``/v1/chat/completions``, a list of messages, and ``/v1/completions``, a prompt that may be flattened.

Their answers are one JSON object, or a chunk for each word, then ``[DONE]``.
"""

from abc import ABC, abstractmethod

from proxy.formats import flattened, payloads, streams
from proxy.formats.base import Edit, Part, Payload, Prompt
from proxy.formats.code_completion import is_code_completion
from proxy.formats.json_text import Change
from proxy.formats.streams import Delta, Json, get_object, get_objects, get_text

DONE = b"[DONE]"
FINGERPRINT = "fp_ollama"
USAGE: Json = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def build_head(identity: str, kind: str, model: str, now: float) -> Json:
    return {
        "id": identity,
        "object": kind,
        "created": int(now),
        "model": model,
        "system_fingerprint": FINGERPRINT,
    }


class ChunkReader(streams.AnswerReader, ABC):
    """Reads a stream of chunks, each with one choice."""

    def __init__(self) -> None:
        super().__init__(streams.EventFrames())
        self._last: Json = {}
        self._has_finished = False  # only [DONE] is missing

    def _read(self, frame: bytes) -> Delta:
        chunk = streams.parse_object(frame)
        if frame == DONE or "error" in chunk:
            self._is_over = True
        # Ollama reports an error in a chunk without a model: its head would be wrong for the chunks that end this.
        if chunk.get("model"):
            self._last = chunk
        choices = get_objects(chunk, "choices")
        if any(choice.get("finish_reason") for choice in choices):
            self._has_finished = True
        return streams.join_deltas([self._read_choice(choice) for choice in choices])

    def _end(self) -> bytes:
        # Drop the usage: with stream_options.include_usage each chunk has one, and all but the last are null.
        head = {key: value for key, value in self._last.items() if key not in ("choices", "usage")}
        finish = b"" if self._has_finished else streams.write_data({**head, "choices": [self._last_choice()]})
        return finish + b"data: " + DONE + b"\n\n"

    @abstractmethod
    def _read_choice(self, choice: Json) -> Delta:
        """Return what one choice adds."""

    @abstractmethod
    def _last_choice(self) -> Json: ...


class ChatReader(ChunkReader):
    def __init__(self) -> None:
        super().__init__()
        self._arguments: list[str] | None = None  # of the last call, in pieces

    def _read_choice(self, choice: Json) -> Delta:
        delta = get_object(choice, "delta")
        content = get_text(delta, "content")
        # Thoughts come under two names, Ollama's and DeepSeek's.
        text = get_text(delta, "reasoning") + get_text(delta, "reasoning_content") + content
        for call in get_objects(delta, "tool_calls"):
            function = get_object(call, "function")
            name, arguments = get_text(function, "name"), get_text(function, "arguments")
            # Only the first piece of a call has a name.
            if name or self._arguments is None:
                self._arguments = []
            self._arguments.append(arguments)
            text += name + arguments
        return Delta(text, content)

    def _last_choice(self) -> Json:
        reason = "stop"
        if self._arguments is not None:
            # A call that is cut off ends like one that hit the token limit, so that nobody takes it for complete.
            reason = "tool_calls" if streams.is_json("".join(self._arguments)) else "length"
        return {"index": 0, "delta": {}, "finish_reason": reason}


class OpenAIChat(payloads.SamplingBesidePrompt, payloads.MessageFormat):
    """The content of a message is a string or a list of blocks; the arguments of calls are JSON in a string."""

    name = "chat_completions"
    reader = ChatReader

    def write_answer(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        head = build_head(f"chatcmpl-{unique}", "chat.completion", model, now)
        message: Json = {"role": "assistant", "content": text}
        if not is_stream:
            choice: Json = {"index": 0, "message": message, "finish_reason": "stop"}
            return streams.TRANSLATED_TYPE, streams.write_line({**head, "choices": [choice], "usage": USAGE})
        head["object"] = "chat.completion.chunk"
        first = streams.write_data({**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]})
        return streams.SSE_TYPE, streams.complete_stream(first, self.reader())


class CompletionReader(ChunkReader):
    def _read_choice(self, choice: Json) -> Delta:
        text = get_text(choice, "text")
        return Delta(text, text)

    def _last_choice(self) -> Json:
        return build_choice("", "stop")


class OpenAICompletions(payloads.SamplingBesidePrompt):
    name = "completions"
    long_field = "prompt"
    reader = CompletionReader

    def read(self, payload: Payload) -> Prompt | None:
        prompt = payload.get("prompt")
        if not isinstance(prompt, str) or not prompt or payload.get("suffix"):
            return None
        model, asks_stream = payloads.model_of(payload), payloads.is_stream(payload, default=False)
        if found := flattened.read(prompt, [], model, is_stream=asks_stream):
            return found
        if is_code_completion(prompt):
            return None
        # The part takes no block at its end, because the model continues exactly there.
        return Prompt(model, [Part("user", prompt, 0)], takes_top=True, is_stream=asks_stream)

    def write_edit(self, payload: Payload, prompt: Prompt, edit: Edit) -> list[Change]:
        if isinstance(prompt, flattened.FlattenedPrompt):
            return flattened.write_edit(("prompt",), prompt, edit)
        return [payloads.put_before(("prompt",), payload["prompt"], edit.top)] if edit.top else []

    def write_answer(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        head = build_head(f"cmpl-{unique}", "text_completion", model, now)
        if not is_stream:
            return streams.TRANSLATED_TYPE, streams.write_line(
                {**head, "choices": [build_choice(text, "stop")], "usage": USAGE}
            )
        first = streams.write_data({**head, "choices": [build_choice(text, None)]})
        return streams.SSE_TYPE, streams.complete_stream(first, self.reader())


def build_choice(text: str, finish_reason: str | None) -> Json:
    return {"text": text, "index": 0, "finish_reason": finish_reason}
