"""``make bench``: measures on this machine, prints tables, writes them as JSON. Aims are shown, never enforced."""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path

import orjson

from benchmarks import (
    admin,
    answers,
    backing_up,
    busy,
    consolidation,
    detecting,
    encoding,
    footprint,
    full_store,
    large_requests,
    latency,
    layers,
    learning,
    linear,
    long,
    loops,
    many_conversations,
    placing,
    prefix,
    prefix_time,
    processes,
    reading,
    recalling,
    replacing,
    retrieval,
    retrieval_scale,
    scale,
    stories,
    streams,
    throughput,
    told,
    turns,
)
from benchmarks.database import prepared_home
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from festinger_site.dev.scratch_instance import Interrupted, stop_on_signals

LATEST = Path(__file__).parent / "results" / "latest.json"
OPTIONS = {
    "rounds": "how often each is measured",
    "tokens": "size of the large world",
    "turns": "of an agent's conversation, at least three",
    "conversations": "how many are remembered",
    "llm_turns": "of the conversation with a real model, at least three",
    "llm_kilobytes": "size of that conversation",
    "talks": "speakers with long conversations that are searched",
    "memories": "among how many the search is timed",
    "episodes": "messages that are stored where the search, backups and a full store are timed",
    "model": "NAME@URL of an Ollama's model that reads the labelled stories, too; empty for none",
    "llm_exercises": "how many questions, and tasks, the real model is given",
}
MEASURES: dict[str, Callable[[Path, Plan], Iterator[Figures]]] = {
    "latency": latency.measure,
    "throughput": throughput.measure,
    "processes": processes.measure,
    "streams": streams.measure,
    "long": long.measure,
    "large": large_requests.measure,
    "prefix": prefix.measure,
    "prefix_time": prefix_time.measure,
    "answers": answers.measure,
    "told": told.measure,
    "turns": turns.measure,
    "conversations": many_conversations.measure,
    "loops": loops.measure,
    "cues": reading.measure,
    "linear": linear.measure,
    "recalling": recalling.measure,
    "placing": placing.measure,
    "busy": busy.measure,
    "learning": learning.measure,
    "consolidation": consolidation.measure,
    "scale": scale.measure,
    "retrieval": retrieval.measure,
    "search": retrieval_scale.measure,
    "encoding": encoding.measure,
    "footprint": footprint.measure,
    "admin": admin.measure,
    "stories": stories.measure,
    "detecting": detecting.measure,
    "layers": layers.measure,
    "replacing": replacing.measure,
    "backup": backing_up.measure,
    "store": full_store.measure,
}


def main() -> int:
    """The exit status."""
    arguments = parsed()
    stop_on_signals()
    try:
        run(arguments)
    except Interrupted as stop:
        return stop.status
    return 0


def run(arguments: argparse.Namespace) -> None:
    plan = Plan(**{option.name: getattr(arguments, option.name) for option in fields(Plan)})
    results = []
    print("Setting up a scratch database ...", file=sys.stderr, flush=True)
    with prepared_home() as home:
        for name in arguments.only or MEASURES:
            for figures in MEASURES[name](home, plan):
                results.append(figures)
                print(f"\n{figures.as_table()}", flush=True)
    write(arguments.json, results, plan)
    print(f"\nWritten to {arguments.json}", file=sys.stderr)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    for option in fields(Plan):
        name = f"--{option.name.replace('_', '-')}"
        words = f"{OPTIONS[option.name]} (default %(default)s)"
        parser.add_argument(name, type=type(option.default), default=option.default, metavar="N", help=words)
    parser.add_argument("--json", type=Path, default=LATEST, metavar="FILE", help="where the figures go")
    parser.add_argument("--only", action="append", choices=MEASURES, help="measure this; may be repeated")
    return parser.parse_args()


def write(file: Path, results: Sequence[Figures], plan: Plan) -> None:
    machine = {"python": platform.python_version(), "processors": os.cpu_count(), "machine": platform.machine()}
    report = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        **asdict(plan),
        **machine,
        "results": {figures.name: figures.as_json() for figures in results},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    sys.exit(main())
