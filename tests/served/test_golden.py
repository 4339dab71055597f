"""The surface that others build on: what /health tells, OpenAPI, MCP's tools, metrics, log events, and who may call
what.

Each is compared with a file in ``golden/``. A change that is meant is written by ``FESTINGER_GOLDEN=write`` and read in
the diff.
"""

import ast
import json
import os
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings

from proxy.formats import FORMATS
from tests.served.server import PROJECT, Served, manage, new_database
from tests.standin import StandIn

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"
PRODUCT = ("memory", "proxy", "resolution", "festinger_site")
EVENT = re.compile(r"[a-z_]+(\.[a-z_]+)+")
LEVELS = ("debug", "info", "warning", "error", "exception", "critical")
METRICS = ("Counter", "Gauge", "Histogram", "CounterMetricFamily", "GaugeMetricFamily")
SERIES = re.compile(r"^# TYPE (\S+) (\S+)", re.MULTILINE)
TYPES = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}

PROMPTS = tuple(sorted(FORMATS))
FORWARDED = (
    *(("POST", f"/api/{what}") for what in ("show", "embed", "pull", "push", "create", "copy")),
    ("GET", "/api/tags"),
    ("DELETE", "/api/delete"),
)
OTHERS = (("GET", "/"), ("GET", "/docs"), ("GET", "/openapi.json"), ("POST", "/mcp"), ("GET", "/admin/"))
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
# Of the tools for operators alone: with fewer, some calls might end before anybody asks who calls.
ARGUMENTS = {
    "decide_conflict": {"conflict_id": 999999, "action": "no_action"},
    "undo_decision": {"decision_id": 999999},
}
TOO_LONG = b" " * (2 << 20)  # twice what an own endpoint takes


def check(name: str, found: str) -> None:
    """Compare with the file of that name, or write it."""
    file = GOLDEN / name
    if os.environ.get("FESTINGER_GOLDEN") == "write":
        file.write_text(found)
    assert found.splitlines() == file.read_text().splitlines()


