"""At what a long collection has found alive no other looks again, until much more is frozen."""

import gc
import weakref

import pytest

from memory.cache.collector import GROWTH, SurvivorFreezer
from tests.fresh_process import call_in_fresh_process


@pytest.mark.parametrize(
    ("long_s", "generation", "is_calm", "is_frozen"),
    [(0.0, 2, True, True), (0.0, 1, True, False), (60.0, 2, True, False), (0.0, 2, False, False)],
)
def test_what_survives_a_long_full_collection_is_frozen_in_calm(
    long_s: float, generation: int, is_calm: bool, is_frozen: bool
) -> None:
    assert call_in_fresh_process(freezes, long_s, generation, is_calm) is is_frozen


def freezes(long_s: float, generation: int, is_calm: bool) -> bool:
    kept, before = [[number] for number in range(1_000)], gc.get_freeze_count()
    gc.callbacks.append(SurvivorFreezer(lambda: is_calm, long_s))

    gc.collect(generation)

    return gc.get_freeze_count() >= before + len(kept)


class Ring:
    """Refers to itself: only the collector frees it."""

    def __init__(self) -> None:
        self.ring = self


def test_what_refers_to_itself_and_was_frozen_is_freed_when_much_more_is_frozen() -> None:
    call_in_fresh_process(freeze_and_free_ring)


def freeze_and_free_ring() -> None:
    ring = Ring()
    is_there = weakref.ref(ring)
    gc.callbacks.append(SurvivorFreezer(lambda: True, 0.0))
    gc.disable()  # no collections but these

    gc.collect()
    del ring
    gc.collect()
    assert is_there() is not None  # frozen
    kept = [[number] for number in range(int(gc.get_freeze_count() * (GROWTH - 1)) + 1)]
    gc.collect()
    assert gc.get_freeze_count() == 0
    gc.collect()

    assert is_there() is None
    assert gc.get_freeze_count() > len(kept)
