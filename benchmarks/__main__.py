"""``make bench``: measures on this machine, prints tables, writes them as JSON. Aims are shown, never enforced. With
``--peers`` (``make bench-peers``), what is added to a prompt and what is given of weeks of conversations, beside
engram-proxy."""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import orjson

from benchmarks import footprint, learning, pages, pauses, recall, replacing, retrieval, scale, speed, stories
from benchmarks.database import prepared_home
from benchmarks.figures import Figures
from benchmarks.peers.installed import LACKS
from benchmarks.plan import EARLIER, ROUNDS, TALKS, TOKENS, WEEKS, Plan
from benchmarks.weeks import WeekMistake
from festinger_site.dev.scratch_instance import Interrupted, stop_on_signals

RESULTS: Final = Path(__file__).parent / "results"
MEASURES: Final[dict[str, Callable[[Path, Plan], Iterator[Figures]]]] = {
    "speed": speed.measure,
    "pauses": pauses.measure,
    "learning": learning.measure,
    "scale": scale.measure,
    "footprint": footprint.measure,
    "pages": pages.measure,
    "retrieval": retrieval.measure,
    "weeks": recall.measure,
    "replacing": replacing.measure,
    "stories": stories.measure,
}
OF_PEERS: Final = ("speed", "weeks")


def main() -> int:
    """Return the exit status."""
    arguments = parse_arguments()
    stop_on_signals()
    try:
        run(arguments)
    except Interrupted as stop:
        return stop.status
    except WeekMistake as mistake:
        print(mistake, file=sys.stderr)
        return 2
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=MEASURES, help="measure this; may be repeated")
    parser.add_argument("--peers", action="store_true", help=f"{' and '.join(OF_PEERS)}, beside engram-proxy")
    parser.add_argument("--system", action="append", choices=["festinger", *LACKS], help="of these; may be repeated")
    for name, number, what in (
        ("rounds", ROUNDS, "how often each is measured"),
        ("tokens", TOKENS, "size of the large world, and messages behind the admin's pages"),
        ("earlier", EARLIER, "messages that the speaker has sent before"),
        ("talks", TALKS, "speakers with long conversations that are searched"),
    ):
        parser.add_argument(f"--{name}", type=int, default=number, metavar="N", help=f"{what} (default %(default)s)")
    parser.add_argument("--weeks", type=Path, default=WEEKS, metavar="FOLDER", help="where the weeks are")
    parser.add_argument("--held-out", action="store_true", help="the weeks that nobody looks at: no words of them")
    parser.add_argument("--applications", type=Path, metavar="FOLDER", help="JSONL files of requests of applications")
    parser.add_argument("--model", default="", help="NAME@URL of an Ollama's model that reads the stories, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go")
    return parser.parse_args()


def run(arguments: argparse.Namespace) -> None:
    """Raises WeekMistake."""
    asked = arguments.system or ["festinger", *(LACKS if arguments.peers else ())]
    plan = Plan(
        arguments.rounds,
        arguments.tokens,
        arguments.earlier,
        arguments.talks,
        list(find_systems(asked)),
        arguments.weeks,
        arguments.held_out,
        find_applications(arguments.applications),
        arguments.model,
    )
    results = []
    print("Setting up a scratch database ...", file=sys.stderr, flush=True)
    with prepared_home() as home:
        for name in arguments.only or (OF_PEERS if arguments.peers else MEASURES):
            for figures in MEASURES[name](home, plan):
                results.append(figures)
                print(f"\n{figures.as_table()}", flush=True)
    write(arguments.json or RESULTS / ("peers.json" if arguments.peers else "latest.json"), results, plan)


def find_systems(wanted: Iterable[str]) -> Iterator[str]:
    """Yield those that can be measured; say why others cannot."""
    for system in wanted:
        if system in LACKS and (lack := LACKS[system]()):
            print(f"{system}: skipped, {lack}", file=sys.stderr, flush=True)
        else:
            yield system


def find_applications(folder: Path | None) -> Path | None:
    if folder is not None and not any(folder.glob("*.jsonl")):
        print(f"{recall.APPLICATIONS}: skipped, no *.jsonl in {folder}", file=sys.stderr, flush=True)
        return None
    return folder


def write(file: Path, results: Sequence[Figures], plan: Plan) -> None:
    report = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": plan.rounds,
        "tokens": plan.tokens,
        "earlier": plan.earlier,
        "held_out": plan.is_held_out,
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "results": {figures.name: figures.as_json() for figures in results},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    print(f"\nWritten to {file}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
