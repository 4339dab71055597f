"""A plan changes nothing: carried out or not, the next one is the same."""

import asyncio

import orjson
import pytest

from proxy.prompts.plan import Plan
from tests.proxy.enriching import DOBBY, Enriching

TALK = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "What is gnommoweb? Forget what I said about kvasir."},
        {"role": "assistant", "content": "A repo."},
        {"role": "user", "content": "Is Gnommoweb a worker now?"},
    ],
}


@pytest.fixture
def proxy() -> Enriching:
    proxy = Enriching()
    proxy.teach("gnommoweb", "repo")
    return proxy


def plan(proxy: Enriching) -> Plan:
    planned = asyncio.run(proxy.enricher.planner.plan("/api/chat", orjson.dumps(TALK), DOBBY))
    assert isinstance(planned, Plan)
    return planned


def test_a_plan_hands_over_counts_and_remembers_nothing(proxy: Enriching) -> None:
    row = proxy.cache.soas_by_token["gnommoweb"]
    planner = proxy.enricher.planner

    plans = [plan(proxy) for _ in range(2)]

    assert (proxy.heard, proxy.events.added, proxy.events.given) == ([], [], {})
    assert (len(planner.blocks), row.encounter_count, row.last_seen) == (0, 0, None)
    assert plans[0].body == plans[1].body != orjson.dumps(TALK)
    assert [len(each.encounter.messages) for each in plans] == [3, 3]


def test_what_is_sent_is_the_plan(proxy: Enriching) -> None:
    planned = plan(proxy)

    assert proxy.ask("/api/chat", TALK).body == planned.body
    assert len(proxy.heard) == 3
    assert proxy.cache.soas_by_token["gnommoweb"].encounter_count == 2
