"""What one speaker says in order is learned in order, whichever processes hear and place it; and what is said while the
worker stands still is found, and learned when it goes on."""

import time
from collections.abc import Iterator
from statistics import median

import pytest

from tests.served.learning import NIGHT, SYSTEM, Festinger, festinger
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

pytestmark = pytest.mark.slow

TIMES = 400 if NIGHT else 80
BEFORE = 100  # prompts
PAUSE_S = 0.05  # between two prompts
HALTED_S = 35.0  # longer than the worker's claims last (OBSERVATION_LEASE)
SLOWER = 1.5  # times as slow as before, at most, for a prompt while the worker stands still
SETTLED_S = 300.0


@pytest.fixture(scope="module")
def whole(durable: OwnPostgres, upstream: StandIn) -> Iterator[Festinger]:
    with festinger(
        durable, "order", upstream, proxies=2, workers=2, DJANGO_SETTINGS_MODULE="tests.unhurried"
    ) as running:
        running.run("UPDATE config SET value = '1000000' WHERE key LIKE 'quota_%%'")
        running.run("UPDATE config SET value = 'on' WHERE key = 'recall_current'")
        yield running


def test_no_fact_of_a_first_turn_beats_the_second_through_two_proxies_and_two_workers(whole: Festinger) -> None:
    for number in range(TIMES):
        first = ("user", f"vidar{number} is a printer.")
        whole.ask(("system", SYSTEM), first, proxy=number % 2)
        corrected = ("user", f"Actually vidar{number} is a plotter.")
        whole.ask(("system", SYSTEM), first, ("assistant", "Yes."), corrected, proxy=1 - number % 2)

    whole.wait_settled(SETTLED_S)

    assert {row[1] for row in whole.edges("vidar")} == {"plotter"}
    assert len(whole.edges("vidar")) == TIMES
    assert whole.queue("vidar") == []


def test_prompts_go_on_and_nothing_is_lost_while_the_worker_stands_still(whole: Festinger) -> None:
    def ask(number: int) -> float:
        time.sleep(PAUSE_S)
        started = time.monotonic()
        whole.ask(("system", SYSTEM), ("user", f"hoder{number} is a gadget that we keep in room {number}."))
        return time.monotonic() - started

    before = [ask(number) for number in range(BEFORE)]
    whole.wait_settled(SETTLED_S)
    meanwhile = []
    with whole.halted("worker"), whole.halted("worker1"):
        whole.ask(("system", SYSTEM), ("user", "The spare key of the observatory hangs behind the blue door."))
        end = time.monotonic() + HALTED_S
        while time.monotonic() < end:
            meanwhile.append(ask(len(before) + len(meanwhile)))
        told = whole.ask(("system", SYSTEM), ("user", "Behind which door hangs the spare key of the observatory?"))

    whole.wait_settled(SETTLED_S)

    assert "behind the blue door" in told[-1]["content"]
    assert len(whole.edges("hoder")) == len(before) + len(meanwhile)
    assert median(meanwhile) < SLOWER * median(before)
