"""The endpoints ``/api/embed`` and ``/api/embeddings``. Texts have similar vectors if they share words, or words with
the same beginning."""

import base64
import hashlib
import math
import re
import struct
from functools import lru_cache

from standin.incoming import Request
from standin.shelf import Shelf
from standin.wire import Refusal, Reply, json_reply

DIMENSIONS = 256
STEM = 5  # first letters that represent a word
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
    """Return a unit vector for each text, and the number of tokens. ``dimensions`` is the maximum length of the
    vectors. Raises Refusal."""
    shelf.find(name)
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "invalid input type")
    return [unit(vector(text)[: dimensions or None]) for text in texts], sum(len(text.split()) for text in texts)


async def embeddings(shelf: Shelf, request: Request) -> Reply:
    """Answer the older endpoint: one text, and a vector that is not normalised."""
    asked = request.json("EmbeddingRequest", model=str, prompt=str)
    name = asked.get("model") or ""
    if not name:
        raise Refusal(400, "model is required")
    shelf.find(name, missing=NOT_PULLED)
    prompt = asked.get("prompt") or ""
    return json_reply({"embedding": vector(prompt) if prompt else []})


def vector(text: str) -> list[float]:
    """Return a vector that is never zero, even for a text without words."""
    directions = [direction(word[:STEM]) for word in re.findall(r"\w+", text.lower())]
    components = [math.fsum(column) for column in zip(*directions, strict=True)]
    return components if any(components) else [1.0] + [0.0] * (DIMENSIONS - 1)


@lru_cache(10_000)
def direction(stem: str) -> tuple[int, ...]:
    """Return a direction for a word, 1 or -1 in each dimension: nearly orthogonal to that of any other word."""
    bits = int.from_bytes(hashlib.shake_128(stem.encode()).digest(DIMENSIONS // 8), "big")
    return tuple(1 if bits >> at & 1 else -1 for at in range(DIMENSIONS))


def unit(components: list[float]) -> list[float]:
    length = math.sqrt(sum(component * component for component in components)) or 1.0
    return [round(component / length, 7) for component in components]


def pack_base64(components: list[float]) -> str:
    """Encode the vector as OpenAI's base64: 32-bit floats, little-endian."""
    return base64.b64encode(struct.pack(f"<{len(components)}f", *components)).decode()
