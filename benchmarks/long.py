"""What is added to long prompts: one with much new text, and a long history that is sent again."""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import long_prompts
from benchmarks.figures import Figures
from benchmarks.latency import rows, sample
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.servers import Servers, servers
from benchmarks.targets import FESTINGER, targets_of

BATCH = 10  # requests per target and round
WARM_UP = 20  # more than it takes to read the history: a request reads only so much of it

TEXT = "one connection, 48 KB of new text in one message"
TEXT_AIM = "added p50 <= 6 ms"
HISTORY = f"one connection, {long_prompts.HISTORY_MESSAGES} messages of 400 KB sent again, and a new one of 1 KB"
HISTORY_AIM = "added p50 <= 4 ms"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with servers(home) as running:
        yield measured(running, plan, "long text", TEXT, long_prompts.long_text, TEXT_AIM)
        yield measured(running, plan, "long history", HISTORY, long_prompts.long_history, HISTORY_AIM)


def measured(
    running: Servers, plan: Plan, name: str, title: str, asking: Callable[[str], Iterator[bytes]], aim: str
) -> Figures:
    targets = targets_of(running, asking)
    samples, seen = run(sample(targets, running.model.port, plan.rounds, batch=BATCH, warm_up=WARM_UP))
    return Figures(name, title, rows(samples), {FESTINGER: aim}, seen)
