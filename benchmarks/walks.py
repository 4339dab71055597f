"""``make walks``: how many functions, files and hops eight acts pass through, counted in the running processes.

Each entry into a function of the product counts as a call, in whatever thread; lambdas and comprehensions belong to
the function around them. A hop is a call from one module of the product into another, foreign code between them or
not. A walk through ``memory`` or ``memory + resolution`` leaves out the calls in other packages.
"""

import dis
import os
import runpy
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Client, Listener
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import httpx
import psycopg

from benchmarks.client import HOST, BenchmarkBroken
from benchmarks.database import fresh, prepared_home
from benchmarks.servers import model, program, running
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import programs

PRODUCT: Final = ("memory", "proxy", "resolution", "festinger_site")
MEMORY: Final = ("memory",)
GRAPH: Final = ("memory", "resolution")
SOCKET: Final = "FESTINGER_WALKS_SOCKET"
PATIENCE_S: Final = 60
ROUNDS: Final = 5
SETTLE_S: Final = 1.0  # for what the act before left to do

EARLIER: Final = "Note that kvasir{0} runs on tyr. Tyr is a server. The port of kvasir{0} is 4711."
QUESTION: Final = "Please restart kvasir{}. Which port does it listen on?"
CORRECTION: Final = "Actually kvasir{} runs on baldur now. Which port does it listen on?"
IS_PLACED: Final = """
    SELECT count(*) FROM urd JOIN soas c ON c.id = urd.id JOIN soas p ON p.id = urd.parent_id
    WHERE (c.token, p.token) = (%s, %s)
"""

Call = tuple[str, str, str]  # function, its file, the caller's file ("": entered from foreign code only)


class Tracer:
    """Counts the calls in this process between ``begin`` and ``end``; a profiling function for all its threads."""

    def __init__(self) -> None:
        self._calls: Counter[Call] | None = None
        self._codes: dict[CodeType, tuple[str, int]] = {}

    def begin(self) -> None:
        self._calls = Counter()

    def end(self) -> list[tuple[Call, int]]:
        calls, self._calls = self._calls, None
        return [*calls.items()] if calls else []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        calls = self._calls
        if calls is None or event != "call":
            return
        file, start = self._look_up(frame.f_code)
        if not file or frame.f_lasti > start:  # the latter: a coroutine or generator that goes on
            return
        caller = frame.f_back
        while caller is not None and not self._look_up(caller.f_code)[0]:
            caller = caller.f_back
        calls[frame.f_code.co_qualname, file, self._look_up(caller.f_code)[0] if caller else ""] += 1

    def _look_up(self, code: CodeType) -> tuple[str, int]:
        """Return the code's file, relative to the project and "" if it does not count, and where it starts."""
        if code not in self._codes:
            path = Path(code.co_filename)
            file = path.relative_to(homes.ROOT).as_posix() if path.is_relative_to(homes.ROOT) else ""
            is_counted = file.startswith(PRODUCT) and not code.co_name.startswith("<")
            start = next((step.offset for step in dis.get_instructions(code) if step.opname == "RESUME"), 0)
            self._codes[code] = (file if is_counted else "", start)
        return self._codes[code]


def run_traced(words: list[str]) -> None:
    """Become the program ``python -m words``, whose calls are counted when a client of its socket asks for it."""
    tracer = Tracer()

    def answer() -> None:
        with Listener(os.environ[SOCKET]) as listener, listener.accept() as client:
            while client.recv():
                tracer.begin()
                client.send(True)
                client.recv()
                client.send(tracer.end())

    threading.Thread(target=answer, daemon=True).start()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


@dataclass(frozen=True, slots=True)
class Walk:
    """One act, as it went through one process."""

    name: str
    packages: tuple[str, ...]
    calls: list[tuple[Call, int]]

    def __len__(self) -> int:
        return sum(times for _, times in self.calls)

    def __str__(self) -> str:
        functions = {(name, file) for (name, file, _), _ in self.calls}
        files = {file for _, file in functions}
        hops = sum(times for (_, file, caller), times in self.calls if caller not in ("", file))
        counted = "all" if self.packages == PRODUCT else " + ".join(self.packages)
        return ROW.format(self.name, counted, len(self), len(functions), len(files), hops)


ROW: Final = "{:<43}{:<20}{:>6}{:>11}{:>7}{:>7}"


