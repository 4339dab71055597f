"""The built-in embedder: a sentence encoder, all-MiniLM-L6-v2 with 8-bit weights. A process loads it on first use."""

import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings

from memory.llm.errors import LlmError, Misconfigured
from memory.semantic.encoder import adapter, model_file
from memory.semantic.encoder.errors import EncoderUnavailable

if TYPE_CHECKING:
    from memory.semantic.encoder.encoder import Encoder

logger = logging.getLogger(__name__)

PUBLISHED: Final = "builtin minilm 384 int8"
ADAPTED: Final = f"{PUBLISHED} {adapter.DIGEST[:8]}"
FILES: Final = {PUBLISHED: model_file.PUBLISHED, ADAPTED: model_file.ADAPTED}
TRY_AGAIN_S: Final = 60.0  # after a load in the background that failed


class Loader:
    """Loads an encoder once a process."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.encoder: Encoder | None = None
        self._lock = threading.Lock()
        self._next_try = 0.0  # of loads in the background, by the monotonic clock

    def load(self) -> "Encoder":
        """Load the encoder. Blocks for a second; for a few if the file has to be built. Raises LlmError."""
        with self._lock:
            if self.encoder is None:
                self.encoder = open_encoder(settings.HOME, self._file)
            return self.encoder

    def load_in_background(self) -> None:
        """Start to load. Returns at once. Called again, it does nothing while it loads, and for a minute after it
        failed."""
        now = time.monotonic()
        if self.encoder is None and now >= self._next_try:
            self._next_try = now + TRY_AGAIN_S
            threading.Thread(target=self._try_to_load, name="load-encoder", daemon=True).start()

    def _try_to_load(self) -> None:
        try:
            self.load()
        except LlmError as error:  # the worker meets the same error, and reports it in /health
            logger.warning("encoder.not_loaded", extra={"error": str(error)})


def open_encoder(home: Path, file: str) -> "Encoder":
    """Open the encoder. Raises LlmError."""
    try:
        from memory.semantic.encoder.encoder import Encoder
    except ImportError as error:
        raise Misconfigured(f"onnxruntime, which runs the built-in embedder, cannot be used here: {error}") from error
    try:
        return Encoder(model_file.find_model(home, file))
    except EncoderUnavailable as error:
        raise Misconfigured(str(error)) from error


LOADERS: Final = {name: Loader(file) for name, file in FILES.items()}


def current_name() -> str:
    """Return the name of the embedder: without the published model's adapter, where that was changed."""
    return PUBLISHED if adapter.find_mistake() else ADAPTED


def load() -> None:
    """Load the current encoder if necessary. Blocks. Raises LlmError."""
    LOADERS[current_name()].load()


def load_in_background(name: str = "") -> None:
    LOADERS[name or current_name()].load_in_background()


def is_loaded(name: str = "") -> bool:
    return LOADERS[name or current_name()].encoder is not None


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return a vector for each text, of its first 256 word pieces; zeros for a text without any. Takes 2 ms for a short
    text, 50 for a long one. Raises LlmError."""
    return LOADERS[current_name()].load().encode_texts(texts)


def embed_query(text: str, name: str = "") -> list[float]:
    """Like ``embed``, but of the first and last 32 word pieces, for callers in a hurry. ``name``: of the embedder, the
    current one if empty. Raises LlmError."""
    return LOADERS[name or current_name()].load().encode_query(text)


def judge(vector: Sequence[float]) -> dict[str, float]:
    """Return what the heads say of a vector, by name; nothing without the adapter."""
    return {} if adapter.find_mistake() else adapter.read_heads().judge(vector)


def classify(sentences: Sequence[str]) -> list[str]:
    """Return for each sentence its category in a profile, ``preference`` or ``identity``, or an empty one. Raises
    LlmError."""
    if adapter.find_mistake():
        return [""] * len(sentences)
    heads = adapter.read_heads()
    categories = []
    for vector in embed(sentences):
        judged = heads.judge(vector)
        best = max(adapter.PROFILE, key=judged.__getitem__)
        categories.append(best if judged[best] >= 0 else "")
    return categories


def remake() -> None:
    """Build the files in the home anew, and load the current one. Raises LlmError."""
    model_file.remove_models(settings.HOME)
    for loader in LOADERS.values():
        loader.encoder = None
    load()
