"""What a request, and its model, is called."""

import random

import pytest

from memory import bounds
from tests.proxy.enriching import Enriching

SAID = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_nobody_can_reckon_the_id_of_a_request() -> None:
    ids = set()
    for _ in range(2):
        random.seed(1)
        ids.add(Enriching().ask("/api/chat", SAID).request)

    assert (len(ids), {len(request) for request in ids}) == (2, {16})


@pytest.mark.parametrize(("name", "bites"), [("llama3:8b", 0), ("m" * 201, 1), ("m\nforged", 1)])
def test_a_model_that_cannot_be_is_counted_and_shown_cut(name: str, bites: int) -> None:
    proxy, before = Enriching(), bounds.count_bites()["model_name"]

    proxy.ask("/api/chat", SAID | {"model": name})

    assert bounds.count_bites()["model_name"] == before + bites
    shown = proxy.events.added[-1]["model"]
    assert (len(shown) <= 200, shown.isprintable()) == (True, True)