class Program:
    """A traced process of Festinger's."""

    def __init__(self, address: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not Path(address).exists():
            if time.monotonic() > deadline:
                raise BenchmarkBroken(f"nothing listens at {address}")
            time.sleep(0.05)
        self._pipe = Client(address)

    def walk(self, name: str, act: Callable[[int], object], packages: tuple[str, ...] = PRODUCT) -> Walk:
        """Do the act once uncounted, for imports and caches, then return the shortest of its rounds: what else the
        process does meanwhile only adds to it."""
        act(0)
        return min((self._trace(name, partial(act, number), packages) for number in range(1, ROUNDS + 1)), key=len)

    def _trace(self, name: str, act: Callable[[], object], packages: tuple[str, ...]) -> Walk:
        time.sleep(SETTLE_S)
        self._pipe.send(True)
        self._pipe.recv()
        act()
        self._pipe.send(False)
        within = tuple(f"{package}/" for package in packages)
        calls: list[tuple[Call, int]] = self._pipe.recv()
        return Walk(name, packages, [(call, times) for call, times in calls if call[1].startswith(within)])


class Festinger:
    """A client of the traced proxy."""

    def __init__(self, url: str, database: str) -> None:
        self._http = httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE_S)
        self._database = database

    def post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self._http.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    def health(self, _: int) -> None:
        self._http.get("/health").raise_for_status()

    def say(self, *said: str) -> None:
        """Stream the answer to a conversation's newest message; the assistant has answered the others."""
        messages = [{"role": "user", "content": said[0]}]
        for text in said[1:]:
            messages += [{"role": "assistant", "content": "Understood."}, {"role": "user", "content": text}]
        body = {"model": "paced-1ms", "stream": True, "options": {"num_predict": 5}, "messages": messages}
        self._http.post("/api/chat", json=body).raise_for_status()

    def teach(self, fact: str) -> int:
        """Return the conflict's number, 0 if there is none."""
        return int(self.post("/iknowthat", {"fact": fact}).get("conflict_id") or 0)

    def decide(self, conflict: int) -> int:
        """Decide for the newcomer; return the decision's number."""
        [item] = [item for item in self._http.get("/conflicts").json()["items"] if item["id"] == conflict]
        [winner] = [member["id"] for member in item["members"] if member["kind"] == "claim"]
        verdict = {"action": "supersede_others", "winner_member_id": f"claim:{winner}"}
        return int(self.post(f"/conflicts/{conflict}/resolve", verdict)["decision"]["id"])

    def undo(self, decision: int) -> None:
        self.post(f"/decisions/{decision}/undo", {})

    def wait_placed(self, concept: str, parent: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        with psycopg.connect(self._database, autocommit=True) as connection:
            while connection.execute(IS_PLACED, [concept, parent]).fetchone() == (0,):
                if time.monotonic() > deadline:
                    raise BenchmarkBroken(f"{concept} was not placed")
                time.sleep(0.05)


def measure(proxy: Program, worker: Program, festinger: Festinger) -> Iterator[Walk]:
    for number in range(ROUNDS + 1):
        festinger.say(EARLIER.format(number))
        festinger.wait_placed(f"kvasir{number}", "tyr")
    conflicts: list[int] = []
    decisions: list[int] = []

    def state(number: int) -> None:
        festinger.say(f"Note that mimir{number} runs on tyr.")
        festinger.wait_placed(f"mimir{number}", "tyr")

    def converse(number: int) -> None:
        festinger.say(EARLIER.format(number), QUESTION.format(number))

    def collide(number: int) -> None:
        conflicts.append(festinger.teach(f"kvasir{number} -ispart odin in context of runs-on"))

    yield proxy.walk("a new message, streamed", converse)
    yield proxy.walk("the same, resent", converse)
    yield proxy.walk("GET /health", festinger.health)
    yield proxy.walk("a prompt", lambda number: festinger.say(CORRECTION.format(number)), MEMORY)
    yield worker.walk("a statement, from the learner to the edge", state, GRAPH)
    yield proxy.walk("a statement that collides", collide, GRAPH)
    accept = "an operator accepts one member"
    yield proxy.walk(accept, lambda number: decisions.append(festinger.decide(conflicts[number])), GRAPH)
    yield proxy.walk("its undo", lambda number: festinger.undo(decisions[number]), GRAPH)


def trace(command: list[str]) -> list[str]:
    python, _, *words = command
    return [python, "-m", "benchmarks.walks", *words]


def main() -> None:
    with ExitStack() as stack:
        home = stack.enter_context(prepared_home())
        database = fresh(home)
        mock = stack.enter_context(model(home))
        port = scratch_instance.free_port()
        commands = {each.name: trace(each.command) for each in programs.own_programs(HOST, port)}
        sockets = {name: str(home / f"{name}.socket") for name in commands}
        proxy = running("proxy", home, port, mock.url, commands["proxy"], database, **{SOCKET: sockets["proxy"]})
        stack.enter_context(proxy)
        stack.enter_context(program(home, "worker", commands["worker"], database, **{SOCKET: sockets["worker"]}))
        traced = {name: Program(address) for name, address in sockets.items()}
        print(ROW.format("walk", "packages", "calls", "functions", "files", "hops"), flush=True)
        for walk in measure(traced["proxy"], traced["worker"], Festinger(f"http://{HOST}:{port}", database)):
            print(walk, flush=True)


if __name__ == "__main__":
    run_traced(sys.argv[1:]) if sys.argv[1:] else main()
