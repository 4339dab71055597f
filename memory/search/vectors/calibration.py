"""Measures the likeness that an embedder sees by chance: between unrelated questions and messages."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Final

from memory.llm.errors import Unreadable
from memory.search.chance_likeness import Noise
from memory.search.vectors import builtin

TEXTS: Final = Path(__file__).parent / "calibration"
# Measured by manage.py calibrate_embedder. For the questions and messages of different people in
# benchmarks/retrieval_weeks.txt it is 0.057 and 0.081, of the same person's 0.082 and 0.104.
BUILTIN_NOISE: Final = {builtin.PUBLISHED: Noise(0.051, 0.079), builtin.ADAPTED: Noise(0.110, 0.088)}


def measure_noise(embed: Callable[[Sequence[str]], Sequence[Sequence[float]]]) -> Noise:
    """Measure over all 7,200 pairs of the shipped questions and messages. Embeds 180 texts, in two calls;
    raises the embedder's errors, and Unreadable if every pair is equally alike."""
    asked, said = embed(read_lines("questions.txt")), embed(read_lines("messages.txt"))
    cosines = [sum(map(float.__mul__, one, other)) for one in asked for other in said]
    noise = Noise(fmean(cosines), pstdev(cosines))
    if noise.deviation < 1e-6:
        raise Unreadable("The embedder's vectors are all alike.")
    return noise


def read_lines(name: str) -> list[str]:
    return [line for line in (TEXTS / name).read_text().splitlines() if not line.startswith("#")]
