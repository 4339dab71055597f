"""Time that each proxy adds to a prompt, and prompts that it forwards a second, by what is new in the prompt. The
systems take turns, so that a noisy machine hits all alike."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final

import psycopg

from benchmarks.client import CHAT, BenchmarkBroken, Line, connected, rate, run
from benchmarks.database import analyze, fresh, run_apart
from benchmarks.figures import Figures, Rows
from benchmarks.peers import installed
from benchmarks.plan import Plan
from benchmarks.prompts import chat, english, says
from benchmarks.servers import Server, festinger, forwarder, model

DIRECT, FORWARDER, FESTINGER = "direct", "bare forwarder", "Festinger"
ENGRAM, ENGRAM_MINILM = "engram-proxy", "engram-proxy, MiniLM"
RESENT, TOOL, ASSISTANT, SHORT, LONG = "resent", "tool", "assistant", "150 chars", "2 KB"
TEXT, HISTORY = "48 KB", "after 400 KB"
KINDS: Final = (RESENT, TOOL, ASSISTANT, SHORT, LONG, TEXT, HISTORY)
AT_ONCE: Final = (RESENT, SHORT)
CONNECTIONS: Final = 16
BATCH: Final = 40  # requests a system and round, on one connection
BATCH_AT_ONCE: Final = 160
SIZES: Final = {SHORT: 150, LONG: 2048, TEXT: 48_000, HISTORY: 1024}  # characters of the new message
HISTORY_MESSAGES: Final = (3, 200)  # before it, of those that are resent, and of a long one
HISTORY_CHARACTERS: Final = {"user": 150, "assistant": 300}
LONG_CHARACTERS: Final = 2_000
EARLIER_CHARACTERS: Final = (40, 300)
OF_A_CONVERSATION: Final = 10
KNOWN_WITHIN_S: Final = 30
TITLE: Final = "milliseconds added to a prompt's p50 by what is new in it, one connection, {earlier:,} earlier messages"
RATIO_TITLE: Final = "the same, as a multiple of what {of} adds"
RATE_TITLE: Final = f"requests a second, {CONNECTIONS} connections, one process"
AIMS: Final = {
    FESTINGER: f"{RESENT}, {TOOL}, {ASSISTANT} <= 1, {SHORT} <= 6, {LONG} <= 9, all < 50, the first five < {ENGRAM}"
}
RATE_AIMS: Final = {FESTINGER: f"{RESENT} of forwarder >= 0.4, {SHORT} >= 300"}

TOOL_CALL: Final[dict[str, Any]] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
}
TOOL_RESULT: Final = {"role": "tool", "tool_call_id": "call_1"}

Messages = Sequence[Mapping[str, Any]]

# Of the one client that has said something.
EPISODES: Final = """
    INSERT INTO episode (digest, conversation, agent, person, role, text, lexemes, said_at)
    SELECT sha256(('earlier' || n)::bytea), substr(sha256(('earlier' || n / %(of_one)s)::bytea), 1, 16), agent, person,
        'user', said.text, setweight(to_tsvector('english', said.text), 'A'),
        now() - (%(count)s - n) * interval '10 minutes'
    FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS said (text, n), (SELECT agent, person FROM episode LIMIT 1) AS one
"""


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with ExitStack() as stack:
        mock = stack.enter_context(model(home))
        ways = {DIRECT: mock, FORWARDER: stack.enter_context(forwarder(home, mock.url))}
        texts = list(islice(earlier_texts(), plan.earlier))
        for system in plan.systems:
            name, start = SYSTEMS[system]
            ways[name] = stack.enter_context(start(home, mock, texts))
        times = {}
        for kind in KINDS:
            lines = {name: (server, map(chat, conversations(kind))) for name, server in ways.items()}
            times[kind] = run(sample_times(lines, plan.rounds))
        rates = {kind: run(sample_rates(ways, kind, plan.rounds)) for kind in AT_ONCE}
    added: Rows = {
        name: {kind: subtract(of_kind[name], of_kind[DIRECT]) for kind, of_kind in times.items()}
        for name in ways
        if name != DIRECT
    }
    yield Figures("added", TITLE.format(earlier=plan.earlier), added, AIMS)
    for of in (FORWARDER, ENGRAM):
        if of in added:
            rows = {name: {kind: value / added[of][kind] for kind, value in row.items()} for name, row in added.items()}
            yield Figures(f"added, of {of}", RATIO_TITLE.format(of=of), rows)
    yield Figures("rate", RATE_TITLE, rate_rows(rates), RATE_AIMS)


def subtract(mine: Sequence[float], direct: Sequence[float]) -> float:
    """Compare each round with the same round's direct way: what else the machine does hits both."""
    return median(one - other for one, other in zip(mine, direct, strict=True))


