"""The endpoints ``/api/generate`` and ``/api/chat``, and the path of every prompt: checks, loading, the answer."""

from dataclasses import dataclass, field

from standin.behaviours import Fault, Model, bare_name
from standin.catalogue import Shelf
from standin.incoming import Request
from standin.speech import Chunk, Shape, build_answer, hang, write_script
from standin.wire import NDJSON_TYPE, NOW, Json, Refusal, Reply, Stream, go_json, json_reply, line

BYTES_PER_TOKEN = 4
NS_PER_PROMPT_TOKEN = 1_000_000
NS_PER_TOKEN = 20_000_000
LOAD_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in any format. ``heard`` is what the model reads; if it is empty (``is_empty``), the model is only
    loaded."""

    model: str
    heard: object
    is_streamed: bool
    is_empty: bool = False
    tools: list[Json] = field(default_factory=list)
    think: object = None
    temperature: object = None
    keep_alive: object = None
    verb: str = "chat"


class Lines(Shape):
    """The native API's format: one JSON object, or one for each chunk."""

    stream_type = NDJSON_TYPE

    def __init__(self, model: str) -> None:
        self._model = model

    def whole(self, chunk: Chunk) -> Reply:
        return json_reply(self._form(chunk))

    def part(self, chunk: Chunk) -> bytes:
        return line(self._form(chunk))

    def failure(self, message: str) -> bytes:
        return line({"error": message})

    def _form(self, chunk: Chunk) -> Json:
        message: Json = {"role": "assistant", "content": chunk.content}
        if chunk.thinking:
            message["thinking"] = chunk.thinking
        if chunk.tool_calls:
            message["tool_calls"] = chunk.tool_calls
        return {"model": self._model, "created_at": NOW, "message": message, **chunk.end}


class GenerateLines(Lines):
    def _form(self, chunk: Chunk) -> Json:
        thinking = {"thinking": chunk.thinking} if chunk.thinking else {}
        return {"model": self._model, "created_at": NOW, "response": chunk.content, **thinking, **chunk.end}


async def generate(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json()
    name = asked.get("model") or ""
    shelf.find(name)
    if asked.get("raw") and asked.get("system"):
        raise Refusal(400, "raw mode does not support system")
    prompt = Prompt(
        model=name,
        heard={"system": asked.get("system"), "prompt": asked.get("prompt") or ""},
        is_streamed=asked.get("stream") is not False,
        is_empty=not asked.get("prompt"),
        think=asked.get("think"),
        temperature=temperature(asked),
        keep_alive=asked.get("keep_alive"),
        verb="generate",
    )
    return await answer(shelf, prompt, GenerateLines(name))


async def chat(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json()
    name = asked.get("model") or ""
    prompt = Prompt(
        model=name,
        heard=asked.get("messages") or [],
        is_streamed=asked.get("stream") is not False,
        is_empty=not asked.get("messages"),
        tools=asked.get("tools") or [],
        think=asked.get("think"),
        temperature=temperature(asked),
        keep_alive=asked.get("keep_alive"),
    )
    return await answer(shelf, prompt, Lines(name))


def temperature(asked: Json) -> object:
    options = asked.get("options")
    return options.get("temperature") if isinstance(options, dict) else None


async def answer(shelf: Shelf, prompt: Prompt, shape: Shape) -> Reply | Stream:
    """Answer the prompt. Raises Refusal and ConnectionCut."""
    if not prompt.model and prompt.verb == "chat":
        raise Refusal(400, "model is required")
    model = shelf.find(prompt.model)
    if prompt.is_empty and prompt.keep_alive in (0, "0", "0s"):
        shelf.loaded.discard(bare_name(prompt.model))
        return reply_at_once(shape, "unload")
    await load(shelf, model, prompt)
    if prompt.is_empty:
        return reply_at_once(shape, "load")

    thinks = prompt.think is not False
    words = write_script(model, prompt.heard, tools=prompt.tools, thinks=thinks, temperature=prompt.temperature)
    numbers = metrics(prompt.heard, words)
    last = Chunk(end={"done": True, "done_reason": "stop", **numbers})
    return await build_answer(model, words, last, shape, streamed=prompt.is_streamed)


async def load(shelf: Shelf, model: Model, prompt: Prompt) -> None:
    """Load the model. Raises Refusal for what Ollama detects before the first byte: a missing capability, a full queue,
    a crash."""
    if prompt.think and "thinking" not in model.capabilities:
        raise Refusal(400, f'"{prompt.model}" does not support thinking')
    if "completion" not in model.capabilities:
        raise Refusal(400, f'"{prompt.model}" does not support {prompt.verb}')
    if model.refuses_with:
        raise Refusal(*model.refuses_with)
    if model.fault is Fault.HANG_BEFORE:
        await hang()
    shelf.loaded.add(bare_name(prompt.model))


def reply_at_once(shape: Shape, reason: str) -> Reply:
    return shape.whole(Chunk(end={"done": True, "done_reason": reason}))


def metrics(heard: object, words: list[Chunk]) -> dict[str, int]:
    """Return counts and durations (nanoseconds) that only depend on lengths, with one token per chunk."""
    asked = tokens_in(heard)
    prompt_ns, answer_ns = asked * NS_PER_PROMPT_TOKEN, len(words) * NS_PER_TOKEN
    return {
        "total_duration": LOAD_NS + prompt_ns + answer_ns,
        "load_duration": LOAD_NS,
        "prompt_eval_count": asked,
        "prompt_eval_duration": prompt_ns,
        "eval_count": len(words),
        "eval_duration": answer_ns,
    }


def tokens_in(heard: object) -> int:
    return len(go_json(heard)) // BYTES_PER_TOKEN
