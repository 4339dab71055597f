"""``/api/embed`` and ``/api/embeddings``: small vectors that depend on the text only."""

import hashlib
import math

from proxy.standin.incoming import Request
from proxy.standin.shelf import Shelf
from proxy.standin.wire import Refusal, Reply, json_reply

DIMENSIONS = 8
NOT_PULLED = 'model "{}" not found, try pulling it first'


async def embed(shelf: Shelf, request: Request) -> Reply:
    asked = request.json("EmbedRequest", model=str)
    name = asked.get("model") or ""
    shelf.find(name)
    texts = asked.get("input") or []
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "invalid input type")
    if not texts:
        return json_reply({"model": name, "embeddings": []})
    tokens = sum(len(text.split()) for text in texts)
    spent = {"total_duration": 2_000_000, "load_duration": 1_000_000, "prompt_eval_count": tokens}
    return json_reply({"model": name, "embeddings": [unit(vector(text)) for text in texts], **spent})


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
