"""Measures how well loops are told from what is none in labelled conversations, and what looking for one costs."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from statistics import median

from benchmarks import prompts
from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from proxy.formats.base import Part
from proxy.loops import LoopDetector, Tail
from tests.proxy.loops import labelled
from tests.proxy.loops.streams import LOOPING, RIGHT

TITLE = "loops among labelled conversations and answers, and the time to look for one"
CONVERSATIONS, ANSWERS = "conversations", "answers"
KNOWN = "60 messages, known"
AIMS = {CONVERSATIONS: "precision >= 0.98, recall >= 0.95", KNOWN: "<= 300 µs"}
MESSAGES = 60  # of 2 KB each, half of them outputs
ANSWER_TEXTS = 10  # of 2 KB each
CHUNK = 4  # characters of an answer, as models stream them
ALIKE = "It is all done now, there is nothing left to do. " + prompts.OTHER[0]


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """Needs no database."""
    rows: Rows = {CONVERSATIONS: accuracy(conversations()), ANSWERS: accuracy(answers())}
    rows |= {name: {"µs": value} for name, value in times(plan.rounds).items()}
    yield Figures("loops", TITLE, rows, AIMS)


def conversations() -> list[tuple[bool, bool]]:
    """For each whether it is a loop, and whether one was found."""
    detector = LoopDetector()
    every = chain.from_iterable(map(labelled.load, labelled.SETS))
    return [(one.kind is not None, detector.find_loop(one.parts) is not None) for one in every]


def answers() -> list[tuple[bool, bool]]:
    """The same for answers as they are streamed."""
    every = [(True, text) for text in LOOPING.values()] + [(False, text) for text in RIGHT.values()]
    return [(is_loop, any(list(map(Tail().add, chunks(text))))) for is_loop, text in every]


def chunks(text: str) -> Iterator[str]:
    return (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))


def accuracy(judged: Sequence[tuple[bool, bool]]) -> dict[str, float]:
    found = sum(is_found for _, is_found in judged)
    due = sum(is_loop for is_loop, _ in judged)
    right = sum(is_loop and is_found for is_loop, is_found in judged)
    return {"judged": len(judged), "loops": due, "precision": right / found, "recall": right / due}


def times(rounds: int) -> dict[str, float]:
    """Microseconds by what is looked at; for an answer, of one chunk."""
    random = Random(3)
    working, alike = history(random, is_alike=False), history(random, is_alike=True)
    answer = " ".join(prompts.text(random) for _ in range(ANSWER_TEXTS))
    return {
        "60 messages, new": median(microseconds(LoopDetector(), working) for _ in range(rounds)),
        KNOWN: known(working, rounds),
        "60 messages, all alike": known(alike, rounds),
        "a chunk of an answer": median(per_chunk(answer) for _ in range(rounds)),
    }


def history(random: Random, *, is_alike: bool) -> list[Part]:
    """An agent's, in Agent Zero's JSON: thoughts of its own each time, and another call and result unless alike."""
    parts = [Part("system", prompts.SYSTEM, 0), Part("user", json.dumps({"user_message": ALIKE}), 1)]
    for place in range(2, MESSAGES + 2, 2):
        thoughts, result = prompts.text(random), ALIKE if is_alike else prompts.text(random)
        code = ALIKE if is_alike else prompts.text(random)[:200]
        call = {"thoughts": [thoughts], "tool_name": "code_execution_tool", "tool_args": {"code": code}}
        returned = {"tool_name": "code_execution_tool", "tool_result": result}
        parts += [Part("assistant", json.dumps(call), place), Part("user", json.dumps(returned), place + 1)]
    return parts


def known(parts: Sequence[Part], rounds: int) -> float:
    detector = LoopDetector()
    detector.find_loop(parts)
    return median(microseconds(detector, parts) for _ in range(rounds))


def microseconds(detector: LoopDetector, parts: Sequence[Part]) -> float:
    """Return processor time. The texts are new objects, as those of each request are."""
    resent = [Part(part.role, (part.text + " ")[:-1], part.place) for part in parts]
    return taken(lambda: detector.find_loop(resent))


def per_chunk(text: str) -> float:
    tail, pieces = Tail(), list(chunks(text))
    return taken(lambda: list(map(tail.add, pieces))) / len(pieces)


def taken(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return (time.thread_time() - started) * 1e6
