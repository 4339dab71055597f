"""How what was found is judged: what is good, what needs somebody, and what is only not known."""

from dataclasses import replace
from typing import Any

import pytest

from memory.domain.formatting import format_duration
from memory.semantic.vectors.condition import Condition
from proxy.health.findings import Broker, Findings, Learning, Models
from proxy.health.status import Sign, SignState, signs, summary, worst


def process(**changes: Any) -> dict[str, Any]:
    """What /health says of a server that does well."""
    well: dict[str, Any] = {
        "ready": True,
        "upstream": {"url": "http://ollama:11434", "reachable": True, "version": "0.5.1"},
        "database": {"reachable": True, "listening": True},
        "cache": {"tokens": 31_000, "edges": 12, "age_s": 90.0},
        "config": {"path": "/etc/config.yaml", "exists": True, "error": "", "overridden": []},
        "journaled_messages": 0,
        "dropped_messages": 0,
        "dropped_events": 0,
        "dropped_injections": 0,
        "enrich_errors": 0,
        "bounds": {"somewhere": 0},
    }
    return well | changes


WELL = Findings(
    process=process(),
    disk={"free_bytes": 12_000_000_000, "is_low": False},
    ages_s={"proxy": [2.0], "worker": [4.0], "beat": [7.0]},
    broker=Broker("PGMQ"),
    learning=Learning(),
    models=Models(names=("ollama judge",), daily_calls=1000),
    search=Condition("builtin", 256, 0, "", False),
)


def silent_workers(*ages_s: float) -> Sign:
    return judged(replace(WELL, ages_s=WELL.ages_s | {"worker": list(ages_s)}), "Worker")


def judged(found: Findings, part: str) -> Sign:
    [sign] = [sign for sign in signs(found) if sign.part == part]
    return sign


def test_where_nothing_is_wrong_all_is_well() -> None:
    found = signs(WELL)

    assert (summary(found), worst(found)) == ("All is well", SignState.GOOD)
    assert {sign.state for sign in found} == {SignState.GOOD}


def test_a_bound_that_holds_is_told_and_needs_nobody() -> None:
    found = replace(WELL, process=process(bounds={"somewhere": 1_200, "elsewhere": 0}))

    assert judged(found, "Bounds").says == "Reached so far: somewhere (1,200)."
    assert summary(signs(found)) == "All is well"
    found = replace(WELL, process=process(over_quota_today=3))
    told = "No request has reached one. 3 statements of the last day exceeded a quota: see Candidates."
    assert judged(found, "Bounds").says == told


WRONG: dict[str, tuple[dict[str, Any], SignState, str]] = {
    "Upstream": (
        {"process": process(upstream={"url": "http://ollama:11434", "reachable": False, "error": "refused"})},
        SignState.BAD,
        "http://ollama:11434 does not answer: refused. Agents get errors.",
    ),
    "Disk": (
        {"disk": {"free_bytes": 312_900_000, "is_low": True}},
        SignState.WARNING,
        "Only 312 MB are free on the disk of Festinger's home: when it is full, prompts are still answered, but nothing"
        " is stored or logged.",
    ),
    "Listener": (
        {"process": process(database={"reachable": True, "listening": False})},
        SignState.BAD,
        "Not receiving change notifications; recollections may be stale.",
    ),
    "Worker": (
        {"ages_s": {"proxy": [2.0], "worker": [180.0, 200.0], "beat": [7.0]}},
        SignState.BAD,
        "No heartbeat from a worker for 3 minutes: statements are not placed, conflicts are not decided.",
    ),
    "Server": (
        {"ages_s": {"proxy": [2.0, 9.0, 130.0], "worker": [4.0], "beat": [7.0]}},
        SignState.WARNING,
        "1 of 3 server processes has sent no heartbeat for 2 minutes.",
    ),
    "Beat": (
        {"ages_s": {"proxy": [2.0], "worker": [4.0], "beat": [100.0]}},
        SignState.WARNING,
        "No heartbeat from beat for 1 minute: scheduled runs do not start, and old data is not deleted.",
    ),
    "Broker": (
        {"broker": Broker("PGMQ", waiting=2_000, oldest_s=600.0)},
        SignState.WARNING,
        "2,000 wake-ups wait in PGMQ, the oldest for 10 minutes: the workers do not keep up.",
    ),
    "Observations": (
        {"learning": Learning(messages=1, statements=3, overdue_s=3_700.0)},
        SignState.BAD,
        "1 message, 3 statements and 0 concepts wait to be learned; the oldest has been due for 1 hour.",
    ),
    "Models": (
        {"models": Models(missing={"write_model_id": "Nobody explains."}, daily_calls=1000)},
        SignState.WARNING,
        "Nobody explains.",
    ),
    "config.yaml": (
        {"process": process(config={"path": "/c.yaml", "exists": True, "error": "line 3: no", "overridden": []})},
        SignState.BAD,
        "It was rejected: line 3: no. The previous settings stay in effect.",
    ),
    "Settings": (
        {"config_mistakes": ("zero_hit_max takes a whole number from 0 to 20, not 'x'",)},
        SignState.BAD,
        "zero_hit_max takes a whole number from 0 to 20, not 'x'. The default is used instead.",
    ),
    "Losses": (
        {"process": process(dropped_messages=1, dropped_events=1_200)},
        SignState.WARNING,
        "Lost so far: 1 message, 1,200 events.",
    ),
}


