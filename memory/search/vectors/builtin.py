"""The built-in embedder: a sentence encoder, all-MiniLM-L6-v2 with 8-bit weights. A process loads it on first use."""

import logging
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from django.conf import settings

from memory.llm.errors import LlmError, Misconfigured
from memory.search.encoder import EncoderUnavailable, adapter, model_file

if TYPE_CHECKING:
    from memory.search.encoder.encoder import Encoder

logger = logging.getLogger(__name__)

PUBLISHED: Final = "builtin minilm 384 int8"
ADAPTED: Final = f"{PUBLISHED} {adapter.DIGEST[:8]}"
FILES: Final = {PUBLISHED: model_file.PUBLISHED, ADAPTED: model_file.ADAPTED}
TRY_AGAIN_S: Final = 60.0  # after a load in the background that failed

loaded: dict[str, "Encoder"] = {}  # by the name
next_tries: dict[str, float] = {}  # of loading in the background, by the monotonic clock
loading = threading.Lock()


def current_name() -> str:
    """Return the name of the embedder: without the published model's adapter, where that was changed."""
    return PUBLISHED if adapter.find_mistake() else ADAPTED


def is_loaded(name: str = "") -> bool:
    return (name or current_name()) in loaded


def load(name: str = "") -> "Encoder":
    """Return the encoder of this name, the current one if empty. Blocks for a second if it is not loaded; for a few if
    its file has to be built. Raises LlmError."""
    name = name or current_name()
    if name not in loaded:
        with loading:
            if name not in loaded:
                loaded[name] = open_encoder(FILES[name])
    return loaded[name]


def open_encoder(file: str) -> "Encoder":
    try:
        from memory.search.encoder.encoder import Encoder

        return Encoder(model_file.find_model(settings.HOME, file))
    except ImportError as error:
        raise Misconfigured(f"onnxruntime, which runs the built-in embedder, cannot be used here: {error}") from error
    except EncoderUnavailable as error:
        raise Misconfigured(str(error)) from error


def load_in_background(name: str = "") -> None:
    """Start to load the encoder. Called again, it does nothing while that goes on, and for a minute after it failed."""
    name, now = name or current_name(), time.monotonic()
    if name not in loaded and now >= next_tries.get(name, 0.0):
        next_tries[name] = now + TRY_AGAIN_S
        threading.Thread(target=try_to_load, args=[name], name="load-encoder", daemon=True).start()


def try_to_load(name: str) -> None:
    try:
        load(name)
    except LlmError as error:  # the worker meets the same error, and reports it in /health
        logger.warning("encoder.not_loaded", extra={"error": str(error)})


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return a vector for each text, of its first 256 word pieces; zeros for a text without any. Takes 2 ms for a short
    text, 50 for a long one. Raises LlmError."""
    return load().encode_texts(texts)


def embed_query(text: str, name: str = "") -> list[float]:
    """Like ``embed``, but of the first and last 32 word pieces, for callers in a hurry. Raises LlmError."""
    return load(name).encode_query(text)


def classify(sentences: Sequence[str]) -> list[str]:
    """Return for each sentence its category in a profile, ``preference`` or ``identity``, or an empty one. Raises
    LlmError."""
    if adapter.find_mistake():
        return [""] * len(sentences)
    categories = []
    for judged in map(adapter.judge, embed(sentences)):
        best = max(adapter.PROFILE, key=judged.__getitem__)
        categories.append(best if judged[best] >= 0 else "")
    return categories


def remake() -> None:
    """Build the files in the home anew, and load the current one. Raises LlmError."""
    model_file.remove_models(settings.HOME)
    loaded.clear()
    load()
