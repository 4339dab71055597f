"""What is found again, by whom, in a real database."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memory.domain.types import TripleIds
from memory.graph import store
from memory.metrics import total
from memory.models import Config, Source
from memory.search.request import Kind, SearchRequest
from memory.search.searcher import IN_FLIGHT_MAX, Searcher
from memory.search.service import search
from memory.search.statement import compose
from memory.semantic.domain.scope import Scope, Speaker
from memory.semantic.vectors import queue
from tests.memory.semantic.said import ANN, digest_of, remembered, said

DATABASE = "We moved the billing database to Postgres 17 last week."
OTHERS = """
    INSERT INTO episode (digest, conversation, agent, role, text, lexemes, said_at)
    SELECT sha256(('other ' || n)::bytea), substr(sha256(n::text::bytea), 1, 16), 'agent-' || n % 5, 'user',
        'billing ' || n, setweight(to_tsvector('english', 'billing ' || n), 'A'), now()
    FROM generate_series(1, 5000) n
"""
PREFERENCE = "The user prefers rebase to merge commits."


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

    for is_unasked in (True, False):
        asked = "Why is the purchase page so slow for smartphone users?"
        assert texts(ANN, asked, is_unasked=is_unasked)[:1] == [checkout.text]
        assert texts(ANN, "quantum chromodynamics lecture", is_unasked=is_unasked) == []


def test_the_users_next_message_comes_with_what_it_answers(embed) -> None:
    said("Should the retry limit of the mail queue go up to 12?", talk="mail")
    proposed = said("The retry limit of the mail queue should go up to 12, says Ivo.", talk="mail")
    said("That is a lot.", role="assistant", talk="mail")
    said("checked, nonsense, it stays at 8", talk="mail")
    said("The weather is fine in Bergen.")
    embed()

    found = texts(ANN, "How often does our mail queue retry?", is_unasked=True)

    assert found[:2] == [proposed.text, "checked, nonsense, it stays at 8"]


def test_a_short_message_is_found_by_what_was_said_before_it(embed) -> None:
    said("Which key code opens the rehearsal room in the cork warehouse, I need to note it for the band.", talk="band")
    said("7306 and hash", talk="band")
    for number in range(5):
        said(f"Invoice {number} was paid on time, the client was happy with it.")
    embed()

    assert "7306 and hash" in texts(ANN, "What do I type in to open the door of our rehearsal room?", is_unasked=True)


def test_facts_are_found_by_what_they_are_about_and_backwards(db) -> None:
    ids = store.ensure_tokens(["zwiebel", "knolle", "runs-on", "tyr-1", "odin"])
    store.ensure_dimension(ids["runs-on"], is_isa=False)
    by = store.Attribution("ann", Source.OPERATOR, 1.0, timezone.now())
    for concept, host in (("zwiebel", "tyr-1"), ("knolle", "odin")):
        store.insert(store.new_edge(TripleIds(ids[concept], ids["runs-on"], ids[host]), False, by), by)

    for is_unasked in (True, False):
        assert texts(ANN, "What runs on tyr-1?", is_unasked=is_unasked) == ["zwiebel runs on tyr-1."]
    assert texts(ANN, "knolle", types="facts") == ["knolle runs on odin."]
    mentioned = "Restart the nginx of our customers on tyr-1 after the update of all packages"
    assert texts(ANN, mentioned, is_unasked=True) == []


def test_a_question_that_was_just_asked_is_not_its_own_answer(embed) -> None:
    said(DATABASE)
    for number in range(30):
        said(f"Hello! Which version is our billing database, number {number}?")
    said("Tell me which version our billing database is.")
    embed()

    for is_unasked in (True, False):
        assert texts(ANN, "Tell me which version our billing database is.", is_unasked=is_unasked) == [DATABASE]


@pytest.mark.django_db
def test_memories_are_found_beside_episodes() -> None:
    remembered(PREFERENCE, category="preference")
    said("I rebased the feature branch yesterday.")

    found = search(ANN, "rebase or merge?")

    assert [(each.kind, each.category) for each in found] == [("memory", "preference"), ("episode", "")]


@pytest.mark.django_db
def test_a_prompt_gets_only_what_users_said_themselves() -> None:
    said(DATABASE, role="assistant")
    said(f"Look: > {DATABASE}", quoted=[6, 8 + len(DATABASE)])
    said(f"The billing database is slow. > {DATABASE}", quoted=[30, 32 + len(DATABASE)])
    remembered(DATABASE, channel="quoted")

    assert texts(ANN, "billing database", is_unasked=True) == ["The billing database is slow."]
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
    assert "Heimdall is a Flask app." in texts(ANN, "what is heimdall?", types="episodes", is_unasked=True)

    store.retire(edge, by)

    found = texts(ANN, "what is heimdall?", is_unasked=True)
    assert sorted(found) == ["Heimdall is slow.", "We gave up Python: Heimdall is not a Flask app any more."]


@pytest.mark.django_db
def test_quotes_and_operators_in_a_query_are_words() -> None:
    said("It's O'Brien's C:\\temp & a | b ! folder")

    assert texts(ANN, "o'brien's c:\\temp ' & | !") == ["It's O'Brien's C:\\temp & a | b ! folder"]
    assert texts(ANN, "\0 & | ! ( ) : * '") == []


@pytest.mark.django_db
def test_what_nobody_has_said_again_for_long_is_less_sure_but_not_what_was_stated_on_purpose() -> None:
    old = timezone.now() - timedelta(days=100)
    remembered("The billing database is slow.", category="project", last_updated=old)
    remembered("Anna owns the billing code.", category="project", last_updated=old, channel="operator")
    remembered("The user is a billing clerk.", category="identity", last_updated=old)
    remembered("Billing moves to Rome in May.", category="project", last_updated=old - timedelta(days=100))

    assert sorted(round(each.confidence, 2) for each in search(ANN, "billing")) == [0.37, 1, 1]
    assert len(search(ANN, "billing", is_unasked=True)) == 2


def searching(dsn: str, ask: Callable[[Searcher], Awaitable[object]]) -> object:
    async def run() -> object:
        searcher = Searcher(dsn)
        keeping = asyncio.create_task(searcher.run())
        try:
            for _ in range(500):
                if searcher.open_count == IN_FLIGHT_MAX:  # cancelled while it connects, one would be left open
                    break
                await asyncio.sleep(0.01)
            return await ask(searcher)
        finally:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping

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


def test_without_a_connection_a_search_is_skipped() -> None:
    searcher = Searcher("postgresql://nobody@127.0.0.1:1/none")
    before = total("festinger_searches_total", result="skipped")

    assert asyncio.run(searcher.find_related(Scope(Speaker("a")), ["billing"], b"", deadline_ms=100)) is None
    assert total("festinger_searches_total", result="skipped") == before + 1


@pytest.mark.django_db
def test_words_are_found_by_an_index_that_knows_their_speaker() -> None:
    said(DATABASE)
    odd = Scope(Speaker("o'brien\\", "c' | d"))
    said(DATABASE, odd)
    request = SearchRequest(ANN, "billing database", "episodes", is_unasked=True)

    with connection.cursor() as cursor:
        cursor.execute(OTHERS)
        cursor.execute("ANALYZE episode")
        statement, arguments = compose(request, None, None)
        cursor.execute(f"EXPLAIN {statement}", arguments)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    [words] = re.findall(r"CTE hit_episode.*?(?=\n  CTE)", plan, re.DOTALL)
    assert "Bitmap Index Scan on episode_words" in words
    assert "episode_of_a_speaker" not in words
    assert texts(ANN, "billing database") == texts(odd, "billing database") == [DATABASE]


def test_a_scope_with_too_many_texts_to_compare_is_not_counted_again(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.search.searcher.EXACT_MAX", 0)
    remembered("The billing database is called heron.")

    async def ask_twice(searcher: Searcher) -> list[list[Kind]]:
        request = SearchRequest(ANN, "", is_unasked=True)
        known = []
        for _ in range(2):
            known.append(searcher._find_large(request))
            await searcher.find_related(ANN, ["our billing database?"], digest_of("now", 16), deadline_ms=500)
        return [*known, searcher._find_large(request)]

    assert searching(dsn, ask_twice) == [[], ["memory"], ["memory"]]
