"""What a request is called."""

import random

from tests.proxy.enriching import Enriching

SAID = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_nobody_can_reckon_the_id_of_a_request() -> None:
    ids = set()
    for _ in range(2):
        random.seed(1)
        ids.add(Enriching().ask("/api/chat", SAID).request)

    assert (len(ids), {len(request) for request in ids}) == (2, {16})
