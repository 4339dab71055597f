"""What is old goes, in batches, and takes nothing along that is in use. Against a real Postgres."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import log10

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from memory import tasks
from memory.db.locks import try_job_lock
from memory.graph import retention, store
from memory.models import (
    Dimension,
    Edge,
    EdgeHistory,
    Evidence,
    LlmCall,
    Observation,
    SeenMessage,
    Soas,
    Source,
)
from memory.types import Triple
from resolution.intake.place import assert_fact
from resolution.models import DecidedTriple

NOW = timezone.now()
LONG_AGO = NOW - timedelta(days=91)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAUSE_S", 0)


def word(token: str, **columns: object) -> Soas:
    return Soas.objects.create(token=token, **{"encounter_count": 1, "last_seen": LONG_AGO, **columns})


def tokens() -> set[str]:
    return set(Soas.objects.values_list("token", flat=True))


def message(number: int, last_seen: datetime) -> None:
    SeenMessage.objects.create(digest=number.to_bytes(32, "big"), last_seen=last_seen)


@pytest.mark.django_db
def test_a_message_that_nobody_resent_for_30_days_is_forgotten() -> None:
    message(1, NOW - timedelta(days=31))
    message(2, NOW - timedelta(days=29))

    assert retention.prune_aged("seen_messages", NOW) == 1
    assert [bytes(row.digest)[-1] for row in SeenMessage.objects.all()] == [2]


def observation(number: int, age: timedelta, **columns: object) -> None:
    said = {"kind": "triple", "parent": "repo", "dimension": "type", "state": "done", "confidence": 0.8}
    Observation.objects.create(
        **said | {"concept": f"zorblat{number}", "created_at": NOW - age, **columns},
        digest=number.to_bytes(32, "big"), said_at=NOW - age, role="user", agent="dobby",
    )  # fmt: skip


def observed() -> list[str]:
    return list(Observation.objects.order_by("concept").values_list("concept", flat=True))


@pytest.mark.django_db
def test_a_settled_statement_goes_when_its_message_is_forgotten() -> None:
    for number in range(1, 5):
        observation(number, timedelta(days=31))
    message(2, NOW)  # resent to this day
    Observation.objects.filter(concept="zorblat3").update(state="pending")
    Observation.objects.filter(concept="zorblat4").update(state="failed")
    observation(5, timedelta(days=29))

    assert retention.prune_aged("statements", NOW) == 2
    assert observed() == ["zorblat2", "zorblat3", "zorblat5"]


@pytest.mark.django_db
def test_a_settled_question_goes_after_a_week() -> None:
    concept = {"kind": "concept", "parent": "", "dimension": ""}
    observation(1, timedelta(days=8), **concept)
    observation(2, timedelta(days=8), **concept, state="pending")
    observation(3, timedelta(days=6), **concept)
    observation(4, timedelta(days=8))

    assert retention.prune_aged("questions", NOW) == 1
    assert observed() == ["zorblat2", "zorblat3", "zorblat4"]


@pytest.mark.django_db
def test_a_call_of_a_language_model_goes_after_a_year_and_more() -> None:
    for days in (399, 401):
        LlmCall.objects.create(model_name="m", purpose="explain", subject=str(days), at=NOW - timedelta(days=days))

    assert retention.prune_aged("calls", NOW) == 1
    assert LlmCall.objects.get().subject == "399"


@pytest.mark.django_db
def test_the_task_deletes_all_that_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    for number in range(5):
        message(number, NOW - timedelta(days=31))
        observation(number, timedelta(days=31))
        word(f"kvasir{number}")

    tasks.prune()

    assert (SeenMessage.objects.count(), observed(), tokens()) == (0, [], set())


@pytest.mark.django_db
def test_of_too_many_words_those_named_least_and_longest_ago_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "VOCABULARY_MAX", 5)
    month_ago = NOW - timedelta(days=31)
    word("often-but-long-ago", encounter_count=9, saliency=0.95, last_seen=month_ago)
    word("fact", novelty=1, last_seen=month_ago)
    word("common", is_common=True, last_seen=month_ago)
    word("history", last_seen=month_ago)
    EdgeHistory.objects.create(
        concept=Soas.objects.get(token="history"), dim=Soas.objects.get(token="fact"), action="insert", actor="dobby",
        source="gutask",
    )  # fmt: skip
    for token, count, seen in (("a", 3, NOW), ("b", 1, NOW), ("c", 1, NOW), ("d", 2, month_ago), ("e", 2, NOW)):
        word(token, encounter_count=count, saliency=log10(count), last_seen=seen)

    assert retention.prune_surplus_words(NOW) == 4
    assert tokens() == {"fact", "common", "history", "a", "e"}
    assert retention.prune_surplus_words(NOW) == 0


@pytest.mark.django_db
@pytest.mark.parametrize("place", ["concept", "dim", "parent", "moved_to"])
def test_words_of_decided_triples_stay(place: str) -> None:
    used = {name: word(name, encounter_count=2) for name in ("concept", "dim", "parent", "moved_to")}
    DecidedTriple.objects.create(**used, kind="relocated", agents=["dobby"])
    Soas.objects.filter(token=place).update(encounter_count=1)
    word("zorblat")

    assert retention.prune_words(NOW) == 1
    assert tokens() == set(used)


@pytest.mark.django_db
def test_a_word_that_was_met_once_and_long_ago_goes_with_its_evidence() -> None:
    old = word("zorblat")
    Evidence.objects.create(concept=old, sentence="zorblat is up", role="user", agent="dobby")

    assert retention.prune_words(NOW) == 1
    assert not Evidence.objects.exists()
    assert tokens() == set()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "columns",
    [
        {"encounter_count": 2},
        {"last_seen": NOW - timedelta(days=89)},
        {"last_seen": None},
        {"is_common": True},
        {"is_muted": True},
        {"novelty": 1},
        {"asked_count": 1},
    ],
)
def test_a_word_that_still_means_something_stays(columns: dict[str, object]) -> None:
    word("zorblat", **columns)

    assert retention.prune_words(NOW) == 0
    assert tokens() == {"zorblat"}


def old_words_of(*facts: Triple) -> None:
    """Asserts the facts, with words that are old themselves."""
    for token in {token for fact in facts for token in (fact.concept, fact.parent, fact.dimension)}:
        word(token)
    for fact in facts:
        assert_fact(fact, store.Attribution("dobby", Source.GUTASK, 1.0, NOW))
    Soas.objects.update(novelty=0)


@pytest.mark.django_db
def test_words_of_facts_and_conflicts_stay() -> None:
    old_words_of(Triple("dobby", "worker", "rank", True), Triple("dobby", "elf", "rank", True))

    assert retention.prune_words(NOW) == 0
    assert tokens() == {"dobby", "worker", "rank", "elf"}


@pytest.mark.django_db
def test_words_that_only_the_history_tells_of_stay_so_that_it_can_be_undone() -> None:
    old_words_of(Triple("dobby", "worker", "rank", True))

    store.retire(Edge.objects.get(concept__token="dobby"), store.Attribution("x", Source.OPERATOR, 1.0, NOW))

    assert retention.prune_words(NOW) == 0
    assert tokens() == {"dobby", "worker", "rank"}


@pytest.mark.django_db
def test_a_dimension_without_facts_stays() -> None:
    store.ensure_dimension(word("rank").pk, is_isa=True)
    word("zorblat")

    assert retention.prune_words(NOW) == 1
    assert Dimension.objects.get().soas.token == "rank"


@pytest.mark.django_db
def test_words_in_use_stop_none_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    old_words_of(Triple("dobby", "worker", "rank", True), Triple("winky", "worker", "rank", True))
    for number in range(5):
        word(f"zorblat{number}")

    assert retention.prune_words(NOW) == 5
    assert tokens() == {"dobby", "winky", "worker", "rank"}


@pytest.mark.django_db
def test_a_run_ends_in_time_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "RUN_S", 0)
    for number in range(3):
        word(f"zorblat{number}")
        message(number, LONG_AGO)

    assert [retention.prune_words(NOW) for _ in range(3)] == [2, 1, 0]
    assert [retention.prune_aged("seen_messages", NOW) for _ in range(3)] == [2, 1, 0]


@contextmanager
def notices(dsn: str) -> Iterator[list[str]]:
    """What Postgres announces meanwhile."""
    heard: list[str] = []
    with psycopg.connect(dsn, autocommit=True) as listener:
        listener.execute("LISTEN festinger")
        yield heard
        heard += [notice.payload for notice in listener.notifies(timeout=0.2)]


def test_no_batch_makes_the_processes_load_everything_anew(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "RUN_S", 600.0)
    Soas.objects.bulk_create(
        Soas(token=f"zorblat{number}", encounter_count=1, last_seen=LONG_AGO) for number in range(4_000)
    )

    with notices(dsn) as heard:
        gone = retention.prune_words(NOW)

    announced = [notice.partition(":") for notice in heard]
    assert gone == 4_000
    assert {table for table, _, _ in announced} == {"soas"}
    assert sum(len(ids.split(",")) for _, _, ids in announced) == 4_000


def test_a_word_that_is_met_again_meanwhile_is_counted_and_stays(dsn: str) -> None:
    old = word("zorblat")
    with psycopg.connect(dsn) as flusher:
        flusher.execute("SELECT pg_advisory_xact_lock(75, 0)")
        flusher.execute("UPDATE soas SET encounter_count = 2, last_seen = now() WHERE id = %s", [old.pk])
        pruner = threading.Thread(target=in_a_connection_of_its_own, args=[lambda: retention.prune_words(NOW)])
        pruner.start()
        wait_until_somebody_waits(dsn)
    pruner.join()

    assert tokens() == {"zorblat"}


def test_a_word_that_somebody_holds_is_left_for_the_next_time(dsn: str) -> None:
    old = word("zorblat")
    with psycopg.connect(dsn) as writer:
        writer.execute("SELECT FROM soas WHERE id = %s FOR KEY SHARE", [old.pk])
        skipped = retention.prune_words(NOW)

    assert (skipped, retention.prune_words(NOW)) == (0, 1)


def test_a_word_that_comes_to_be_used_at_the_last_moment_stays(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old = word("zorblat")
    word("kvasir")
    monkeypatch.setattr(retention, "_find_unused", lambda words: words)
    Evidence.objects.create(concept=old, sentence="zorblat is up", role="user", agent="dobby")
    with psycopg.connect(dsn) as writer:
        writer.execute("INSERT INTO dimension (id, is_isa) VALUES (%s, true)", [old.pk])

    assert retention.prune_words(NOW) == 0
    assert tokens() == {"zorblat", "kvasir"}
    assert Evidence.objects.count() == 1


def test_a_second_run_at_the_same_time_ends_at_once(dsn: str) -> None:
    word("zorblat")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT pg_advisory_lock(76, hashtext('memory'))")
        tasks.prune()
        kept = tokens()
        other.execute("SELECT pg_advisory_unlock(76, hashtext('memory'))")
    tasks.prune()

    assert (kept, tokens()) == ({"zorblat"}, set())


def test_the_turn_is_given_back_also_after_an_error(dsn: str) -> None:
    with pytest.raises(ZeroDivisionError), try_job_lock("memory"):
        raise ZeroDivisionError

    with psycopg.connect(dsn) as other:
        assert other.execute("SELECT pg_try_advisory_lock(76, hashtext('memory'))").fetchone() == (True,)


def in_a_connection_of_its_own(work: Callable[[], object]) -> None:
    work()
    connection.close()


def wait_until_somebody_waits(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as watcher:
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        for _ in range(500):
            if watcher.execute(waiting).fetchone() != (0,):
                return
            time.sleep(0.02)
    raise TimeoutError
