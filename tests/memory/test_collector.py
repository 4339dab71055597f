"""At what a long collection has found alive no other looks again, until much more is frozen."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from memory.collector import GROWTH, SurvivorFreezer


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


class Ring:
    """Refers to itself: only the collector frees it."""

    def __init__(self) -> None:
        self.ring = self


def test_what_refers_to_itself_and_was_frozen_is_freed_when_much_more_is_frozen() -> None:
    freezer, ring = SurvivorFreezer(lambda: True, 0.0), Ring()
    is_there = weakref.ref(ring)

    gc.callbacks.append(freezer)
    try:
        gc.collect()
        del ring
        gc.collect()
        assert is_there() is not None  # frozen
        kept = [[number] for number in range(int(gc.get_freeze_count() * (GROWTH - 1)) + 1)]
        gc.collect()
        assert gc.get_freeze_count() == 0
        gc.collect()
    finally:
        gc.callbacks.remove(freezer)

    assert is_there() is None
    assert gc.get_freeze_count() > len(kept)