def list_keys(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of a report's values, with their types; of lists, those of the first item."""
    if isinstance(value, dict):
        for key, inner in sorted(value.items()):
            yield from list_keys(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield from list_keys(value[0], f"{path}[]") if value else [f"{path}[] nothing"]
    else:
        yield f"{path} {TYPES[type(value)]}"


@cache
def list_calls() -> list[ast.Call]:
    """The calls in the product's code; to parse it takes seconds."""
    files = chain.from_iterable((PROJECT / part).rglob("*.py") for part in PRODUCT)
    nodes = chain.from_iterable(ast.walk(ast.parse(file.read_text())) for file in files)
    return [node for node in nodes if isinstance(node, ast.Call) and node.args]


@pytest.fixture(scope="module")
def eventful(upstream: StandIn) -> Iterator[Served]:
    """Of a database in which there has been something of everything that /health tells of."""
    database = new_database(settings.DATABASE_URL, "festinger_golden")
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO heartbeat (name, host, pid, at) VALUES ('worker', 'here', 1, now())")
        connection.execute(
            "INSERT INTO run (trigger, mode, status, counts, ended_at)"
            " VALUES ('api', 'auto', 'done', '{\"update\": 1}', now())"
        )
    served = Served(upstream=upstream.url, database=database)
    yield served.wait_ready()
    served.stop()


def test_health_keeps_its_keys(eventful: Served) -> None:
    report = eventful.client.get("/health").json()
    del report["database"]["heartbeat_ages_s"]["proxy"]  # it may not have given its first one

    check("health.txt", "".join(f"{key}\n" for key in list_keys(report)))


def test_strangers_are_told_of_readiness_alone(untrusting: Served) -> None:
    report = untrusting.client.get("/health").json()

    check("health_of_strangers.txt", "".join(f"{key}\n" for key in list_keys(report)))


def test_openapi_stays(server: Served) -> None:
    document = server.client.get("/openapi.json").json()

    check("openapi.json", json.dumps(document, indent=1, sort_keys=True) + "\n")


def test_the_tools_of_mcp_stay(server: Served) -> None:
    check("mcp_tools.json", json.dumps(list_tools(server), indent=1, sort_keys=True) + "\n")


def test_metrics_keep_their_names_types_and_labels(server: Served) -> None:
    found = set(SERIES.findall(server.client.get("/metrics").text))
    labels = dict(read_metric(call) for call in list_calls() if name_called(call) in METRICS)

    lines = [" ".join((name, kind, *labels.get(name.removesuffix("_total"), ()))) for name, kind in sorted(found)]
    check("metrics.txt", "".join(f"{line}\n" for line in lines))


def name_called(call: ast.Call) -> str:
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def read_metric(call: ast.Call) -> tuple[str, list[str]]:
    """Return the name of a metric that is defined, and its labels."""
    lists = [node for node in ast.walk(call) if isinstance(node, ast.List)]
    name = call.args[0].value if isinstance(call.args[0], ast.Constant) else ""
    return str(name), [str(ast.literal_eval(each)) for each in lists[0].elts] if lists else []


def test_log_events_keep_their_names() -> None:
    logged = [
        node.value
        for call in list_calls()
        if isinstance(call.func, ast.Attribute)
        and getattr(call.func.value, "id", "") == "logger"
        and call.func.attr in LEVELS
        for node in ast.walk(call.args[0])
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    events = {event for event in logged if EVENT.fullmatch(event)}

    check("log_events.txt", "".join(f"{event}\n" for event in sorted(events)))


@pytest.fixture(scope="module")
def own_database() -> str:
    """A database of its own: in that of other tests a run may be under way, and another is refused."""
    return new_database(settings.DATABASE_URL, "golden")


@pytest.fixture(scope="module")
def untrusting(own_database: str, upstream: StandIn) -> Iterator[Served]:
    """Takes this machine for any other."""
    served = Served(upstream=upstream.url, database=own_database, FESTINGER_TRUST_LOOPBACK="off")
    yield served.wait_ready()
    served.stop()


@pytest.fixture(scope="module")
def trusting(own_database: str, upstream: StandIn) -> Iterator[Served]:
    """Trusts this machine as far as it does by default."""
    served = Served(upstream=upstream.url, database=own_database, FESTINGER_TRUST_LOOPBACK="on")
    yield served.wait_ready()
    served.stop()


def test_who_may_call_what_stays(untrusting: Served, trusting: Served, own_database: str) -> None:
    tokens = {
        scope: manage("create_agent", f"golden-{scope}", "--scope", scope, DATABASE_URL=own_database).stdout.strip()
        for scope in ("agent", "operator")
    }
    agent, operator = ({"Authorization": f"Bearer {tokens[scope]}"} for scope in ("agent", "operator"))
    callers: dict[str, tuple[Served, str, dict[str, str], bytes]] = {
        "none": (untrusting, "", {}, b"{}"),
        "loopback": (trusting, "", {}, b"{}"),
        "forwarded": (trusting, "", {"Forwarded": "for=192.0.2.1"}, b"{}"),
        "origin": (trusting, "", {"Origin": "https://evil.example"}, b"{}"),
        "agent": (untrusting, "", agent, b"{}"),
        "operator": (untrusting, "", operator, b"{}"),
        "other_name": (untrusting, "/agent/somebody-else", agent, b"{}"),
        "no_token": (trusting, "/agent/golden-agent", {}, b"{}"),
        "too_long": (trusting, "", {}, TOO_LONG),
    }
    paths = trusting.client.get("/openapi.json").json()["paths"]
    own = sorted((method.upper(), path) for path, methods in paths.items() for method in methods)
    tools = [("TOOL", tool["name"]) for tool in list_tools(trusting)]
    routes = [*own, *(("POST", path) for path in PROMPTS), *FORWARDED, *OTHERS, *sorted(tools)]
    rows = ["\t".join(("method", "route", *callers))]
    for method, route in routes:
        statuses = [call(method, route, *caller) for caller in callers.values()]
        rows.append("\t".join((method, route, *statuses)))

    check("access.tsv", "\n".join(rows) + "\n")


def call(method: str, route: str, served: Served, prefix: str, headers: dict[str, str], body: bytes) -> str:
    """Return the status, and what a tool made of its call; ids in paths are those of no row."""
    path = "/mcp" if method == "TOOL" else re.sub(r"\{\w+\}", "999999", route)
    if method == "TOOL" and body != TOO_LONG:
        body = json.dumps(message("tools/call", name=route, arguments=ARGUMENTS.get(route, {}))).encode()
    content = None if method == "GET" else body
    with httpx.Client(base_url=served.url, trust_env=False, timeout=30) as client:
        answer = client.request(
            method.replace("TOOL", "POST"), prefix + path, content=content, headers=HEADERS | headers
        )
    if method != "TOOL" or answer.status_code != 200:
        return str(answer.status_code)
    return "refused" if "needs a token" in answer.text else "called"


def list_tools(served: Served) -> list[dict[str, Any]]:
    answer = served.client.post("/mcp", json=message("tools/list"), headers=HEADERS)
    return list(answer.json()["result"]["tools"])


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