@pytest.mark.parametrize("part", WRONG)
def test_what_is_wrong_comes_first_and_says_why_and_what_to_do(part: str) -> None:
    changes, state, says = WRONG[part]

    first, *others = signs(replace(WELL, **changes))

    assert (first.part, first.state, first.says) == (part, state, says)
    assert first.advice
    assert {sign.state for sign in others} == {SignState.GOOD}
    assert summary([first, *others]) == f"1 thing needs you: {part}"


def test_models_are_optional() -> None:
    found = replace(WELL, models=Models(unchosen=("Nobody explains.",), last_error="401"))

    assert judged(found, "Models").says == "Nobody explains."
    assert summary(signs(found)) == "All is well"


def test_several_are_counted_and_the_worst_one_colours_all() -> None:
    found = signs(replace(WELL, ages_s={}, models=Models(last_error="401", names=("m",), daily_calls=5)))

    assert summary(found) == "2 things need you: Worker, Models"
    assert summary(found, 1) == "2 things need you: Worker, Models; 1 conflict waits"
    assert summary(signs(WELL), 1_200) == "All works; 1,200 conflicts wait"
    assert worst(found) == SignState.BAD


def test_what_cannot_be_known_for_another_reason_needs_nobody() -> None:
    away = process(database={"reachable": False, "error": "connection refused", "listening": False})
    found = signs(replace(WELL, process=away, ages_s={"proxy": [500.0], "worker": [500.0], "beat": [500.0]}))

    assert summary(found) == "2 things need you: Database, Worker"
    assert {sign.part for sign in found if sign.state == SignState.UNKNOWN} == {"Listener", "Server", "Beat"}


def test_outside_of_a_server_what_only_one_knows_is_not_known() -> None:
    found = signs(replace(WELL, process=None))

    assert summary(found) == "All is well"
    unknown = {"Upstream", "Listener", "config.yaml", "Losses", "Bounds"}
    assert {sign.part for sign in found if sign.state == SignState.UNKNOWN} == unknown


def test_a_world_that_is_not_loaded_is_bad_whatever_is_heard() -> None:
    sign = judged(replace(WELL, process=process(ready=False)), "Listener")

    assert sign.state == SignState.BAD
    assert "has not loaded the graph yet" in sign.says


def test_wake_ups_that_pile_up_without_a_worker_are_the_workers_matter() -> None:
    found = replace(WELL, ages_s={}, broker=Broker("PGMQ", waiting=5_000, oldest_s=900.0))

    assert judged(found, "Broker").state == SignState.GOOD


def test_a_broker_that_does_not_answer_is_bad() -> None:
    sign = judged(replace(WELL, broker=Broker("redis", error="connection refused")), "Broker")

    assert (sign.state, sign.says) == (
        SignState.BAD,
        "redis does not answer: connection refused. Nothing wakes the workers.",
    )


@pytest.mark.parametrize(
    ("learning", "journaled", "says"),
    [
        (Learning(failed=2, looked_at=300), 0, "2 of the last 300 observations of a day failed for good."),
        (Learning(), 7, "7 messages wait in the journal on the disk"),
        (Learning(set_aside=2), 0, "2 messages were set aside: reading failed five times."),
        (Learning(messages=10_000, is_counted_whole=False, overdue_s=61), 0, "At least 10,000 messages"),
    ],
)
def test_what_is_not_learned_is_told(learning: Learning, journaled: int, says: str) -> None:
    found = replace(WELL, learning=learning, process=process(journaled_messages=journaled))

    sign = judged(found, "Observations")

    assert sign.state == SignState.WARNING
    assert says in sign.says


def test_concepts_that_wait_for_a_model_are_no_trouble_of_the_queue() -> None:
    assert judged(replace(WELL, learning=Learning(concepts=400)), "Observations").state == SignState.GOOD


def test_a_spent_budget_is_told() -> None:
    models = replace(WELL.models, asked_today=1000)

    assert "The 1,000 calls for today are used up" in judged(replace(WELL, models=models), "Models").says


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0 seconds"), (1.2, "1 second"), (59.9, "1 minute"), (7_300, "2 hours"), (200_000, "2 days")],
)
def test_a_span_is_told_in_its_largest_unit(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


def test_one_of_several_workers_that_fell_silent_is_told_beside_those_that_work() -> None:
    sign = silent_workers(4.0, 9.0, 130.0)

    assert (sign.state, sign.says) == (SignState.WARNING, "1 of 3 workers has sent no heartbeat for 2 minutes.")


def test_several_workers_do_well_where_all_of_them_give_signs() -> None:
    assert silent_workers(4.0, 9.0).says == "All 2 workers are alive; the last heartbeat was 4 seconds ago."


def test_of_server_processes_nothing_is_known_before_their_first_sign() -> None:
    assert judged(replace(WELL, ages_s={}), "Server").state == SignState.UNKNOWN


@pytest.mark.parametrize(
    ("search", "says"),
    [
        (Condition("", None, 0, "pgvector 0.7.4 is older than 0.8", False), "pgvector 0.7.4 is older than 0.8."),
        (Condition("upstream:nomic", None, 3, 'Status 404: model "nomic" not found', False), "3 texts wait"),
    ],
)
def test_a_search_without_vectors_needs_somebody(search: Condition, says: str) -> None:
    sign = judged(replace(WELL, search=search), "Search")

    assert (sign.state, says in sign.says, sign.advice != "") == (SignState.WARNING, True, True)


def test_a_search_that_is_to_be_without_vectors_needs_nobody() -> None:
    assert not judged(replace(WELL, search=Condition("", None, 0, "", True)), "Search").needs_someone
