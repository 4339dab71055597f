"""The likeness that an embedder sees by chance."""

from typing import NamedTuple


class Noise(NamedTuple):
    """Mean and standard deviation (over 0) of the cosine between a query and unrelated texts."""

    mean: float
    deviation: float
