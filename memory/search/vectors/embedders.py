"""The embedders that the setting ``embedder`` can name: ``builtin``, ``upstream:MODEL``, ``model:ID`` of a language
model, or ``none``."""

from collections.abc import Sequence
from math import isfinite, sqrt
from typing import Final

from memory.llm.client import embed_texts
from memory.llm.errors import Misconfigured, Unreadable
from memory.models import LanguageModel
from memory.models.searching import DIMENSIONS_MAX
from memory.search.vectors import builtin

BUILTIN: Final = "builtin"
NONE: Final = "none"
UPSTREAM: Final = "upstream:"
MODEL: Final = "model:"
CHARACTERS_MAX: Final = 2_000  # of one text: its beginning says what it is about


def name_of(setting: str) -> str:
    """Return the name that marks the embedder's vectors: the setting and, for a language model, its name."""
    if setting == BUILTIN:
        return builtin.current_name()
    try:
        return setting if setting.startswith(UPSTREAM) else f"{setting} {find_model(setting)}"
    except Misconfigured:  # it is gone, as whoever asks it for vectors is told
        return setting


def find_model(setting: str) -> LanguageModel:
    """Find the language model of a setting. Raises Misconfigured."""
    if setting.startswith(UPSTREAM):
        return LanguageModel(provider=LanguageModel.Provider.OLLAMA, model_name=setting.removeprefix(UPSTREAM))
    key = setting.removeprefix(MODEL)
    model = LanguageModel.objects.filter(pk=key).first()
    if model is None:
        raise Misconfigured(f"There is no language model {key}: choose another embedder in the settings.")
    return model


def embed(name: str, texts: Sequence[str], timeout_s: float) -> list[list[float]]:
    """Return a vector of length 1 for each text by the embedder of this name, all with the same number of dimensions;
    zeros for a text that says nothing. Raises LlmError."""
    setting = name.partition(" ")[0]
    texts = [text[:CHARACTERS_MAX] for text in texts]
    vectors = builtin.embed(texts) if setting == BUILTIN else embed_texts(find_model(setting), texts, timeout_s)
    dimensions = {len(vector) for vector in vectors}
    if len(dimensions) > 1:
        raise Unreadable("The vectors in the answer differ in their dimensions.")
    if dimensions and max(dimensions) > DIMENSIONS_MAX:
        raise Misconfigured(f"The model's vectors have {max(dimensions)} dimensions, more than {DIMENSIONS_MAX}.")
    return [scale(vector) for vector in vectors]


def scale(vector: Sequence[float]) -> list[float]:
    """Scale a vector to length 1. Raises Unreadable."""
    length = sqrt(sum(number * number for number in vector))
    if not isfinite(length):
        raise Unreadable("A vector in the answer has numbers that are none.")
    return [number / length for number in vector] if length else list(vector)
