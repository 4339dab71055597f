"""At what a long collection has found alive no other looks again."""

import gc
from collections.abc import Iterator

import pytest

from memory.collector import SurvivorFreezer


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    gc.collect()
    yield
    gc.unfreeze()


@pytest.mark.parametrize(
    ("long_s", "generation", "is_calm", "is_frozen"),
    [(0.0, 2, True, True), (0.0, 1, True, False), (60.0, 2, True, False), (0.0, 2, False, False)],
)
def test_what_survives_a_long_full_collection_is_frozen_in_calm(
    long_s: float, generation: int, is_calm: bool, is_frozen: bool
) -> None:
    freezer, kept = SurvivorFreezer(lambda: is_calm, long_s), [[number] for number in range(1_000)]
    before = gc.get_freeze_count()

    gc.callbacks.append(freezer)
    try:
        gc.collect(generation)
    finally:
        gc.callbacks.remove(freezer)

    assert (gc.get_freeze_count() >= before + len(kept)) is is_frozen
