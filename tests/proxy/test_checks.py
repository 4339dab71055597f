"""How facts are judged: what is ok, what needs somebody, and what is only not known; and how they are collected."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from memory import bounds
from memory.metrics import total
from memory.models import Config, Heartbeat, NotificationDelivery, NotificationTarget
from memory.running import bootstrap
from memory.running.heartbeats import Process, give_sign
from memory.settings.registry import Tuning
from proxy import tasks
from proxy.health import checks
from proxy.health.checks import NOTE, OK, PROBLEM, WARNING, CheckResult, Level, find_worst, run_checks, summarise
from proxy.health.facts import DATABASE, NOTHING, RUNNING, SERVER, Broker, Facts, Needs, StoredFacts, TtlCache
from tests.standin import StandIn

AWAY = "http://127.0.0.1:9"
VECTORS = {"has_tables": True, "available": "0.8.1", "waiting": 0, "name": "m", "dimensions": 2, "error": ""}
SCHEDULES = {task: True for _, task, *_ in (*bootstrap.SCHEDULE, *bootstrap.DAILY)}
WELL = Facts(
    available=SERVER,
    tuning=Tuning(write_model_id=1, embedder="upstream:m"),
    upstream={"url": "http://ollama", "reachable": True, "version": "0.5.1"},
    disk={"free_bytes": 12_000_000_000, "is_low": False},
    config={"path": "/c.yaml", "exists": True, "error": "", "overridden": []},
    stored=StoredFacts(
        heartbeats=(("beat", 1, 7.0), ("proxy", 2, 2.0), ("worker", 3, 4.0)),
        models={"1": "ollama judge"},
        search=VECTORS,
        schedules=SCHEDULES,
    ),
    broker=Broker("PGMQ"),
    process={
        "listening": True,
        "cache": {"tokens": 31_000, "edges": 12, "age_s": 90.0},
        "journaled_messages": 0,
        "dropped_messages": 0,
        "dropped_events": 0,
        "dropped_injections": 0,
        "enrich_errors": 0,
        "bounds": {"somewhere": 0},
    },
)


def change(**changes: Any) -> Facts:
    """The facts with changes: of the stored ones, of those of the process, or of the others."""
    stored = {name: changes.pop(name) for name in list(changes) if hasattr(WELL.stored, name)}
    process = {name: changes.pop(name) for name in list(changes) if name in WELL.process}
    return replace(WELL, stored=replace(WELL.stored, **stored), process={**WELL.process, **process}, **changes)


def beats(**ages_s: list[float]) -> tuple[tuple[str, int, float], ...]:
    together = {"beat": [7.0], "proxy": [2.0], "worker": [4.0]} | ages_s
    return tuple((part, 1, age_s) for part, ages in together.items() for age_s in ages)


def result_of(part: str, facts: Facts) -> CheckResult:
    [result] = [result for result in run_checks(facts) if result.part == part]
    return result


def test_where_nothing_is_wrong_everything_works() -> None:
    results = run_checks(WELL)

    assert (summarise(results), find_worst(results), {result.level for result in results}) == (
        "Everything works",
        OK,
        {OK},
    )


REFUSED = {"url": "http://ollama", "reachable": False, "error": "refused"}
GONE = Tuning(write_model_id=2, embedder="upstream:m")
TABLE: list[tuple[str, Level, dict[str, Any], str]] = [
    ("Upstream", PROBLEM, {"upstream": REFUSED}, "http://ollama does not answer: refused. Agents get errors."),
    ("Upstream", WARNING, {"upstream": WELL.upstream | {"is_proxy": True}}, "is itself a proxy"),
    ("Upstream", WARNING, {"upstream": WELL.upstream | {"models": 0}}, "has no models"),
    ("Database", PROBLEM, {"encoding": "LATIN1"}, "Its encoding is LATIN1."),
    ("Database", WARNING, {"clock_ahead_s": -61.0}, "Its clock and this machine's are 1 minute apart."),
    ("Disk", WARNING, {"disk": {"free_bytes": 312_900_000, "is_low": True}}, "Only 312 MB are free on the disk"),
    ("Disk", PROBLEM, {"disk": {"free_bytes": 99_000_000, "is_low": True}}, "Only 99 MB are free on the disk"),
    ("config.yaml", PROBLEM, {"config": WELL.config | {"error": "line 3: no"}}, "/c.yaml is refused: line 3: no."),
    ("Settings", PROBLEM, {"setting_mistakes": ["zero_hit_max takes a number"]}, "takes a number. The default is used"),
    ("Models", WARNING, {"tuning": GONE}, "No language model is asked about unknown concepts"),
    ("Models", WARNING, {"calls_today": 1000}, "The 1,000 calls for today are used up"),
    ("Models", OK, {"abandoned_today": 3}, "3 calls were abandoned because prompts came."),
    ("Models", WARNING, {"last_call_error": "401"}, "The last call failed: 401."),
    ("Search", WARNING, {"search": VECTORS | {"has_tables": False, "available": "0.7.4"}}, "is older than 0.8."),
    ("Search", WARNING, {"search": VECTORS | {"error": "Status 404", "waiting": 3}}, "3 texts wait"),
    ("Persons", WARNING, {"without_user_id": 3}, "3 prompts of Open WebUI came without a user's id within a day"),
    ("Schedules", WARNING, {"schedules": {}}, "Missing: Beat heartbeat, "),
    ("Schedules", NOTE, {"schedules": SCHEDULES | {"festinger_site.tasks.back_up": False}}, "Switched off: backup."),
    ("Backups", WARNING, {"installed_s": 200_000.0}, "There is none yet."),
    ("Backups", WARNING, {"newest_backup": 0.0}, "The newest is "),
    ("Backups", NOTE, {"tuning": replace(WELL.tuning, backups_kept=0)}, "None is made at night."),
    ("Observations", PROBLEM, {"messages": 1, "statements": 3, "overdue_s": 3_700.0}, "1 message, 3 statements and "),
    ("Observations", WARNING, {"messages": 100_000, "overdue_s": 61.0}, "At least 100,000 messages, "),
    ("Observations", WARNING, {"failed": 2, "looked_at": 300}, "2 of the last 300 observations"),
    ("Observations", WARNING, {"set_aside": 2}, "2 messages were set aside: reading failed five times."),
    ("Observations", WARNING, {"journaled_messages": 7}, "7 messages wait in the journal on the disk"),
    ("Observations", OK, {"concepts": 400}, "400 concepts wait"),
    ("Server", WARNING, {"heartbeats": beats(proxy=[2.0, 9.0, 130.0])}, "from 1 of 3 processes for 2 minutes."),
    ("Server", NOTE, {"heartbeats": beats(proxy=[])}, "No heartbeat from a server process yet."),
    ("Worker", PROBLEM, {"heartbeats": beats(worker=[180.0, 200.0])}, "from a worker for 3 minutes: "),
    ("Worker", WARNING, {"heartbeats": beats(worker=[4.0, 9.0, 130.0])}, "from 1 of 3 processes for 2 minutes."),
    ("Worker", OK, {"heartbeats": beats(worker=[4.0, 9.0])}, "All 2 processes are alive; "),
    ("Beat", WARNING, {"heartbeats": beats(beat=[100.0])}, "No heartbeat from beat for 1 minute: scheduled runs"),
    ("Broker", WARNING, {"broker": Broker("PGMQ", 2_000, 600.0)}, "2,000 wake-ups wait in PGMQ, the oldest for 10"),
    ("Broker", PROBLEM, {"broker": Broker("redis", error="refused")}, "redis does not answer: refused."),
    ("Listener", PROBLEM, {"listening": False}, "Not receiving change notifications"),
    ("Listener", PROBLEM, {"cache": {"tokens": 0, "edges": 0, "age_s": None}}, "has not loaded the graph yet"),
    ("Losses", WARNING, {"dropped_messages": 1, "dropped_events": 1_200}, "Lost so far: 1 message, 1,200 events."),
    ("Bounds", OK, {"bounds": {"somewhere": 1_200, "elsewhere": 0}}, "Limits reached: somewhere (1,200)."),
    ("Bounds", OK, {"over_quota": 3}, "No limit was reached. 3 statements of the last day exceeded a quota"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "level", "changes", "message"), TABLE)
def test_a_fact_that_is_wrong_fails_its_check_alone(
    part: str, level: Level, changes: dict[str, Any], message: str
) -> None:
    results = run_checks(change(**changes))

    result = next(result for result in results if result.part == part)
    assert (result.level, message in result.message) == (level, True), result
    failed = [(each.part, each.hint != "") for each in results if each.has_failed]
    assert failed == ([(part, True)] if level in (WARNING, PROBLEM) else [])
    assert failed == [] or results[0] == result


def test_every_check_has_its_row() -> None:
    assert {each.part for each in checks.CHECKS} == {part for part, *_ in TABLE}


def test_failed_checks_are_counted_and_the_worst_one_colours_all() -> None:
    results = run_checks(change(heartbeats=beats(worker=[]), last_call_error="401"))

    assert summarise(results) == "2 checks failed: Worker, Models"
    assert summarise(results, 1) == "2 checks failed: Worker, Models; 1 open conflict"
    assert summarise(run_checks(WELL), 1_200) == "Everything works; 1,200 open conflicts"
    assert (find_worst(results), result_of("Beat", change(heartbeats=beats(worker=[]))).level) == (PROBLEM, OK)


def test_language_models_are_optional() -> None:
    facts = change(tuning=Tuning(embedder="none"), last_call_error="401")

    assert [(each.part, each.level) for each in run_checks(facts) if each.level != OK] == [
        ("Models", NOTE),
        ("Search", NOTE),
    ]


def test_what_follows_from_a_silent_worker_needs_nobody() -> None:
    silent = change(heartbeats=beats(worker=[], beat=[500.0]), broker=Broker("PGMQ", 5_000, 900.0))

    assert summarise(run_checks(silent)) == "1 check failed: Worker"
    assert result_of("Beat", silent).message == "Unknown while no worker is running."


@pytest.mark.parametrize(
    ("available", "failed", "unknown"),
    [
        (NOTHING, ["Database"], "the database does not answer"),
        (DATABASE, [], "Festinger is not running"),
        (RUNNING, [], "Only a server process knows"),
    ],
)
def test_what_is_not_available_is_not_known_and_fails_no_other_check(
    available: Needs, failed: list[str], unknown: str
) -> None:
    results = run_checks(replace(WELL, available=available, database_error="connection refused"))
    beyond = {each.part for each in checks.CHECKS if each.needs > available}

    assert [result.part for result in results if result.has_failed] == failed
    assert {result.part for result in results if unknown in result.message} == beyond


# --- collected ---


def test_all_who_ask_within_a_while_share_one_result() -> None:
    asked, bound = [], bounds.Bound("reports", "reports")
    may_answer = asyncio.Event()

    async def work() -> int:
        asked.append(1)
        await may_answer.wait()
        return len(asked)

    async def ask() -> None:
        shared, never = TtlCache[int](bound, ttl_s=60.0), TtlCache[int](bound, ttl_s=0.0)
        asking = [asyncio.create_task(shared.get("m", work)) for _ in range(200)]
        await asyncio.sleep(0)
        asking[0].cancel()  # a client that leaves takes nothing from the others
        may_answer.set()

        assert await asyncio.gather(*asking[1:]) == [1] * 199
        assert await shared.get("m", work) == 1
        assert await shared.get("another upstream", work) == 2
        assert await asyncio.gather(never.get("m", work), never.get("m", work)) == [3, 3]
        assert await never.get("m", work) == 4

    asyncio.run(ask())
    assert total("festinger_bounds_reached_total", bound="reports") == 201


@pytest.mark.django_db
def test_operators_are_notified_when_the_upstream_goes_and_when_it_is_back(standin: StandIn, settings: Any) -> None:
    """By the look of a worker, without a server."""
    settings.CELERY_BROKER_URL = "memory://"  # PGMQ is not installed in the database of a test
    bootstrap.load_config()
    bootstrap.load_schedule()
    Config.objects.filter(key="embedder").update(value="none")  # nor is pgvector
    for part in (Heartbeat.WORKER, Heartbeat.BEAT):
        give_sign(Process(part))
    NotificationTarget.objects.create(kind="mail", address="ada@host", events=["health.changed"])
    upstreams = (standin.url, AWAY, AWAY, AWAY, standin.url, standin.url)

    for settings.FESTINGER_UPSTREAM in upstreams:
        tasks.look_at_health()

    assert [row.payload["items"] for row in NotificationDelivery.objects.order_by("pk")] == [
        [{"from": "good", "to": "bad", "parts": ["Upstream"]}],
        [{"from": "bad", "to": "good", "parts": []}],
    ]