def rate_rows(rates: dict[str, dict[str, list[float]]]) -> Rows:
    rows: Rows = {name: {kind: median(of_kind[name]) for kind, of_kind in rates.items()} for name in rates[RESENT]}
    for name, row in rows.items():
        pairs = zip(rates[RESENT][name], rates[RESENT][FORWARDER], strict=True)
        row[f"{RESENT} of forwarder"] = median(mine / bare for mine, bare in pairs)
    return rows


async def sample_times(
    lines: Mapping[str, tuple[Server, Iterator[bytes]]], rounds: int, batch: int = BATCH
) -> dict[str, list[float]]:
    """Return each round's median in milliseconds, by name. ``lines``: a server, and the requests that it gets."""
    found = defaultdict(list)
    for number in range(rounds + 1):
        for name, (server, requests) in lines.items():
            # Servers close a connection that stands still while others have their turn.
            async with connected(server.port) as [connection]:
                await connection.time(list(islice(requests, 1)))
                times = await connection.time(list(islice(requests, batch)))
            if number:  # the first round warms up
                found[name].append(median(times))
    return found


async def sample_rates(ways: Mapping[str, Server], kind: str, rounds: int) -> dict[str, list[float]]:
    lines = {name: map(chat, conversations(kind)) for name in ways}
    found = defaultdict(list)
    for _ in range(rounds):
        for name, requests in lines.items():
            async with connected(ways[name].port, CONNECTIONS) as connections:
                await rate(connections, list(islice(requests, CONNECTIONS)))
                found[name].append(await rate(connections, list(islice(requests, BATCH_AT_ONCE))))
    return found


# --- what is sent ---


def conversations(kind: str) -> Iterator[Messages]:
    """Yield the prompts of a kind, always the same ones. Each new message begins a conversation; the other kinds have a
    new one each round, all of them the same one: it matters what is found for its last message."""
    random, histories = Random(kind), Random("conversations")
    while True:
        history = write_history(histories, is_long=kind == HISTORY)
        for _ in range(1 + BATCH):
            match kind:
                case "resent":
                    yield history
                case "tool":
                    yield [*history, TOOL_CALL, {**TOOL_RESULT, "content": english(random, 600)}]
                case "assistant":
                    yield [*history, says("assistant", english(random, 300))]
                case _:
                    before = history if kind == HISTORY else ()
                    yield [*before, says("user", english(random, SIZES[kind]))]


def write_history(random: Random, *, is_long: bool) -> Messages:
    return [
        says(role, english(random, LONG_CHARACTERS if is_long else HISTORY_CHARACTERS[role]))
        for role in islice(("user", "assistant") * HISTORY_MESSAGES[1], HISTORY_MESSAGES[is_long])
    ]


def earlier_texts() -> Iterator[str]:
    random = Random("earlier")
    while True:
        yield english(random, random.randint(*EARLIER_CHARACTERS))


# --- who forwards it ---


@contextmanager
def start_festinger(home: Path, mock: Server, texts: Sequence[str]) -> Iterator[Server]:
    """Start the proxy alone, as the others are measured without what they do when they are idle."""
    database = fresh(home)
    with festinger(home, mock.url, database) as proxy:
        Line(proxy.port).post(CHAT, {"model": "mock", "messages": next(conversations(LONG)), "stream": False})
        store_earlier(database, texts)
    run_apart(home, database, ["manage.py", "embed"])
    analyze(database)
    with festinger(home, mock.url, database) as proxy:
        yield proxy


def store_earlier(database: str, texts: Sequence[str]) -> None:
    """Store what the one client that has said something has said before. Raises BenchmarkBroken where that one is not
    stored."""
    deadline = time.monotonic() + KNOWN_WITHIN_S
    with psycopg.connect(database, autocommit=True) as connection:
        while not connection.execute("SELECT id FROM episode LIMIT 1").fetchone():
            if time.monotonic() > deadline:
                raise BenchmarkBroken("what was said is not stored")
            time.sleep(0.1)
        values = {"texts": list(texts), "count": len(texts), "of_one": OF_A_CONVERSATION}
        connection.execute(EPISODES.encode(), values)


@contextmanager
def start_engram(home: Path, mock: Server, texts: Sequence[str], *, has_vectors: bool) -> Iterator[Server]:
    database = home / f"engram-{has_vectors}.db"
    installed.work_on_engrams_store(home, database, has_vectors=has_vectors, texts=list(texts))
    with installed.engram(home, mock, database, has_vectors=has_vectors) as proxy:
        yield proxy


# By key of a system, its name and how it is started.
SYSTEMS: Final[dict[str, tuple[str, Callable[..., AbstractContextManager[Server]]]]] = {
    "festinger": (FESTINGER, start_festinger),
    "engram": (ENGRAM, partial(start_engram, has_vectors=False)),
    "engram-minilm": (ENGRAM_MINILM, partial(start_engram, has_vectors=True)),
}
