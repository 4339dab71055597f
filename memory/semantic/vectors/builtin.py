"""The embedder that comes with Festinger: WordLlama, whose weights are in its wheel. It takes half a second to load and
some 100 MB, so a process loads it when it first needs it."""

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

NAME: Final = "builtin wordllama 256"
LOCK: Final = threading.Lock()
BATCH: Final = 32


@cache
def _load() -> Any:
    import wordllama

    # Its loader would look for the tokenizer in another folder, and then on the internet.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def load() -> None:
    """Loads it, unless it is loaded. Blocks for half a second."""
    with LOCK:
        _load()


def is_loaded() -> bool:
    return _load.cache_info().currsize > 0


def embed(texts: Sequence[str]) -> list[list[float]]:
    """A vector for each text; one of zeros for a text without any word. Takes 0.03 ms for a short one."""
    load()
    # Of one length in a batch: shorter texts are filled up to the longest.
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    vectors = _load().embed([texts[at] for at in order], batch_size=BATCH)
    placed: list[list[float]] = [[] for _ in order]
    for at, vector in zip(order, vectors.tolist(), strict=True):
        placed[at] = vector
    return placed
