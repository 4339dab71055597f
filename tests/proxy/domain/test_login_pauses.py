"""How long a log-in waits after others have failed."""

import pytest

from proxy.login_throttle import PAUSES, Pauses


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (3, 0), (4, 2), (5, 4), (6, 8), (7, 10), (8, 10), (1_000_000, 10)]
)
def test_pauses_double_up_to_the_longest(failures: int, seconds: float) -> None:
    assert Pauses(free=3, longest_s=10.0).after(failures) == seconds


@pytest.mark.parametrize("pauses", PAUSES.values(), ids=PAUSES.keys())
def test_a_few_typos_cost_nothing_and_a_million_guesses_take_years(pauses: Pauses) -> None:
    assert pauses.after(5) == 0
    assert 1_000_000 * pauses.longest_s > 365 * 86_400
