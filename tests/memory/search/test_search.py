"""What is found again, by whom, in a real database."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.cache.state import Cache
from memory.graph import store
from memory.models import Config, Source
from memory.search.searcher import Searcher
from memory.search.service import search
from memory.search.vectors import queue
from memory.types import TripleIds
from tests.arrange import dispute, say
from tests.memory.memories.said import ANN, digest_of, given, remembered, said

DATABASE = "We moved the billing database to Postgres 17 last week."
OTHERS = """
    INSERT INTO episode (digest, conversation, agent, role, text, lexemes, said_at)
    SELECT sha256(('other ' || n)::bytea), substr(sha256(n::text::bytea), 1, 16), 'agent-' || n % 5, 'user',
        'billing ' || n, setweight(to_tsvector('english', 'billing ' || n), 'A'), now()
    FROM generate_series(1, 5000) n
"""


@pytest.fixture
def embed(vectors: None) -> Callable[[], object]:
    """Embeds what was said so far, as a worker does."""
    Config.objects.update_or_create(key="embedder", defaults={"value": "builtin"})
    return queue.embed_due


def texts(*args: object, **options: object) -> list[str]:
    return [each.text for each in search(*args, **options)]  # type: ignore[arg-type]


@pytest.mark.django_db
def test_what_was_said_is_found_by_other_forms_of_its_words() -> None:
    said(DATABASE)
    said("The cat sleeps on the sofa.")

    assert texts(ANN, "which version are our billing databases?") == [DATABASE]


def test_what_was_said_is_found_by_its_meaning(embed) -> None:
    checkout = said("Our customers complained that checkout takes twelve seconds on mobile phones.")
    said("The cat sleeps on the sofa.")
    said("My daughter Ida starts school in September.")
    embed()

    for find in (texts, given):
        assert find(ANN, "Why is the purchase page so slow for smartphone users?")[:1] == [checkout.text]
        assert find(ANN, "quantum chromodynamics lecture") == []


def test_the_users_next_message_comes_with_what_it_answers(embed) -> None:
    said("Should the retry limit of the mail queue go up to 12?", talk="mail")
    proposed = said("The retry limit of the mail queue should go up to 12, says Ivo.", talk="mail")
    said("That is a lot.", role="assistant", talk="mail")
    said("checked, nonsense, it stays at 8", talk="mail")
    said("The weather is fine in Bergen.")
    embed()

    found = given(ANN, "How often does our mail queue retry?")

    assert found[:2] == [proposed.text, "checked, nonsense, it stays at 8"]


def test_a_short_message_is_found_by_what_was_said_before_it(embed) -> None:
    said("Which key code opens the rehearsal room in the cork warehouse, I need to note it for the band.", talk="band")
    said("7306 and hash", talk="band")
    for number in range(5):
        said(f"Invoice {number} was paid on time, the client was happy with it.")
    embed()

    assert "7306 and hash" in given(ANN, "What do I type in to open the door of our rehearsal room?")


def test_facts_are_found_by_what_they_are_about_and_backwards(db) -> None:
    ids = store.ensure_tokens(["zwiebel", "knolle", "runs-on", "tyr-1", "odin"])
    store.ensure_dimension(ids["runs-on"], is_isa=False)
    by = store.Attribution("ann", Source.OPERATOR, 1.0, timezone.now())
    for concept, host in (("zwiebel", "tyr-1"), ("knolle", "odin")):
        store.insert(store.new_edge(TripleIds(ids[concept], ids["runs-on"], ids[host]), False, by), by)

    assert texts(ANN, "What runs on tyr-1?") == ["zwiebel runs on tyr-1."]
    assert texts(ANN, "knolle", types="facts") == ["knolle runs on odin."]


def test_a_fact_in_an_open_conflict_is_marked(db) -> None:
    dispute("zwiebel ispart tyr-1 runs-on", "zwiebel ispart odin runs-on")
    say("knolle ispart odin runs-on")

    assert [each.is_disputed for name in ("zwiebel", "knolle") for each in search(ANN, name)] == [True, False]


@pytest.mark.django_db
def test_a_prompt_gets_only_what_users_said_themselves() -> None:
    said(DATABASE, role="assistant")
    said(f"Look: > {DATABASE}", quoted=[6, 8 + len(DATABASE)])
    said(f"The billing database is slow. > {DATABASE}", quoted=[30, 32 + len(DATABASE)])
    remembered(DATABASE, channel="quoted")

    assert given(ANN, "billing database") == ["The billing database is slow."]
    assert len(texts(ANN, "billing database")) == 3  # the memory and the answer say the same


@pytest.mark.django_db
def test_a_prompt_gets_no_message_whose_fact_was_taken_back_since() -> None:
    for each in (
        "Heimdall is a Flask app.",
        "We gave up Python: Heimdall is not a Flask app any more.",
        "Heimdall is slow.",
    ):
        said(each)
    ids = store.ensure_tokens(["heimdall", "flask_app", "type"])
    store.ensure_dimension(ids["type"], is_isa=True)
    by = store.Attribution("ann", Source.OPERATOR, 1.0, timezone.now())
    edge = store.insert(store.new_edge(TripleIds(ids["heimdall"], ids["type"], ids["flask_app"]), True, by), by)
    asked = ("what is heimdall?", "which of ours is a Flask app?")
    assert all("Heimdall is a Flask app." in given(ANN, query) for query in asked)

    store.retire(edge, by)

    assert "Heimdall is a Flask app." not in given(ANN, asked[1])
    assert sorted(given(ANN, asked[0])) == [
        "Heimdall is slow.",
        "We gave up Python: Heimdall is not a Flask app any more.",
    ]


@pytest.mark.django_db
def test_quotes_and_operators_in_a_query_are_words() -> None:
    said("It's O'Brien's C:\\temp & a | b ! folder")

    assert texts(ANN, "o'brien's c:\\temp ' & | !") == ["It's O'Brien's C:\\temp & a | b ! folder"]
    assert texts(ANN, "\0 & | ! ( ) : * '") == []


@pytest.mark.django_db
def test_only_what_a_model_concluded_is_less_sure_with_time() -> None:
    old = timezone.now() - timedelta(days=100)
    remembered("The billing database is slow.", category="project", last_updated=old, channel="explained")
    remembered("Anna owns the billing code.", category="project", last_updated=old)
    remembered("The user is a billing clerk.", category="identity", last_updated=old)
    remembered("Billing is in Rome.", category="project", last_updated=old - timedelta(days=100), channel="explained")

    assert sorted(round(each.confidence, 2) for each in search(ANN, "billing")) == [0.37, 1, 1]
    assert len(given(ANN, "billing")) == 2


def searching(dsn: str, ask: Callable[[Searcher], Awaitable[object]]) -> object:
    async def run() -> object:
        searcher = Searcher(dsn, Cache())
        try:
            await searcher.indexes.read_alone()
            return await ask(searcher)
        finally:
            searcher.indexes.close()

    return asyncio.run(run())


def test_a_server_finds_what_other_conversations_hold(dsn: str) -> None:
    said(DATABASE, talk="earlier")
    said("Tell me about our billing database.", talk="now")
    remembered("The billing database is called heron.")
    remembered("The billing database is called osprey.", confidence=0.5)

    related = searching(
        dsn,
        lambda searcher: searcher.find_related(ANN, ["our billing database?"], digest_of("now", 16), deadline_ms=500),
    )

    assert sorted(each.text for each in related.lines) == ["The billing database is called heron.", DATABASE]
