"""The likeness that an embedder sees by chance."""

from typing import NamedTuple


class Noise(NamedTuple):
    """Mean and standard deviation (over 0) of the cosine between unrelated texts, as one embedder sees them."""

    mean: float
    deviation: float

    def at(self, deviations: float) -> float:
        """Return the cosine that lies so many deviations above the mean."""
        return self.mean + deviations * self.deviation
