"""Unknown concepts are explained by a language model: the real client, asking a server of the test."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from psycopg import connect

from memory.models import Config, Edge, EdgeHistory, Evidence, Heartbeat, LlmCall, Observation, Soas
from memory.questions import explain_concept
from memory.running import bootstrap
from resolution import observations, tasks
from resolution.intake import leases
from resolution.models import Candidate, Claim
from resolution.observations import explain_due, settle_due
from tests.arrange import teach
from tests.llm_server import Fails, LlmServer, Says

pytestmark = pytest.mark.django_db

NOW = timezone.now()
DAY = timedelta(days=1)
KNOWN = {
    "reasoning": "it has commits",
    "known": True,
    "triples": [
        {"concept": "gnommoweb", "parent": "repo", "dimension": "type", "is_isa": True, "confidence": 0.8},
        {"concept": "gnommoweb", "parent": "kvasir", "dimension": "runs-on", "is_isa": False, "confidence": 0.7},
    ],
}
UNKNOWN = {"reasoning": "nothing tells", "known": False, "triples": []}


@pytest.fixture(autouse=True)
def world() -> None:
    bootstrap.load_dimensions()


@pytest.fixture
def model(llm: LlmServer) -> Any:
    row = llm.model("ollama")
    Config.objects.create(key="write_model_id", value=str(row.pk))
    return row


@pytest.fixture
def upstream(llm: LlmServer, settings: Any) -> Any:
    """A model of the upstream, which starts with proposals only."""
    settings.FESTINGER_UPSTREAM = llm.url
    row = llm.model("ollama", base_url="", key="")
    for key, value in {"write_model_id": str(row.pk), "resolution_mode": "propose"}.items():
        Config.objects.update_or_create(key=key, defaults={"value": value})
    return row


def wonder(concept: str = "gnommoweb", **fields: Any) -> Observation:
    Soas.objects.get_or_create(token=concept)
    return Observation.objects.create(
        kind="concept", concept=concept, digest=bytes(32), role="user", agent="dobby", said_at=NOW, **fields
    )


def word(**fields: Any) -> None:
    Soas.objects.filter(token="gnommoweb").update(**fields)


def wait_of(row: Observation) -> timedelta:
    row.refresh_from_db()
    assert (row.state, row.claimed_until) == ("pending", None)
    return row.next_attempt_at - timezone.now()


def about(expected: timedelta, found: timedelta) -> bool:
    return abs(expected - found) < timedelta(seconds=20)


def test_what_the_model_knows_is_placed(llm: LlmServer, model: Any) -> None:
    row = wonder(request="trace-7")
    concept = Soas.objects.get(token="gnommoweb")
    Evidence.objects.create(concept=concept, sentence="gnommoweb has commits.", role="user", agent="dobby")
    llm.answers(KNOWN)

    assert explain_due() == 1

    row.refresh_from_db()
    concept.refresh_from_db()
    assert (row.state, row.outcome) == ("done", "explained")
    assert LlmCall.objects.get().request == "trace-7"
    assert (concept.novelty, concept.write_attempts) == (1, 1)
    assert concept.write_attempted_at is not None
    edges = Edge.objects.filter(concept=concept).order_by("-confidence")
    assert [(edge.parent.token, edge.dim.token, edge.confidence, edge.source, edge.agent) for edge in edges] == [
        ("repo", "type", 0.8, "cloud_llm", str(model)),
        ("kvasir", "runs-on", 0.7, "cloud_llm", str(model)),
    ]
    assert set(EdgeHistory.objects.values_list("reason", flat=True)) == {"gnommoweb has commits."}


def test_what_it_does_not_know_is_an_attempt_and_no_fact(llm: LlmServer, model: Any) -> None:
    row = wonder()
    llm.answers(UNKNOWN)

    explain_due()

    row.refresh_from_db()
    assert (row.state, row.outcome) == ("done", "unknown")
    assert Soas.objects.get(token="gnommoweb").write_attempts == 1
    assert not EdgeHistory.objects.exists()


@pytest.mark.parametrize("changes", [{"is_muted": True}, {"is_common": True}])
def test_a_word_that_must_not_be_sent_is_not(llm: LlmServer, model: Any, changes: dict[str, bool]) -> None:
    row = wonder()
    word(**changes)

    explain_due()

    row.refresh_from_db()
    assert (row.state, row.outcome, llm.asked) == ("done", "needless", [])


def test_a_concept_that_is_known_or_gone_by_now_is_not_asked_about(llm: LlmServer, model: Any) -> None:
    wonder()
    teach("gnommoweb isa repo type", at=NOW)
    wonder("toves")
    Soas.objects.get(token="toves").delete()

    assert explain_due() == 2

    assert set(Observation.objects.values_list("outcome", flat=True)) == {"needless"}
    assert llm.asked == []


@pytest.mark.parametrize(("attempts", "wait"), [(1, DAY), (2, 7 * DAY), (3, 30 * DAY), (9, 30 * DAY)])
def test_a_concept_rests_after_each_attempt(llm: LlmServer, model: Any, attempts: int, wait: timedelta) -> None:
    row = wonder()
    word(write_attempts=attempts, write_attempted_at=timezone.now() - timedelta(hours=1))

    assert explain_due() == 1
    assert about(wait - timedelta(hours=1), wait_of(row))

    word(write_attempted_at=timezone.now() - wait)
    Observation.objects.update(next_attempt_at=NOW)
    llm.answers(UNKNOWN)

    assert explain_due() == 1
    assert len(llm.asked) == 1


def test_without_a_model_all_concepts_wait_and_nothing_counts() -> None:
    rows = [wonder(f"thing{number}") for number in range(3)]

    assert explain_due() == 0

    for row in rows:
        assert about(timedelta(minutes=1), wait_of(row))
        assert row.attempts == 0
    assert not Soas.objects.filter(write_attempts__gt=0).exists()


def test_no_more_are_claimed_than_asked_for_whatever_the_planner_does() -> None:
    for number in range(5):
        wonder(f"toves{number}")
    with connection.cursor() as cursor:  # a nested loop, in which a subquery would be evaluated for each row
        for option in ("hashjoin", "mergejoin", "hashagg", "sort", "material"):
            cursor.execute(f"SET LOCAL enable_{option} = off")

    claimed = leases.claim(leases.ObservationKind.CONCEPT, 1, timedelta(seconds=30))

    assert len(claimed) == 1


def test_a_model_that_is_away_is_not_asked_about_the_next_concept(llm: LlmServer, model: Any) -> None:
    first, second = wonder(), wonder("toves")
    Config.objects.create(key="llm_timeout_s", value="1")
    llm.answers_by(lambda asked: Fails(503, "too busy", {"retry-after": "5"}))

    assert explain_due() == 0

    for row in (first, second):
        assert about(observations.WAITS[observations.llm.Unavailable], wait_of(row))
        assert row.attempts == 0
    assert "503" in first.last_error
    assert {asked.prompt.splitlines()[0] for asked in llm.asked} == {'What is "gnommoweb"?'}
    assert not Soas.objects.filter(write_attempts__gt=0).exists()


def test_where_the_calls_of_the_day_are_used_up_concepts_wait(llm: LlmServer, model: Any) -> None:
    row = wonder()
    Config.objects.create(key="llm_daily_calls", value="0")

    assert explain_due() == 0

    assert about(timedelta(hours=1), wait_of(row))
    assert Soas.objects.get(token="gnommoweb").write_attempts == 0
    assert not LlmCall.objects.exists()


@pytest.mark.parametrize("answer", ["no JSON at all", Says("I cannot", stop="refusal", refusal="I cannot")])
def test_an_answer_of_no_use_is_an_attempt_and_the_concept_rests(llm: LlmServer, model: Any, answer: Any) -> None:
    row, other = wonder(), wonder("toves")
    llm.answers(answer, UNKNOWN)

    assert explain_due() == 2

    assert about(DAY, wait_of(row))
    assert row.last_error != ""
    assert Soas.objects.get(token="gnommoweb").write_attempts == 1
    other.refresh_from_db()
    assert other.outcome == "unknown"


def test_a_conclusion_that_collides_waits_as_a_candidate(
    llm: LlmServer, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = wonder()
    explain = explain_concept.explain

    def explain_meanwhile(*arguments: Any) -> Any:
        teach("gnommoweb isa service type", at=NOW)
        return explain(*arguments)

    monkeypatch.setattr(explain_concept, "explain", explain_meanwhile)
    llm.answers(KNOWN)

    explain_due()

    row.refresh_from_db()
    assert row.outcome == "explained"
    assert not Claim.objects.exists()
    candidate = Candidate.objects.get()
    assert (candidate.channel, candidate.why, candidate.voices) == (
        "explained", "another fact stands", [[str(model), "explained"]]
    )  # fmt: skip


def test_an_answer_that_comes_after_another_worker_took_over_is_dropped(
    llm: LlmServer, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = wonder()
    explain = explain_concept.explain

    def explain_too_late(*arguments: Any) -> Any:
        Observation.objects.update(claimed_until=NOW + DAY)
        return explain(*arguments)

    monkeypatch.setattr(explain_concept, "explain", explain_too_late)
    llm.answers(KNOWN)

    explain_due()

    row.refresh_from_db()
    assert (row.state, EdgeHistory.objects.count()) == ("pending", 0)
    assert Soas.objects.get(token="gnommoweb").write_attempts == 0


def test_a_mistake_of_ours_is_tried_again_later(llm: LlmServer, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    row = wonder()
    monkeypatch.setattr(explain_concept, "explain", lambda *_: 1 / 0)

    assert explain_due() == 1

    assert about(timedelta(seconds=1), wait_of(row))
    assert (row.attempts, row.last_error) == (1, "ZeroDivisionError: division by zero")


def test_statements_are_not_taken_for_concepts_nor_the_other_way_round(llm: LlmServer, model: Any) -> None:
    wonder()
    llm.answers(UNKNOWN)

    assert (settle_due(), explain_due(), explain_due()) == (0, 1, 0)


def test_no_transaction_is_open_while_the_model_thinks(
    transactional_db: None, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap.load_dimensions()
    Config.objects.create(key="write_model_id", value=str(llm.model("ollama").pk))
    wonder()
    states = []
    explain = explain_concept.explain

    def explain_and_look(*arguments: Any) -> Any:
        states.append(connection.in_atomic_block)
        return explain(*arguments)

    monkeypatch.setattr(explain_concept, "explain", explain_and_look)
    llm.answers(KNOWN)

    explain_due()

    assert states == [False]
    assert Edge.objects.filter(concept__token="gnommoweb").count() == 2


def test_only_one_process_explains_at_a_time(dsn: str, llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    bootstrap.load_dimensions()
    Config.objects.create(key="write_model_id", value=str(llm.model("ollama").pk))
    wonder()
    woken: list[str] = []
    monkeypatch.setattr(tasks, "wake", lambda task: woken.append(task.name))
    llm.answers(UNKNOWN)
    with connect(dsn) as other:
        other.execute("SELECT pg_advisory_lock(76, hashtext('explaining'))")
        tasks.explain_concepts()
        assert (llm.asked, woken) == ([], [])
        other.execute("SELECT pg_advisory_unlock(76, hashtext('explaining'))")

    tasks.explain_concepts()
    assert len(llm.asked) == 1


def test_what_a_model_of_the_upstream_explains_waits_for_a_person_until_that_is_switched(
    upstream: Any, llm: LlmServer
) -> None:
    wonder()
    llm.answers(Says(KNOWN), Says({**KNOWN, "triples": [{**KNOWN["triples"][0], "concept": "kvasir"}]}))

    explain_due()

    assert not Edge.objects.filter(concept__token="gnommoweb").exists()
    assert set(Candidate.objects.values_list("concept", "parent", "channel", "why")) == {
        ("gnommoweb", "repo", "explained", "explained"),
        ("gnommoweb", "kvasir", "explained", "explained"),
    }
    Config.objects.filter(key="resolution_mode").update(value="auto")
    wonder("kvasir")
    explain_due()
    assert Edge.objects.filter(concept__token="kvasir", parent__token="repo").exists()


def test_while_somebody_uses_the_upstream_a_concept_waits_and_nothing_counts(upstream: Any, llm: LlmServer) -> None:
    row = wonder()
    Heartbeat.objects.create(name=Heartbeat.SERVER, busy_since=timezone.now())

    assert explain_due() == 0

    assert timedelta(0) < wait_of(row) <= timedelta(minutes=1)
    assert (row.attempts, llm.asked, LlmCall.objects.count()) == (0, [], 0)


def test_a_concept_whose_calls_were_abandoned_three_times_waits_for_an_hour(upstream: Any) -> None:
    row = wonder()
    Heartbeat.objects.create(name=Heartbeat.SERVER, busy_since=timezone.now())
    for _ in range(3):
        LlmCall.objects.create(model_name="m", purpose="explain", subject="gnommoweb", result="abandoned")

    explain_due()

    assert wait_of(row) > timedelta(minutes=58)
