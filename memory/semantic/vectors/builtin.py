"""The built-in embedder: a sentence encoder, all-MiniLM-L6-v2 with 8-bit weights. A process loads it on first use."""

import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings

from memory.llm.errors import LlmError, Misconfigured
from memory.semantic.encoder.errors import EncoderUnavailable
from memory.semantic.encoder.model_file import find_model, remove_model

if TYPE_CHECKING:
    from memory.semantic.encoder.encoder import Encoder

logger = logging.getLogger(__name__)

NAME: Final = "builtin minilm 384 int8"
TRY_AGAIN_S: Final = 60.0  # after a load in the background that failed


class Loader:
    """Loads the encoder once a process."""

    def __init__(self) -> None:
        self.encoder: Encoder | None = None
        self._lock = threading.Lock()
        self._next_try = 0.0  # of loads in the background, by the monotonic clock

    def load(self) -> "Encoder":
        """Load the encoder. Blocks for a second; for a few if the file has to be built. Raises LlmError."""
        with self._lock:
            if self.encoder is None:
                self.encoder = open_encoder(settings.HOME)
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


def open_encoder(home: Path) -> "Encoder":
    """Open the encoder. Raises LlmError."""
    try:
        from memory.semantic.encoder.encoder import Encoder
    except ImportError as error:
        raise Misconfigured(f"onnxruntime, which runs the built-in embedder, cannot be used here: {error}") from error
    try:
        return Encoder(find_model(home))
    except EncoderUnavailable as error:
        raise Misconfigured(str(error)) from error


LOADER: Final = Loader()


def load() -> None:
    """Load the encoder if necessary. Blocks. Raises LlmError."""
    LOADER.load()


def load_in_background() -> None:
    LOADER.load_in_background()


def is_loaded() -> bool:
    return LOADER.encoder is not None


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return a vector for each text, of its first 256 word pieces; zeros for a text without any. Takes 2 ms for a short
    text, 50 for a long one. Raises LlmError."""
    return LOADER.load().encode_texts(texts)


def embed_query(text: str) -> list[float]:
    """Like ``embed``, but of the first and last 24 word pieces, for callers in a hurry. Raises LlmError."""
    return LOADER.load().encode_query(text)


def remake() -> None:
    """Build the file in the home anew, and load it. Raises LlmError."""
    remove_model(settings.HOME)
    LOADER.encoder = None
    LOADER.load()
