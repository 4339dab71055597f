"""The embedders that the setting ``embedder`` can name: ``builtin``, ``upstream:MODEL``, ``model:ID`` of a language
model, or ``none``; the likeness that each sees by chance, between unrelated questions and messages; and, for
``/health`` and the home page, whether texts are found by meaning, and if not, why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Final

from memory.llm.client import embed_texts
from memory.llm.errors import Misconfigured, Unreadable
from memory.models import LanguageModel
from memory.models.searching import DIMENSIONS_MAX
from memory.search.encoder import adapter
from memory.search.found import ChanceLikeness
from memory.search.vectors import builtin
from memory.search.vectors.schema import explain_missing_extension

BUILTIN: Final = "builtin"
NONE: Final = "none"
UPSTREAM: Final = "upstream:"
MODEL: Final = "model:"
CHARACTERS_MAX: Final = 2_000  # of one text: its beginning says what it is about
TEXTS: Final = Path(__file__).parent / "calibration"
# Measured by manage.py calibrate_embedder. For the questions and messages of different people in
# benchmarks/retrieval_weeks.txt it is 0.057 and 0.081, of the same person's 0.082 and 0.104.
BUILTIN_NOISE: Final = {builtin.PUBLISHED: ChanceLikeness(0.051, 0.079), builtin.ADAPTED: ChanceLikeness(0.110, 0.088)}
COUNTED_MAX: Final = 10_000  # waiting texts: more are not counted
CONDITION: Final = f"""
    SELECT
        to_regclass('memory_vector') IS NOT NULL AS has_tables,
        (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS available,
        (SELECT count(*) FROM (SELECT FROM pending_embedding LIMIT {COUNTED_MAX}) waiting) AS waiting,
        embedder.name, embedder.dimensions, embedder.last_error AS error
    FROM (SELECT) one LEFT JOIN embedder ON is_current
"""


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


def measure_noise(embed: Callable[[Sequence[str]], Sequence[Sequence[float]]]) -> ChanceLikeness:
    """Measure over all 7,200 pairs of the shipped questions and messages. Embeds 180 texts, in two calls;
    raises the embedder's errors, and Unreadable if every pair is equally alike."""
    asked, said = embed(read_lines("questions.txt")), embed(read_lines("messages.txt"))
    cosines = [sum(map(float.__mul__, one, other)) for one in asked for other in said]
    noise = ChanceLikeness(fmean(cosines), pstdev(cosines))
    if noise.deviation < 1e-6:
        raise Unreadable("The embedder's vectors are all alike.")
    return noise


def read_lines(name: str) -> list[str]:
    return [line for line in (TEXTS / name).read_text().splitlines() if not line.startswith("#")]


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition. ``embedder`` is empty if there is none; ``error``: why vectors are missing, empty if none are.
    ``waiting``: texts, at most COUNTED_MAX."""

    embedder: str = ""
    dimensions: int | None = None
    waiting: int = 0
    error: str = ""
    is_off: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "embedder": self.embedder or None,
            "dimensions": self.dimensions,
            "waiting": self.waiting,
            "error": self.error or None,
        }


def read_condition(row: Mapping[str, Any], setting: str) -> Condition:
    """Read the condition from a row of CONDITION, by its columns. ``setting``: the embedder's."""
    if setting == NONE:
        return Condition(is_off=True)
    if not row["has_tables"]:
        return Condition(error=explain_missing_extension(row["available"] or ""))
    mistake = adapter.find_mistake() if setting == BUILTIN else ""
    return Condition(row["name"] or "", row["dimensions"], row["waiting"], row["error"] or mistake)
