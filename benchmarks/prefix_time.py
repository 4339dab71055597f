"""What a shared beginning is worth: the time that a model takes to its first token, turn by turn, for the prompts as
the client writes them, as Festinger extends them, and with all recollections in one block at the top.

Festinger's own milliseconds are not in it: what came through it before is given to the model now.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import agent, llm, prefix
from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from benchmarks.servers import model

FORMATS = {"chat": agent.CHAT}
WITHOUT, TAIL, SYSTEM = "without s", "tail s", "system s"
TITLE = "seconds to the first token of SmolLM2-135M, {turns} turns growing to {characters} KB; 8 facts"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    if reason := llm.missing():
        print(f"\nprefix_time: skipped, {reason}", file=sys.stderr, flush=True)
        return
    talk = agent.dialogue(prefix.SEED, plan.llm_turns, plan.llm_kilobytes * 1000)
    with model(home) as mock:
        at_the_end = prefix.on_one(home, mock, talk, FORMATS)["chat"].turns
        at_top = prefix.PLACED.format(prefix.SYSTEM)
        at_the_top = prefix.on_one(home, mock, talk, FORMATS, settings=at_top)["chat"].turns
    prompts = {
        WITHOUT: [turn.client for turn in at_the_end],
        TAIL: [turn.model for turn in at_the_end],
        SYSTEM: [turn.model for turn in at_the_top],
    }
    title = TITLE.format(turns=plan.llm_turns, characters=plan.llm_kilobytes)
    yield Figures("prefix time", title, rows(llm.first_tokens(prompts)))


def rows(taken: dict[str, list[llm.Taken]]) -> Rows:
    """``tokens``: of the prompt that Festinger extended."""
    found: Rows = {}
    for number, turn in enumerate(zip(*taken.values(), strict=True), 1):
        found[f"turn {number}"] = row(taken, [[one] for one in turn])
    found["all"] = row(taken, list(taken.values()))
    return found


def row(ways: dict[str, list[llm.Taken]], taken: Sequence[Sequence[llm.Taken]]) -> dict[str, float]:
    by_way = dict(zip(ways, taken, strict=True))
    tokens = sum(one.tokens for one in by_way[TAIL])
    return {"tokens": tokens} | {way: sum(one.seconds for one in of_way) for way, of_way in by_way.items()}
