"""What is found again, by whom."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.domain.types import TripleIds
from memory.graph import store
from memory.models import Episode, Memory, MemoryLineage, Source
from memory.semantic.domain.scope import Scope, Speaker
from memory.semantic.search import search
from memory.semantic.searcher import IN_FLIGHT_MAX, Searcher
from tests.memory.semantic.said import ANN, digest_of, remembered, said

DATABASE = "We moved the billing database to Postgres 17 last week."
PREFERENCE = "The user prefers rebase to merge commits."


def texts(*args: object, **options: object) -> list[str]:
    return [each.text for each in search(*args, **options)]  # type: ignore[arg-type]


@pytest.mark.django_db
def test_what_was_said_is_found_by_other_forms_of_its_words() -> None:
    said(DATABASE)
    said("The cat sleeps on the sofa.")

    assert texts(ANN, "which version are our billing databases?") == [DATABASE]


@pytest.mark.django_db
def test_each_question_of_a_message_is_answered_unasked() -> None:
    said("We deploy only on Tuesdays.")
    said("The heimdall gateway throws timeouts since the heimdall upgrade.")
    asked = "Where does the heimdall gateway run, and when do we deploy?"

    assert "We deploy only on Tuesdays." in texts(ANN, asked, own_words_only=True)


@pytest.mark.django_db
def test_where_a_memory_tells_what_was_asked_for_the_rest_of_its_message_is_not_given() -> None:
    episode = said("I might sell the car, not sure. Our dog is called Rex.", talk="before")
    memory = remembered("The team's dog is called Rex.", category="identity")
    MemoryLineage.objects.create(memory=memory, kind="episode", row=episode.pk)

    assert texts(ANN, "What is the dog's name?", types="episodes", own_words_only=True) == []


@pytest.mark.django_db
def test_memories_are_found_beside_episodes() -> None:
    remembered(PREFERENCE, category="preference")
    said("I rebased the feature branch yesterday.")

    found = search(ANN, "rebase or merge?")

    assert [(each.kind, each.category) for each in found] == [("memory", "preference"), ("episode", "")]


@pytest.mark.django_db
def test_by_itself_only_what_users_said_themselves_is_given() -> None:
    said(DATABASE, role="assistant")
    said(f"Look: > {DATABASE}", quoted=[6, 8 + len(DATABASE)])
    said(f"The billing database is slow. > {DATABASE}", quoted=[30, 32 + len(DATABASE)])
    remembered(DATABASE, channel="quoted")

    assert texts(ANN, "billing database", own_words_only=True) == ["The billing database is slow."]


@pytest.mark.django_db
def test_what_somebody_once_asked_takes_no_room_of_what_somebody_said() -> None:
    said(DATABASE)
    for number in range(8):
        said(f"Hello! Which version is our billing database, number {number}?")

    assert texts(ANN, "Which version is our billing database?", own_words_only=True) == [DATABASE]


def derived(memory: Memory, episode: Episode) -> None:
    MemoryLineage.objects.create(memory=memory, kind=MemoryLineage.Kind.EPISODE, row=episode.pk)


@pytest.mark.django_db
def test_by_itself_a_message_is_not_given_beside_the_memory_that_tells_all_of_it() -> None:
    earlier = digest_of("earlier", 16)
    derived(
        remembered(PREFERENCE, category="preference", conversation=earlier),
        said("I prefer rebase to merge commits, by the way."),
    )
    sister = "My sister prefers rebase to merge, she is allergic to nuts."
    derived(
        remembered("The user's sister prefers rebase to merge.", category="identity", conversation=earlier),
        said(sister),
    )

    found = texts(ANN, "rebase or merge commits?", own_words_only=True)

    assert sorted(found) == sorted([PREFERENCE, "The user's sister prefers rebase to merge.", sister])
    assert len(texts(ANN, "rebase or merge commits?")) == 4


@pytest.mark.django_db
@pytest.mark.parametrize("status", ["superseded", "invalid"])
def test_by_itself_what_a_memory_said_that_holds_no_more_is_not_given(status: str) -> None:
    episode = said("I prefer rebase to merge commits. The merge of the billing branch failed.")
    derived(remembered(PREFERENCE, status=status, archived_at=timezone.now()), episode)

    assert texts(ANN, "rebase?", own_words_only=True) == []
    assert texts(ANN, "billing branch?", own_words_only=True) == ["The merge of the billing branch failed."]


@pytest.mark.django_db
def test_by_itself_no_message_is_given_whose_fact_was_taken_back_since() -> None:
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
    assert len(texts(ANN, "what is heimdall?", own_words_only=True)) == 3

    store.retire(edge, by)

    found = texts(ANN, "what is heimdall?", own_words_only=True)
    assert sorted(found) == ["Heimdall is slow.", "We gave up Python: Heimdall is not a Flask app any more."]


@pytest.mark.django_db
def test_by_itself_nothing_is_given_that_shares_only_what_a_question_speaks_of_in_general() -> None:
    said("We adopted a cat from the shelter and named it Socks.")

    assert texts(ANN, "What are good names for a cat?", own_words_only=True) == []
    assert len(texts(ANN, "What is the name of our cat?", own_words_only=True)) == 1


@pytest.mark.django_db
def test_what_somebody_asks_of_themselves_is_found_with_no_word_in_common() -> None:
    earlier = digest_of("earlier", 16)
    remembered("The user moved to Bergen in March.", category="identity", conversation=earlier)
    remembered(
        "The user moved to Rome.", Scope(Speaker("agent-zero", "bob")), category="identity", conversation=earlier
    )

    for own_words_only in (False, True):
        found = texts(ANN, "Where do I live?", own_words_only=own_words_only)
        assert found == ["The user moved to Bergen in March."]


@pytest.mark.django_db
def test_by_itself_less_likeness_is_enough_where_somebody_asks_about_their_own_things() -> None:
    paid = "Bought shoes on Saturday: Brooks Ghost, half a size bigger than usual as the lady in the shop advised"
    said(paid)

    assert texts(ANN, "How do I tie my shoes with one hand while I carry bags?", own_words_only=True) == []
    assert texts(ANN, "Which shoes did I pick for running in the end?", own_words_only=True) == [paid]


@pytest.mark.django_db
def test_what_was_put_off_comes_before_its_first_date() -> None:
    first = said("My committee meeting is on the 19th of May and I have nothing but soil samples.", talk="plan")
    later = "The committee meeting got postponed to June 11th since Professor Achebe is ill."
    said(later, said_at=first.said_at + timedelta(days=9))

    assert texts(ANN, "When does my committee meeting take place?")[0] == later


@pytest.mark.django_db
def test_by_itself_a_change_is_given_beside_what_it_has_changed() -> None:
    supplier = said("Our flour comes from Krume, delivery every Thursday.")
    changed = "No longer Thursdays, Krume now brings the bread, the butter and some of the flour on Fridays"
    said(changed, said_at=supplier.said_at + timedelta(days=1))
    said("Krume paints some of the doors in yellow, the windows in green and the flour bins in blue.")

    assert set(texts(ANN, "When does the flour delivery come?", own_words_only=True)) == {supplier.text, changed}


@pytest.mark.django_db
def test_by_itself_what_corrects_a_message_right_after_it_is_given_with_it() -> None:
    stated = said("Mimir's retention is 13 months.", talk="logs")
    corrected = said("no wait, the retention is 24 months", talk="logs", said_at=stated.said_at + timedelta(minutes=1))
    said("no idea what the retention of 13 months costs", talk="others", said_at=corrected.said_at)

    assert set(texts(ANN, "what do we know about mimir?", own_words_only=True)) == {stated.text, corrected.text}


@pytest.mark.django_db
def test_by_itself_a_correction_comes_some_messages_later_but_none_of_something_else() -> None:
    stated = said("Kvasir, our gateway, listens on port 8080.", talk="ops")
    others = ["Actually heimdall runs on asgard-05 now.", "We deploy on Tuesdays.", "Actually kvasir listens on 9090."]
    for minute, text in enumerate(others, 1):
        said("Noted.", role="assistant", talk="ops")
        said(text, talk="ops", said_at=stated.said_at + timedelta(minutes=minute))

    assert set(texts(ANN, "which port has the gateway?", own_words_only=True)) == {stated.text, others[-1]}


@pytest.mark.django_db
def test_quotes_and_operators_in_a_question_are_words() -> None:
    said("It's O'Brien's C:\\temp & a | b ! folder")

    assert texts(ANN, "o'brien's c:\\temp ' & | !") == ["It's O'Brien's C:\\temp & a | b ! folder"]


@pytest.mark.django_db
def test_what_nobody_has_said_again_for_long_is_less_sure_but_not_what_was_stated_on_purpose() -> None:
    old = timezone.now() - timedelta(days=100)
    remembered("The billing database is slow.", category="project", last_updated=old)
    remembered("Anna owns the billing code.", category="project", last_updated=old, channel="operator")
    remembered("The user is a billing clerk.", category="identity", last_updated=old)
    remembered("Billing moves to Rome in May.", category="project", last_updated=old - timedelta(days=100))

    found = search(ANN, "billing")
    assert sorted(round(each.confidence, 2) for each in found) == [0.37, 1, 1]
    assert len(search(ANN, "billing", least_confidence=0.5)) == 2


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

    assert [each.text for each in related.episodes] == [DATABASE]
    assert [each.text for each in related.memories] == ["The billing database is called heron."]


@pytest.mark.django_db
def test_an_answer_to_what_the_model_asked_is_found_by_the_question() -> None:
    said("What is the name of your cat?", role="assistant", talk="cats")
    said("Biscuit, after my grandmother's favourite.", talk="cats")
    said("What is the name of your cat?", role="assistant", talk="others")

    assert texts(ANN, "name of the cat", own_words_only=True) == ["Biscuit, after my grandmother's favourite."]


def test_without_a_connection_a_search_is_skipped(dsn: str) -> None:
    searcher = Searcher("postgresql://nobody@127.0.0.1:1/none")

    assert asyncio.run(searcher.find_related(Scope(Speaker("a")), ["billing"], b"", deadline_ms=100)) is None
    assert searcher.counts.skipped == 1
