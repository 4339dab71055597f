"""What becomes of the rows of ``observation`` that hold a statement."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import InternalError, OperationalError, connection
from django.utils import timezone

from memory.db import transactions
from memory.db.transactions import GraphChanged
from memory.graph import placement
from memory.graph.store import Assertion
from memory.models import Alias, Edge, EdgeHistory, Observation
from memory.running import bootstrap
from resolution import observations, tasks
from resolution.intake import leases
from resolution.models import Claim
from resolution.observations import settle_due

pytestmark = pytest.mark.django_db

NOW = timezone.now()


@pytest.fixture(autouse=True)
def dimensions() -> None:
    bootstrap.load_dimensions()


@pytest.fixture(autouse=True)
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """None waits: what is learned from them is tested in tests/memory/test_learner.py."""
    monkeypatch.setattr(tasks, "start_learning", lambda: SimpleNamespace(learn=lambda: None))


def observe(text: str, **fields: Any) -> Observation:
    concept, relation, parent, dimension = text.split()
    usual = {
        "digest": sha256(f"{text} {fields}".encode()).digest(), "confidence": 0.8, "role": "user", "agent": "dobby",
        "said_at": NOW, "evidence": f"{concept} is so.",
    }  # fmt: skip
    return Observation.objects.create(
        kind="triple", concept=concept, parent=parent, dimension=dimension, is_isa=relation == "isa", **(usual | fields)
    )


def outcomes() -> list[tuple[str, str]]:
    return list(Observation.objects.order_by("pk").values_list("state", "outcome"))


def due_at(row: Observation) -> float:
    """In how many seconds."""
    row.refresh_from_db()
    return (row.next_attempt_at - timezone.now()).total_seconds()


def test_each_row_says_what_became_of_it() -> None:
    for text in ("aa isa b type", "aa isa b type", "aa isa c type", "b isa aa type", "d isa d type", "type isa d type"):
        observe(text, said_at=NOW + timedelta(seconds=Observation.objects.count()))
    observe("A isa b type", said_at=NOW + timedelta(hours=1))

    assert settle_due() == 7

    assert outcomes() == [
        ("done", "inserted"),
        ("done", "confirmed"),
        ("done", "conflict"),
        ("done", "conflict"),
        ("done", "invalid"),
        ("done", "invalid"),
        ("done", "invalid"),
    ]
    assert list(Claim.objects.order_by("pk").values_list("collision_type", flat=True)) == ["isa_isa", "cycle"]


def test_a_name_is_given_among_other_statements() -> None:
    observe("kvasir isa relay type")
    observe("kvs = kvasir =", said_at=NOW + timedelta(seconds=1))
    observe("kvs ispart tyr runs-on", said_at=NOW + timedelta(seconds=2))

    assert settle_due() == 3

    assert outcomes() == [("done", "inserted")] * 3
    assert str(Alias.objects.get()) == "kvs = kvasir"
    assert Edge.objects.get(dim__token="runs-on", parent__token="tyr").concept.token == "kvasir"


def test_an_edge_keeps_who_said_it_and_the_conflict_in_which_conversation() -> None:
    observe("aa isa b type", role="tool", agent="winky", confidence=0.48)
    observe("aa isa c type", digest=b"c" * 16 + b"m" * 16, said_at=NOW + timedelta(seconds=1))

    settle_due()

    edge = Edge.objects.get(concept__token="aa")
    assert (edge.source, edge.agent, edge.confidence, edge.said_at) == ("inferred", "winky", 0.48, NOW)
    assert EdgeHistory.objects.get().reason == "aa is so."
    assert bytes(Claim.objects.get().conversation) == b"c" * 16


def test_within_a_batch_the_earlier_statement_comes_first() -> None:
    observe("aa isa c type", said_at=NOW + timedelta(minutes=1))
    observe("aa isa b type", said_at=NOW)

    settle_due()

    assert Edge.objects.get(concept__token="aa").parent.token == "b"


def test_what_is_not_due_or_taken_or_a_concept_is_left_alone() -> None:
    later = NOW + timedelta(hours=1)
    observe("aa isa b type", next_attempt_at=later)
    observe("b isa c type", claimed_until=later)
    Observation.objects.create(kind="concept", concept="d", digest=bytes(32), role="user", agent="dobby", said_at=NOW)
    observe("e isa b type", claimed_until=NOW - timedelta(seconds=1))

    assert settle_due() == 1

    assert [state for state, _ in outcomes()] == ["pending"] * 3 + ["done"]


def test_no_more_than_the_limit_is_settled() -> None:
    for number in range(5):
        observe(f"thing{number} isa kind type")

    assert settle_due(limit=3) == 3
    assert [state for state, _ in outcomes()].count("pending") == 2


def test_no_time_is_no_work() -> None:
    observe("aa isa b type")

    assert settle_due(seconds=0) == 0


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement about ``poison`` breaks whatever transaction it is in."""
    place = placement.SlotSet.place

    def place_or_break(self: placement.SlotSet, assertion: Assertion, *rest: Any) -> placement.Placement:
        if assertion.triple.concept == "poison":
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        return place(self, assertion, *rest)

    monkeypatch.setattr(placement.SlotSet, "place", place_or_break)


