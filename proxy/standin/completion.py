"""``/api/generate`` and ``/api/chat``: the checks before an answer, and its two shapes."""

import re

from proxy.standin.behaviours import Fault, Model, bare_name
from proxy.standin.incoming import Request
from proxy.standin.shelf import NOW, Shelf
from proxy.standin.speech import Said, Shape, script, silence, tell
from proxy.standin.wire import Json, Refusal, Reply, Stream, go_json, json_reply

BYTES_PER_TOKEN = 4
VOCABULARY = 128_256  # llama3's
NS_PER_PROMPT_TOKEN = 1_000_000
NS_PER_TOKEN = 20_000_000
LOAD_NS = 50_000_000


async def generate(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json("GenerateRequest", model=str, prompt=str, system=str, template=str, stream=bool, raw=bool)
    name = asked.get("model") or ""
    model = shelf.find(name)
    prompt = asked.get("prompt") or ""
    shape = generate_shape(name)

    if not prompt and is_zero(asked.get("keep_alive")):
        return unload(shelf, name, shape)
    if asked.get("raw") and any(asked.get(field) for field in ("template", "system", "context")):
        raise Refusal(400, "raw mode does not support template, system, or context")
    await load(shelf, name, model, asked, verb="generate")
    if not prompt:
        return ended(shape, "load")

    heard = {"system": asked.get("system"), "prompt": prompt}
    words = script(model, heard, tools=[])
    numbers = metrics(heard, words)
    context = {} if asked.get("raw") else {"context": context_ids(model, numbers)}
    last = Said(end={"done": True, "done_reason": "stop", **context, **numbers})
    return await tell(model, words, last, shape, streamed=asked.get("stream") is not False)


async def chat(shelf: Shelf, request: Request) -> Reply | Stream:
    asked = request.json("ChatRequest", model=str, messages=list, tools=list, stream=bool)
    name = asked.get("model") or ""
    if not name:
        raise Refusal(400, "model is required")
    model = shelf.find(name)
    messages = asked.get("messages") or []
    shape = chat_shape(name)

    if not messages and is_zero(asked.get("keep_alive")):
        return unload(shelf, name, shape)
    await load(shelf, name, model, asked, verb="chat")
    if not messages:
        return ended(shape, "load")

    words = script(model, messages, tools=asked.get("tools") or [])
    last = Said(end={"done": True, "done_reason": "stop", **metrics(messages, words)})
    return await tell(model, words, last, shape, streamed=asked.get("stream") is not False)


def generate_shape(name: str) -> Shape:
    def shape(said: Said) -> Json:
        thinking = {"thinking": said.thinking} if said.thinking else {}
        return {"model": name, "created_at": NOW, "response": said.content, **thinking, **said.end}

    return shape


def chat_shape(name: str) -> Shape:
    def shape(said: Said) -> Json:
        message: Json = {"role": "assistant", "content": said.content}
        if said.thinking:
            message["thinking"] = said.thinking
        if said.tool_calls:
            message["tool_calls"] = said.tool_calls
        return {"model": name, "created_at": NOW, "message": message, **said.end}

    return shape


def is_zero(keep_alive: object) -> bool:
    """``0`` and ``"0s"`` mean: unload at once. Anything else, and none given, does not."""
    return re.fullmatch(r"0+(\.0+)?(ns|us|ms|s|m|h)?", str(keep_alive)) is not None


def unload(shelf: Shelf, name: str, shape: Shape) -> Reply:
    shelf.loaded.discard(bare_name(name))
    return ended(shape, "unload")


async def load(shelf: Shelf, name: str, model: Model, asked: Json, *, verb: str) -> None:
    """Raises Refusal for what Ollama finds before the first byte: a missing capability, no place, a crash."""
    if asked.get("think") and "thinking" not in model.capabilities:
        raise Refusal(400, f'"{name}" does not support thinking')
    if "completion" not in model.capabilities:
        raise Refusal(400, f'"{name}" does not support {verb}')
    if model.refuses_with:
        raise Refusal(*model.refuses_with)
    if model.fault is Fault.HANG_BEFORE:
        await silence()
    shelf.loaded.add(bare_name(name))


def ended(shape: Shape, reason: str) -> Reply:
    return json_reply(shape(Said(end={"done": True, "done_reason": reason})))


def metrics(heard: object, words: list[Said]) -> dict[str, int]:
    """Counts and durations (nanoseconds) that follow from lengths alone, one token a chunk."""
    asked = len(go_json(heard)) // BYTES_PER_TOKEN
    prompt_ns, answer_ns = asked * NS_PER_PROMPT_TOKEN, len(words) * NS_PER_TOKEN
    return {
        "total_duration": LOAD_NS + prompt_ns + answer_ns,
        "load_duration": LOAD_NS,
        "prompt_eval_count": asked,
        "prompt_eval_duration": prompt_ns,
        "eval_count": len(words),
        "eval_duration": answer_ns,
    }


def context_ids(model: Model, numbers: dict[str, int]) -> list[int]:
    """One id for each token of prompt and answer, or as many as the model is made to return."""
    length = model.context_tokens or numbers["prompt_eval_count"] + numbers["eval_count"]
    return [position * 7919 % VOCABULARY for position in range(length)]
