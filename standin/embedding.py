"""The endpoints that embed. Texts that share words have similar vectors."""

import math
import re
from zlib import crc32

from standin.catalogue import Shelf
from standin.incoming import Request
from standin.wire import Json, Refusal, Reply, json_reply, translated_reply

DIMENSIONS = 256


async def embed(shelf: Shelf, request: Request) -> Reply:
    asked = request.json()
    vectors, tokens = embed_input(shelf, asked)
    return json_reply({"model": asked["model"], "embeddings": vectors, "prompt_eval_count": tokens})


async def embeddings(shelf: Shelf, request: Request) -> Reply:
    """Answer the older endpoint, which takes one text."""
    asked = request.json()
    [vector], _ = embed_input(shelf, asked | {"input": asked.get("prompt") or ""})
    return json_reply({"embedding": vector})


async def openai_embeddings(shelf: Shelf, request: Request) -> Reply:
    asked = request.json()
    if not asked.get("input"):
        raise Refusal(400, "invalid input")
    vectors, tokens = embed_input(shelf, asked)
    entries = [{"object": "embedding", "embedding": vector, "index": index} for index, vector in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return translated_reply({"object": "list", "data": entries, "model": asked["model"], "usage": usage})


def embed_input(shelf: Shelf, asked: Json) -> tuple[list[list[float]], int]:
    """Return a vector of at most ``dimensions`` numbers for each text of ``input``, and the count of words."""
    shelf.find(asked.get("model") or "")
    given = asked.get("input") or []
    texts = [given] if isinstance(given, str) else given
    return [vector(text)[: asked.get("dimensions")] for text in texts], sum(len(text.split()) for text in texts)


def vector(text: str) -> list[float]:
    """Return the text's unit vector: each word counts in one dimension."""
    counts = [0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()) or [""]:
        counts[crc32(word.encode()) % DIMENSIONS] += 1
    length = math.hypot(*counts)
    return [round(count / length, 7) for count in counts]
