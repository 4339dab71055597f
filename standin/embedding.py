"""``/api/embed`` and ``/api/embeddings``: small vectors that depend on the text only."""

import base64
import hashlib
import math
import struct

from standin.incoming import Request
from standin.shelf import Shelf
from standin.wire import Refusal, Reply, json_reply

DIMENSIONS = 8
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


def vector(text: str) -> list[float]:
    """Components between -1 and 1, never all 0."""
    return [(byte - 127.5) / 127.5 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSIONS]]


def unit(components: list[float]) -> list[float]:
    length = math.sqrt(sum(component * component for component in components))
    return [round(component / length, 7) for component in components]


def pack_base64(components: list[float]) -> str:
    """The vector as OpenAI's base64: 32-bit floats, the lowest byte first."""
    return base64.b64encode(struct.pack(f"<{len(components)}f", *components)).decode()