def test_one_bad_row_does_not_stop_the_others(poisoned: None, caplog: pytest.LogCaptureFixture) -> None:
    for concept in ("aa", "poison", "b"):
        observe(f"{concept} isa kind type")

    with caplog.at_level(logging.WARNING, "resolution"):
        assert settle_due() == 3

    assert [state for state, _ in outcomes()] == ["done", "pending", "done"]
    assert set(Edge.objects.filter(parent__token="kind").values_list("concept__token", flat=True)) == {"aa", "b"}
    assert [record.message for record in caplog.records] == ["statements.apart", "statement.failed"]


def test_a_bad_row_comes_again_later_and_later_and_then_no_more(poisoned: None) -> None:
    row = observe("poison isa kind type")
    waits = []
    for _ in range(5):
        assert settle_due() == 1
        waits.append(due_at(row))
        Observation.objects.update(next_attempt_at=NOW)

    assert [round(wait) for wait in waits[:4]] == [1, 10, 60, 600]
    row.refresh_from_db()
    assert (row.state, row.attempts, row.claimed_until) == ("failed", 5, None)
    assert row.last_error.startswith("DataError: division by zero")
    assert settle_due() == 0


def test_a_row_that_failed_once_is_settled_when_it_can_be(poisoned: None, monkeypatch: pytest.MonkeyPatch) -> None:
    row = observe("poison isa kind type")
    settle_due()
    Observation.objects.update(next_attempt_at=NOW)

    monkeypatch.undo()
    settle_due()

    row.refresh_from_db()
    assert (row.state, row.outcome, row.attempts) == ("done", "inserted", 1)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """What the next transactions fail with, right before their commit."""
    errors: list[Exception] = []
    finish = leases.finish

    def fail_or_finish(outcomes: dict[int, str]) -> None:
        if errors:
            raise errors.pop(0)
        finish(outcomes)

    monkeypatch.setattr(leases, "finish", fail_or_finish)
    return errors


def caused(cause: type[psycopg.OperationalError]) -> OperationalError:
    error = OperationalError(cause.__name__)
    error.__cause__ = cause()
    return error


@pytest.mark.parametrize(
    "error",
    [
        caused(psycopg.errors.DeadlockDetected),
        caused(psycopg.errors.SerializationFailure),
        GraphChanged("a slot was filled meanwhile"),
    ],
)
def test_a_lost_race_is_run_again_and_nothing_is_done_twice(failing: list[Exception], error: Exception) -> None:
    row = observe("aa isa b type")
    failing += [error] * (transactions.TRIES - 1)

    settle_due()

    row.refresh_from_db()
    assert (row.state, row.outcome, row.attempts) == ("done", "inserted", 0)
    assert EdgeHistory.objects.count() == 1


def test_what_was_placed_before_the_failure_is_undone_with_it(failing: list[Exception]) -> None:
    observe("aa isa b type")
    failing += [InternalError("no")] * 2

    settle_due()

    assert not Edge.objects.filter(concept__token="aa").exists()
    assert not EdgeHistory.objects.exists()


def test_rows_are_not_to_blame_where_postgres_is_away(
    failing: list[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = observe("aa isa b type")
    failing.append(OperationalError("server closed the connection"))
    monkeypatch.setattr(connection, "is_usable", lambda: False)

    with pytest.raises(OperationalError):
        settle_due()

    row.refresh_from_db()
    assert (row.state, row.attempts) == ("pending", 0)
    assert row.claimed_until is not None


# --- wake-ups ---


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tasks that were woken."""
    found: list[str] = []
    monkeypatch.setattr(tasks, "wake", lambda task: found.append(task.name.rpartition(".")[2]))
    monkeypatch.setattr(tasks.MAY_WAKE_EXPLAINER, "is_due", lambda now: True)
    return found


@pytest.mark.parametrize("task", [tasks.learn, tasks.sweep])
def test_a_wake_up_settles_all_that_is_due(task: Any, sent: Sequence[str]) -> None:
    observe("aa isa b type")

    task()

    assert outcomes() == [("done", "inserted")]
    assert sent == []


def test_a_worker_whose_time_is_over_wakes_another(sent: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "settle_due", lambda: settle_due(seconds=0))
    observe("aa isa b type")

    tasks.sweep()

    assert sent == ["sweep"]


def test_concepts_are_left_to_a_message_of_their_own(sent: Sequence[str]) -> None:
    Observation.objects.create(kind="concept", concept="d", digest=bytes(32), role="user", agent="dobby", said_at=NOW)

    tasks.learn()

    assert sent == ["explain_concepts"]
    assert outcomes() == [("pending", "")]


@pytest.mark.parametrize("task", [tasks.sweep, tasks.explain_concepts])
def test_where_postgres_is_away_a_task_ends_with_a_warning(
    task: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(leases, "claim", away)
    monkeypatch.setattr(leases, "due", away)

    with caplog.at_level(logging.WARNING, "resolution"):
        task()

    assert [(record.levelname, record.error) for record in caplog.records] == [("WARNING", "connection refused")]  # type: ignore[attr-defined]


def test_a_broker_that_is_away_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    class Away:
        name = "sweep"

        def delay(self) -> None:
            raise ConnectionError("no broker")

    tasks.wake(Away())

    assert [(record.levelname, record.error) for record in caplog.records] == [("WARNING", "no broker")]  # type: ignore[attr-defined]


def test_batches_are_of_one_size_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "BATCH", 2)
    sizes = []
    place = observations.place_or_name
    monkeypatch.setattr(
        observations, "place_or_name", lambda said, **how: sizes.append(len(said)) or place(said, **how)
    )  # type: ignore[func-returns-value]
    for number in range(5):
        observe(f"thing{number} isa kind type")

    settle_due()

    assert sizes == [2, 2, 1]
