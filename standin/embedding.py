"""``/api/embed`` and ``/api/embeddings``: vectors that carry meaning, made by WordLlama, whose weights come with it."""

import base64
import math
import struct
from functools import cache
from pathlib import Path
from typing import Any

from standin.incoming import Request
from standin.shelf import Shelf
from standin.wire import Refusal, Reply, json_reply

DIMENSIONS = 256
NOT_PULLED = 'model "{}" not found, try pulling it first'


async def embed(shelf: Shelf, request: Request) -> Reply:
    asked = request.json("EmbedRequest", model=str, dimensions=int)
    name = asked.get("model") or ""
    found, tokens = vectors(shelf, name, asked.get("input") or [], asked.get("dimensions"))
    if not found:
        return json_reply({"model": name, "embeddings": []})
    spent = {"total_duration": 2_000_000, "load_duration": 1_000_000, "prompt_eval_count": tokens}
    return json_reply({"model": name, "embeddings": found, **spent})


def vectors(shelf: Shelf, name: str, texts: object, dimensions: int | None) -> tuple[list[list[float]], int]:
    """A vector of length 1 for each text, and how many tokens they have. ``dimensions``: not more than these.

    Raises Refusal."""
    shelf.find(name)
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "invalid input type")
    return [unit(vector(text)[: dimensions or None]) for text in texts], sum(len(text.split()) for text in texts)


async def embeddings(shelf: Shelf, request: Request) -> Reply:
    """The older endpoint: one text, and a vector that is not normalised."""
    asked = request.json("EmbeddingRequest", model=str, prompt=str)
    name = asked.get("model") or ""
    if not name:
        raise Refusal(400, "model is required")
    shelf.find(name, missing=NOT_PULLED)
    prompt = asked.get("prompt") or ""
    return json_reply({"embedding": vector(prompt) if prompt else []})


@cache
def weights() -> Any:
    import wordllama  # half a second, and 100 MB: only where somebody embeds

    # Its loader would look for the tokenizer elsewhere, and then on the internet.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def vector(text: str) -> list[float]:
    """Never all 0, also where there is no word in the text."""
    components: list[float] = weights().embed([text])[0].tolist()
    return components if any(components) else [1.0] + [0.0] * (DIMENSIONS - 1)


def unit(components: list[float]) -> list[float]:
    length = math.sqrt(sum(component * component for component in components)) or 1.0
    return [round(component / length, 7) for component in components]


def pack_base64(components: list[float]) -> str:
    """The vector as OpenAI's base64: 32-bit floats, the lowest byte first."""
    return base64.b64encode(struct.pack(f"<{len(components)}f", *components)).decode()
