"""Facts that a prompt asks for by their parent, found in the cache."""

import pytest

from memory.cache.state import Cache
from memory.recall.facts import ASKED_MAX, find_asked_facts
from memory.types import EdgeRow, SoasRow, TripleIds
from tests.memory.test_recall import cache_of

RARITY = {"run": 3.0, "updat": 4.0, "custom": 4.0, "restart": 5.0, "packag": 4.0, "mani": 3.0, "thank": 2.0}
TOKENS = ["runs-on", "zwiebel", "knolle", "tyr-1", "odin", "type"]
RUNS_ON, ZWIEBEL, KNOLLE, TYR, ODIN, TYPE = range(1, 7)


def cache(*edges: EdgeRow, **rows: SoasRow) -> Cache:
    known = {token: SoasRow(number) for number, token in enumerate(TOKENS, 1)}
    made = cache_of(known | rows, list(edges))
    made.rarity = RARITY
    return made


def runs_on(concept: int, host: int, **more: object) -> EdgeRow:
    return EdgeRow(concept, host, RUNS_ON, False, **more)


@pytest.fixture
def hosts() -> Cache:
    return cache(
        runs_on(ZWIEBEL, TYR),
        EdgeRow(ZWIEBEL, ODIN, TYPE, True),
        runs_on(KNOLLE, ODIN),
        EdgeRow(RUNS_ON, RUNS_ON, RUNS_ON, False),
    )


def test_a_question_finds_what_has_the_named_concept_as_its_parent(hosts: Cache) -> None:
    assert find_asked_facts(hosts, "What runs on tyr-1?") == (TripleIds(ZWIEBEL, RUNS_ON, TYR),)


def test_a_mention_finds_nothing(hosts: Cache) -> None:
    mention = "Restart the nginx of our customers on tyr-1 after the update of all packages, many thanks"

    assert find_asked_facts(hosts, mention) == ()


def test_a_question_about_a_concept_finds_its_own_facts(hosts: Cache) -> None:
    assert find_asked_facts(hosts, "Where does knolle run?") == (TripleIds(KNOLLE, RUNS_ON, ODIN),)


def test_the_root_of_a_dimension_is_no_fact(hosts: Cache) -> None:
    assert find_asked_facts(hosts, "runs-on?") == ()


def test_nothing_is_found_about_what_nobody_knows(hosts: Cache) -> None:
    assert find_asked_facts(hosts, "What runs on yggdrasil?") == find_asked_facts(hosts, "") == ()


def test_a_fact_that_moved_is_found_where_it_is_now(hosts: Cache) -> None:
    hosts.put_edges(ZWIEBEL, [runs_on(ZWIEBEL, ODIN)])

    assert find_asked_facts(hosts, "What runs on tyr-1?") == ()
    assert set(find_asked_facts(hosts, "What runs on odin?")) == {
        TripleIds(ZWIEBEL, RUNS_ON, ODIN),
        TripleIds(KNOLLE, RUNS_ON, ODIN),
    }


def test_the_more_confident_of_equal_facts_comes_first() -> None:
    known = cache(runs_on(ZWIEBEL, ODIN, confidence=0.6), runs_on(KNOLLE, ODIN, confidence=0.9))

    assert [ids.concept_id for ids in find_asked_facts(known, "What runs on odin?")] == [KNOLLE, ZWIEBEL]


def test_so_many_facts_are_found_at_most() -> None:
    others = {f"thing{number}": SoasRow(number) for number in range(100, 200)}
    known = cache(*(runs_on(row.id, ODIN) for row in others.values()), **others)

    assert len(find_asked_facts(known, "What runs on odin?")) == ASKED_MAX


def test_nothing_is_found_by_a_common_word_or_a_muted_one(hosts: Cache) -> None:
    hosts.soas_by_token["tyr-1"].is_common = True
    hosts.put_soas("odin", SoasRow(ODIN, is_muted=True))

    assert find_asked_facts(hosts, "What runs on tyr-1?") == find_asked_facts(hosts, "What runs on odin?") == ()
