"""What texts cost that were made to take long. How the time itself grows is measured by ``make bench``."""

import pytest

from tests.memory.english.hostile import READERS
from tests.steps import count_steps

SHORT, LONG = 2_000, 20_000  # characters


@pytest.mark.parametrize("reader", READERS)
def test_ten_times_the_text_takes_about_ten_times_the_steps(reader: str) -> None:
    hostile = READERS[reader]
    hostile.read("A first text, for what is made once.")

    for piece, short, long in zip(hostile.pieces, hostile.texts(SHORT), hostile.texts(LONG), strict=True):
        of_short = count_steps(hostile.read, short)
        assert count_steps(hostile.read, long) < 15 * of_short, piece  # 100 times were it quadratic
