"""How quickly the pages of the admin open in a world of the size that Festinger is meant for: every list, sorted,
filtered and searched in each way, and every page of a row, the heaviest ones too."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from benchmarks.client import BenchmarkBroken
from benchmarks.database import fresh
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from benchmarks.records import administered_world
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

ROUNDS_OF = 5  # there are hundreds of pages
QUERIES_MAX = 12
LIMIT_MS, HOME_MS = 300, 500
HOME = "home"
LISTS = "each way of opening a list; the slowest of each"
ROWS = "pages of a row, typical and heaviest, and the others"

Page = dict[str, Any]  # as benchmarks/opening.py prints it


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    rounds = plan.part(ROUNDS_OF)
    small = {page["address"]: page for page in opened(home, fresh(home), rounds, "briefly")}
    pages = opened(home, administered_world(home, tokens=plan.tokens, edges=plan.edges), rounds)
    size = f"{plan.tokens:,} tokens, {plan.edges:,} edges, {plan.tokens // 20:,} conflicts"
    of_lists = [page for page in pages if page["is_list"]]
    others = [page for page in pages if not page["is_list"]]
    yield figures("admin lists", f"{LISTS}, with {size}", of_lists, small)
    yield figures("admin pages", f"{ROWS}, with {size}", others, small)


def opened(home: Path, database: str, rounds: int, *more: str) -> list[Page]:
    """Raises BenchmarkBroken."""
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    environment |= {"DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "festinger_site.settings"}
    command = [sys.executable, "-m", "benchmarks.opening", str(rounds), *more]
    with (homes.log_folder(home) / "admin.log").open("ab") as errors:
        done = subprocess.run(command, cwd=homes.PROJECT, env=environment, stdout=subprocess.PIPE, stderr=errors)
    if done.returncode:
        raise BenchmarkBroken(f"The admin's pages were not opened:\n{homes.log_tail(home, 'admin.log')}")
    return [orjson.loads(line) for line in done.stdout.splitlines()]


def figures(name: str, title: str, pages: Sequence[Page], small: dict[str, Page]) -> Figures:
    """A row for each way of opening a kind of page, with the aim beside those that miss it. ``of empty``: how much
    longer than in a world without anything."""
    kinds: dict[str, list[Page]] = {}
    for page in pages:
        kinds.setdefault(f"{page['of']} {page['way']}".strip(), []).append(page)
    rows = {kind: row(of_kind, small) for kind, of_kind in kinds.items()}
    aims = {kind: missed(of_kind) for kind, of_kind in kinds.items() if missed(of_kind)}
    return Figures(name, title, rows, aims)


def row(pages: Sequence[Page], small: dict[str, Page]) -> dict[str, float]:
    """Of the slowest one."""
    slowest = max(pages, key=lambda page: median(page["ms"]))
    found = {
        "pages": len(pages),
        "p50 ms": median(slowest["ms"]),
        "worst ms": max(max(page["ms"]) for page in pages),
        "Python ms": slowest["python_ms"],
        "Postgres ms": slowest["postgres_ms"],
        "queries": max(page["queries"] for page in pages),
        "query ms": slowest["query_ms"],
    }
    empty = small.get(slowest["address"])
    return found | ({"of empty": found["p50 ms"] / median(empty["ms"])} if empty else {})


def missed(pages: Sequence[Page]) -> str:
    """The aim, and the first page that misses it; empty where none does."""
    limit_ms = HOME_MS if pages[0]["of"] == HOME else LIMIT_MS
    for page in pages:
        if median(page["ms"]) > limit_ms or page["queries"] > QUERIES_MAX or page["status"] != 200:
            return f"<= {limit_ms} ms, <= {QUERIES_MAX} queries, status 200: {page['address']} ({page['status']})"
    return ""
