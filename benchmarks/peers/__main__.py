"""Measures Festinger beside other proxies: what they add to a prompt's way, and what they give of what was said.

Prints tables, and writes them to a JSON file.
"""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import orjson

from benchmarks.database import prepared_home
from benchmarks.figures import Figures
from benchmarks.peers import installed, recall, speed
from benchmarks.peers.stores import STORES
from benchmarks.weeks import FOLDER, WeekMistake, read_weeks
from festinger_site.dev.scratch_instance import Interrupted, stop_on_signals

LATEST: Final = Path(__file__).parent.parent / "results" / "peers.json"
ROUNDS, EARLIER = 10, 10_000
SPEED, WEEKS = "speed", "weeks"
# By system, why it cannot be measured.
LACKS: Final[dict[str, Callable[[], str]]] = {
    "festinger": lambda: "",
    "engram": installed.find_lack_of_engram,
    "engram-minilm": installed.find_lack_of_engram_minilm,
    "orma": installed.find_lack_of_orma,
    "litellm": installed.find_lack_of_litellm,
    "portkey": installed.find_lack_of_portkey,
}


def main() -> int:
    """The exit status."""
    arguments = parsed()
    stop_on_signals()
    try:
        run(arguments)
    except Interrupted as stop:
        return stop.status
    except WeekMistake as mistake:
        print(mistake, file=sys.stderr)
        return 2
    return 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--system", action="append", choices=LACKS, help="measure this one; may be repeated")
    parser.add_argument("--only", choices=(WEEKS, SPEED), help="measure only this")
    parser.add_argument("--weeks", type=Path, default=FOLDER, metavar="FOLDER", help="where the weeks are")
    parser.add_argument("--held-out", action="store_true", help="the weeks that nobody looks at: no words of them")
    parser.add_argument("--applications", type=Path, metavar="FOLDER", help="JSONL files of requests of applications")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help="of the speed (default %(default)s)")
    earlier = "messages that were said before (default %(default)s)"
    parser.add_argument("--earlier", type=int, default=EARLIER, metavar="N", help=earlier)
    parser.add_argument("--json", type=Path, default=LATEST, metavar="FILE", help="where the figures go")
    return parser.parse_args()


def run(arguments: argparse.Namespace) -> None:
    """Raises WeekMistake."""
    systems = list(find_systems(arguments.system or list(LACKS)))
    report = recall.Report(is_held_out=arguments.held_out)
    weeks = read_weeks(arguments.weeks, held_out=arguments.held_out) if arguments.only != SPEED else []
    applications = find_applications(arguments.applications)
    results: list[Figures] = []
    print("Setting up a scratch database ...", file=sys.stderr, flush=True)
    with prepared_home() as home:
        if arguments.only != WEEKS:
            results += show(speed.measure(home, systems, arguments.rounds, arguments.earlier))
        if weeks:
            stores = [system for system in systems if system in STORES]
            results += show(recall.measure(home, stores, weeks, applications, report))
    write(arguments, results, report)


def find_systems(wanted: Iterable[str]) -> Iterator[str]:
    """Yield those that can be measured; say why others cannot."""
    for system in wanted:
        if lack := LACKS[system]():
            print(f"{system}: skipped, {lack}", file=sys.stderr, flush=True)
        else:
            yield system


def find_applications(folder: Path | None) -> Path | None:
    if folder is not None and not any(folder.glob("*.jsonl")):
        print(f"{recall.APPLICATIONS}: skipped, no *.jsonl in {folder}", file=sys.stderr, flush=True)
        return None
    return folder


def show(figures: Iterable[Figures]) -> list[Figures]:
    found = []
    for each in figures:
        found.append(each)
        print(f"\n{each.as_table()}", flush=True)
    return found


def write(arguments: argparse.Namespace, results: Sequence[Figures], report: recall.Report) -> None:
    machine = {"python": platform.python_version(), "processors": os.cpu_count(), "machine": platform.machine()}
    content = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": arguments.rounds,
        "earlier": arguments.earlier,
        "held_out": arguments.held_out,
        **machine,
        "results": {figures.name: figures.as_json() for figures in results},
        "requests": report.requests,
    }
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))
    print(f"\nWritten to {arguments.json}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
