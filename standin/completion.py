"""The endpoints ``/api/generate`` and ``/api/chat``, and the path of every prompt: checks, loading, the answer."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from standin.behaviours import Fault, Model, bare_name
from standin.incoming import Request
from standin.shelf import NOW, Shelf
from standin.speech import Chunk, Shape, build_answer, hang, write_script
from standin.wire import NDJSON_TYPE, Json, Refusal, Reply, Stream, go_json, json_reply, line

BYTES_PER_TOKEN = 4
VOCABULARY = 128_256  # llama3's
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
    returns_context: bool = False


class Lines(Shape):
    """The native API's format: one JSON object, or one for each chunk."""

    stream_type = NDJSON_TYPE

    def __init__(self, form: Callable[[Chunk], Json]) -> None:
        self._form = form

    def whole(self, chunk: Chunk) -> Reply:
        return json_reply(self._form(chunk))

    def part(self, chunk: Chunk) -> bytes:
        return line(self._form(chunk))

    def failure(self, message: str) -> bytes:
        return line({"error": message})


async def generate(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json("GenerateRequest", model=str, prompt=str, system=str, template=str, stream=bool, raw=bool)
    name = asked.get("model") or ""
    shelf.find(name)
    if asked.get("raw") and any(asked.get(field) for field in ("template", "system", "context")):
        raise Refusal(400, "raw mode does not support template, system, or context")
    prompt = Prompt(
        model=name,
        heard={"system": asked.get("system"), "prompt": asked.get("prompt") or ""},
        is_streamed=asked.get("stream") is not False,
        is_empty=not asked.get("prompt"),
        think=asked.get("think"),
        temperature=temperature(asked),
        keep_alive=asked.get("keep_alive"),
        verb="generate",
        returns_context=not asked.get("raw"),
    )
    return await answer(shelf, prompt, Lines(generate_form(name)))


async def chat(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json("ChatRequest", model=str, messages=list, tools=list, stream=bool)
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
    return await answer(shelf, prompt, Lines(chat_form(name)))


def temperature(asked: Json) -> object:
    options = asked.get("options")
    return options.get("temperature") if isinstance(options, dict) else None


def generate_form(name: str) -> Callable[[Chunk], Json]:
    def form(chunk: Chunk) -> Json:
        thinking = {"thinking": chunk.thinking} if chunk.thinking else {}
        return {"model": name, "created_at": NOW, "response": chunk.content, **thinking, **chunk.end}

    return form


def chat_form(name: str) -> Callable[[Chunk], Json]:
    def form(chunk: Chunk) -> Json:
        message: Json = {"role": "assistant", "content": chunk.content}
        if chunk.thinking:
            message["thinking"] = chunk.thinking
        if chunk.tool_calls:
            message["tool_calls"] = chunk.tool_calls
        return {"model": name, "created_at": NOW, "message": message, **chunk.end}

    return form


async def answer(shelf: Shelf, prompt: Prompt, shape: Shape) -> Reply | Stream:
    """Answer the prompt. Raises Refusal and ConnectionCut."""
    if not prompt.model and prompt.verb == "chat":
        raise Refusal(400, "model is required")
    model = shelf.find(prompt.model)
    if prompt.is_empty and is_zero(prompt.keep_alive):
        shelf.loaded.discard(bare_name(prompt.model))
        return reply_at_once(shape, "unload")
    await load(shelf, model, prompt)
    if prompt.is_empty:
        return reply_at_once(shape, "load")

    thinks = prompt.think is not False
    words = write_script(model, prompt.heard, tools=prompt.tools, thinks=thinks, temperature=prompt.temperature)
    numbers = metrics(prompt.heard, words)
    context = {"context": context_ids(model, numbers)} if prompt.returns_context else {}
    last = Chunk(end={"done": True, "done_reason": "stop", **context, **numbers})
    return await build_answer(model, words, last, shape, streamed=prompt.is_streamed)


def is_zero(keep_alive: object) -> bool:
    """True for ``0`` and ``"0s"``, which mean that the model is unloaded at once."""
    return re.fullmatch(r"0+(\.0+)?(ns|us|ms|s|m|h)?", str(keep_alive)) is not None


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


def context_ids(model: Model, numbers: dict[str, int]) -> list[int]:
    """Return one id for each token of prompt and answer, or as many as the model is configured to return."""
    length = model.context_tokens or numbers["prompt_eval_count"] + numbers["eval_count"]
    return [position * 7919 % VOCABULARY for position in range(length)]
