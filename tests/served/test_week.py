"""A week at speed: agents, nights, backups, an upgrade, crashes. It ends as a week in which nothing went wrong."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.served.learning import SYSTEM, Festinger, festinger, headers_of
from tests.served.postgres import OwnPostgres
from tests.served.server import manage
from tests.standin import StandIn

pytestmark = pytest.mark.slow

AGENTS = ("dobby", "winky", "harry")
DAYS = range(7)
NIGHTLY = ("consolidate", "sweep_conflicts")
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
    manage("migrate", "memory", "0008", **environment)
    manage("prepare", **environment)
    week.start_missing()


MISHAPS: dict[int, Mishap] = {1: kill_proxy, 3: upgrade, 5: kill_all}


def live_through(week: Festinger, mishaps: dict[int, Mishap]) -> list[dict[str, Any]]:
    """Returns what the week leaves behind, without times."""
    environment = {"DATABASE_URL": week.database, "FESTINGER_HOME": str(week.home)}
    for day in DAYS:
        for agent in AGENTS:
            week.ask(("system", SYSTEM), ("user", f"{agent}tron{day} is a printer."), agent=agent)
            week.ask(("system", SYSTEM), ("user", f"The archive of {agent} was moved on day {day}."), agent=agent)
            assert week.teach(
                f"shared{day} -isa {'printer' if agent == 'dobby' else 'plotter'}", agent=agent
            ).is_success
            remember = {"text": f"The user prefers colour number {day}.", "category": "other"}
            answer = week.proxies[0].client.post("/memory", json=remember, headers=headers_of(agent))
            assert answer.is_success, answer.text
        week.wait_settled()
        for command in NIGHTLY:
            manage(command, **environment)
        manage("backup", "--keep", "2", **environment)
        if day in mishaps:
            mishaps[day](week)
    week.wait_settled()
    lines = map(orjson.loads, manage("export_graph", "--extent", "episodes", **environment).stdout.splitlines()[1:])
    told = ({key: line[key] for key in sorted(TOLD & line.keys())} for line in lines)
    return sorted((line for line in told if "marker" not in str(line)), key=str)


def test_a_week_with_crashes_and_an_upgrade_ends_as_a_quiet_one(durable: OwnPostgres, upstream: StandIn) -> None:
    weeks = {}
    for name, mishaps in {"quiet": {}, "eventful": MISHAPS}.items():
        with festinger(durable, f"week_{name}", upstream) as week:
            weeks[name] = live_through(week, mishaps)
            backups = sorted(each.name for each in (week.home / "backups").iterdir())

    assert weeks["eventful"] == weeks["quiet"]
    assert [name.partition("-20")[0] for name in backups] == ["before-upgrade", "festinger", "festinger"]
    kinds = [line["kind"] for line in weeks["quiet"]]
    assert {kind: kinds.count(kind) for kind in ("memory", "conflict")} == {"memory": 7, "conflict": 7}
    assert kinds.count("fact") >= 28
    assert kinds.count("episode") >= 42
