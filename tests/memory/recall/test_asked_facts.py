"""Facts that a prompt asks for, found in the cache."""

import pytest

from memory.cache.state import Cache
from memory.recall.facts import ASKED_MAX, find_asked_facts
from memory.types import EdgeRow, SoasRow, TripleIds
from tests.memory.recall.test_recollect import cache_of

RARITY = {"run": 3.0, "updat": 4.0, "custom": 4.0, "restart": 5.0, "packag": 4.0, "mani": 3.0, "thank": 2.0}
TOKENS = ["runs-on", "zwiebel", "knolle", "tyr-1", "odin", "type", "loki"]
RUNS_ON, ZWIEBEL, KNOLLE, TYR, ODIN, TYPE, LOKI = range(1, 8)


def runs_on(concept: int, host: int, **more: object) -> EdgeRow:
    return EdgeRow(concept, host, RUNS_ON, False, **more)  # type: ignore[arg-type]


def cache(*edges: EdgeRow, **rows: SoasRow) -> Cache:
    made = cache_of({token: SoasRow(number) for number, token in enumerate(TOKENS, 1)} | rows, list(edges))
    made.rarity = RARITY
    return made


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("What runs on tyr-1?", [(ZWIEBEL, RUNS_ON, TYR)]),
        ("What runs on odin?", [(KNOLLE, RUNS_ON, ODIN), (LOKI, RUNS_ON, ODIN)]),  # the more confident first
        ("Where does knolle run?", [(KNOLLE, RUNS_ON, ODIN)]),
        ("Restart the nginx of our customers on tyr-1 after the update of all packages, many thanks", []),
        ("runs-on?", []),  # the root of a dimension
        ("What runs on yggdrasil?", []),
        ("", []),
    ],
)
def test_a_question_finds_the_facts_of_what_it_names_and_a_mention_none(said: str, found: list[TripleIds]) -> None:
    known = cache(
        runs_on(ZWIEBEL, TYR),
        EdgeRow(ZWIEBEL, LOKI, TYPE, True),
        runs_on(LOKI, ODIN, confidence=0.6),
        runs_on(KNOLLE, ODIN, confidence=0.9),
        EdgeRow(RUNS_ON, RUNS_ON, RUNS_ON, False),
    )

    assert list(find_asked_facts(known, said)) == found


@pytest.mark.parametrize("host", [SoasRow(ODIN, is_common=True), SoasRow(ODIN, is_muted=True)])
def test_nothing_is_found_by_a_common_word_or_a_muted_one(host: SoasRow) -> None:
    assert find_asked_facts(cache(runs_on(KNOLLE, ODIN), odin=host), "What runs on odin?") == ()


def test_so_many_facts_are_found_at_most() -> None:
    others = {f"thing{number}": SoasRow(number) for number in range(100, 200)}
    known = cache(*(runs_on(row.id, ODIN) for row in others.values()), **others)

    assert len(find_asked_facts(known, "What runs on odin?")) == ASKED_MAX
