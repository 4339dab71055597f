"""A week at speed: agents, nights, backups, an upgrade, crashes, a full disk. It ends as a week in which nothing went
wrong."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

import orjson
import psycopg
import pytest

from tests.served.learning import SYSTEM, Festinger, festinger, headers_of
from tests.served.postgres import OwnPostgres
from tests.served.server import manage
from tests.small_disk import SmallDisk, mount_small_disk
from tests.standin import StandIn

pytestmark = pytest.mark.slow

AGENTS = ("dobby", "winky", "harry")
DAYS = range(7)
NIGHT = """
from django.core.management import call_command

call_command("consolidate")
call_command("sweep_conflicts")
call_command("backup", "--keep", "2")
"""
TOLD = {"kind", "concept", "parent", "dimension", "text", "agent", "status", "collision", "against", "quoted"}
Mishap = Callable[[Festinger], None]


def kill_proxy(week: Festinger) -> None:
    week.kill("proxy0")
    week.start("proxy0")


def kill_all(week: Festinger) -> None:
    for part in ("worker", "proxy0", "postgres"):
        week.kill(part)
    week.start_missing()


def upgrade(week: Festinger) -> None:
    """From the version before, whose database is that of today without the last migration."""
    week.kill("worker")
    week.kill("proxy0")
    environment = {"DATABASE_URL": week.database, "FESTINGER_HOME": str(week.home)}
    manage("migrate", "resolution", "0001_squashed_0015", **environment)
    manage("prepare", **environment)
    week.start_missing()


def fill_log(week: Festinger) -> None:
    """Uses up the segments of its log that Postgres keeps for later; what it writes next needs room."""
    with suppress(psycopg.Error):
        while True:
            week.run("SELECT pg_logical_emit_message(false, '', repeat('x', 1000000))")


MISHAPS: dict[int, Mishap] = {1: kill_proxy, 3: upgrade, 5: kill_all}
FULL_ON = 4
DISK_MB = 1200  # of which a backup wants 500 free


class Request(NamedTuple):
    agent: str
    path: str
    body: dict[str, str]


def live_through(week: Festinger, mishaps: dict[int, Mishap], disk: SmallDisk | None = None) -> list[dict[str, Any]]:
    """Returns what the week leaves behind, without times. ``disk``: it is full on the afternoon of one day."""
    environment = {"DATABASE_URL": week.database, "FESTINGER_HOME": str(week.home)}
    for day in DAYS:
        refused = live(week, day, AGENTS[:1])
        assert not refused
        if disk is not None and day == FULL_ON:
            with disk.full():
                fill_log(week)
                refused = live(week, day, AGENTS[1:])
            assert refused
            week.start_missing()
            send(week, refused)
        else:
            refused = live(week, day, AGENTS[1:])
        assert not refused
        week.wait_settled()
        manage("shell", "-c", NIGHT, **environment)
        if day in mishaps:
            mishaps[day](week)
    week.wait_settled()
    lines = map(orjson.loads, manage("export_graph", "--extent", "episodes", **environment).stdout.splitlines()[1:])
    told = [{key: line[key] for key in sorted(TOLD & line.keys())} for line in lines]
    told += [{"kind": "conflict", "row": row} for row in week.queue()]
    return sorted((line for line in told if "marker" not in str(line)), key=str)


def live(week: Festinger, day: int, agents: Sequence[str]) -> deque[Request]:
    """All prompts are answered. Returns what has to be sent again."""
    unsent = deque[Request]()
    for agent in agents:
        week.ask(("system", SYSTEM), ("user", f"{agent}tron{day} is a printer."), agent=agent)
        week.ask(("system", SYSTEM), ("user", f"The archive of {agent} was moved on day {day}."), agent=agent)
        kind = "printer" if agent == "dobby" else "plotter"
        unsent.append(Request(agent, "/iknowthat", {"fact": f"shared{day} -isa {kind}"}))
        remember = {"text": f"The user prefers colour number {day}.", "category": "other"}
        unsent.append(Request(agent, "/memory", remember))
        send(week, unsent)
    return unsent


def send(week: Festinger, unsent: deque[Request]) -> None:
    """In their order, until one is refused."""
    while unsent:
        agent, path, body = unsent[0]
        answer = week.proxies[0].client.post(path, json=body, headers=headers_of(agent))
        if answer.status_code == 503:
            return
        assert answer.is_success, answer.text
        unsent.popleft()


def test_a_week_with_mishaps_ends_as_a_quiet_one(durable: OwnPostgres, upstream: StandIn) -> None:
    with festinger(durable, "week_quiet", upstream) as week:
        quiet = live_through(week, {})
    with ExitStack() as stops:
        disk = stops.enter_context(mount_small_disk(DISK_MB))
        own = stops.enter_context(OwnPostgres(durable=True, folder=disk.folder)) if disk else durable
        week = stops.enter_context(festinger(own, "week_eventful", upstream))
        eventful = live_through(week, MISHAPS, disk)
        backups = sorted(each.name for each in (week.home / "backups").iterdir())

    assert eventful == quiet
    assert [name.partition("-20")[0] for name in backups] == ["before-upgrade", "festinger", "festinger"]
    kinds = [line["kind"] for line in quiet]
    assert {kind: kinds.count(kind) for kind in ("memory", "conflict")} == {"memory": 7, "conflict": 7}
    assert kinds.count("fact") >= 28
    assert kinds.count("episode") >= 42
    if disk is None:
        pytest.skip("lived through without a full disk: only root can mount a small file system")
