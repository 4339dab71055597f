"""Measures if reading takes time in proportion to a text's length, for texts made to take long:
`python -m benchmarks.linear` shows each of them."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from proxy.formats.streams import EventFrames, Frames, LineFrames
from tests.memory.english.hostile import READERS
from tests.proxy.loops import hostile

SHORT, LONG = 20_000, 200_000  # characters
ROUNDS_MAX = 3  # the best of them counts: the rest measure the machine's other work
LEAST_MS = 0.05  # what is faster is taken for this: the clock's own steps would look like growth
CHUNK = 100  # bytes
TITLE = f"time for hostile texts of {LONG // 1000} kB, and how many times that of {SHORT // 1000} kB; the worst text"


class Growth(NamedTuple):
    piece: str  # what the text repeats
    long_ms: float
    of_short: float


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """Needs no database."""
    rows: Rows = {}
    for name, growths in growths_by_reader(min(plan.rounds, ROUNDS_MAX)):
        slowest, steepest = max(growth.long_ms for growth in growths), max(growth.of_short for growth in growths)
        rows[name] = {"texts": len(growths), "slowest ms": slowest, "of short": steepest}
    yield Figures("linear", TITLE, rows, dict.fromkeys(rows, "about 10 times"))


def growths_by_reader(rounds: int) -> Iterator[tuple[str, list[Growth]]]:
    for name, reader in READERS.items():
        texts = zip(reader.pieces, reader.texts(SHORT), reader.texts(LONG), strict=True)
        yield name, [growth(reader.read, *of_piece, rounds) for of_piece in texts]
    shorts, longs = hostile.texts(SHORT), hostile.texts(LONG)
    yield "loops", [growth(hostile.look_for_loops, name, shorts[name], longs[name], rounds) for name in shorts]
    frames: dict[str, Callable[[], Frames]] = {"lines": LineFrames, "events": EventFrames}
    for name, kind in frames.items():
        yield name, [growth(partial(feed, kind), "x", "x" * SHORT, "x" * LONG, rounds)]


def growth(read: Callable[[str], object], piece: str, short: str, long: str, rounds: int) -> Growth:
    of_short, of_long = (max(LEAST_MS, min(milliseconds(read, text) for _ in range(rounds))) for text in (short, long))
    return Growth(piece, of_long, of_long / of_short)


def milliseconds(read: Callable[[str], object], text: str) -> float:
    """Return processor time. The text is a new object: what was read last may be remembered."""
    text = (text + " ")[:-1]
    started = time.thread_time()
    read(text)
    return (time.thread_time() - started) * 1000


def feed(kind: Callable[[], Frames], text: str) -> None:
    """As one line that arrives in small chunks."""
    frames = kind()
    body = text.encode() + b"\n\n"
    for start in range(0, len(body), CHUNK):
        frames.feed(body[start : start + CHUNK])


def main() -> None:
    print(TITLE)
    for name, growths in growths_by_reader(ROUNDS_MAX):
        for piece, long_ms, of_short in sorted(growths, key=lambda growth: -growth.of_short):
            print(f"  {name:<18} {long_ms:8.2f} ms {of_short:6.1f} times  {piece!r}")


if __name__ == "__main__":
    main()
