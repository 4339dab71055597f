"""Time that each proxy adds to a prompt, and prompts that it forwards a second, by what is new in the prompt. The
systems take turns, so that a noisy machine hits all alike."""

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final

import orjson
import psycopg
from wordfreq import get_frequency_dict

from benchmarks.client import CONTENT_LENGTH, END_OF_HEAD, BenchmarkBroken, Connection
from benchmarks.database import analyze, fresh
from benchmarks.figures import Figures, Rows
from benchmarks.latency import timed
from benchmarks.loop import run
from benchmarks.peers import installed
from benchmarks.peers.talking import CHAT, COMPLETIONS, Line
from benchmarks.prompts import post, says
from benchmarks.servers import Server, festinger, forwarder
from benchmarks.throughput import CONNECTIONS, rate
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

DIRECT, DIRECT_COMPLETIONS = "direct", "direct, OpenAI's"
FORWARDER, FESTINGER, ENGRAM, LITELLM, PORTKEY = "bare forwarder", "Festinger", "engram-proxy", "LiteLLM", "Portkey"
ENGRAM_MINILM = "engram-proxy, MiniLM"
RESENT, TOOL, ASSISTANT, SHORT, LONG = "resent", "tool", "assistant", "150 chars", "2 KB"
KINDS: Final = (RESENT, TOOL, ASSISTANT, SHORT, LONG)
AT_ONCE: Final = (RESENT, SHORT)
BATCH: Final = 40  # requests a system and round, on one connection
BATCH_AT_ONCE: Final = 160
SHORT_CHARACTERS, LONG_CHARACTERS = 150, 2048
EARLIER_CHARACTERS: Final = (40, 300)
OF_A_CONVERSATION: Final = 10
KNOWN_WITHIN_S: Final = 30
WORDS: Final = 8_000  # different ones, as often as English has them
SENTENCE_WORDS: Final = (6, 18)
END_OF_CHUNKS: Final = b"0\r\n\r\n"
TITLE: Final = "milliseconds added to a prompt's p50 by what is new in it, one connection, {earlier:,} earlier messages"
RATIO_TITLE: Final = "the same, as a multiple of what {of} adds"
RATE_TITLE: Final = "requests a second, {connections} connections"
AIMS: Final = {FESTINGER: "less than engram-proxy"}

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


class ChunkedConnection(Connection):
    """A connection that also takes answers without a length."""

    def _read_head(self) -> None:
        head_end = self._unread.find(END_OF_HEAD)
        if head_end >= 0 and CONTENT_LENGTH.search(self._unread, 0, head_end):
            super()._read_head()
        elif head_end >= 0 and self._unread.endswith(END_OF_CHUNKS):
            self._length = len(self._unread)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to the model server. ``headers``: whole lines, each with its end."""

    name: str
    server: Server
    path: str = CHAT
    headers: str = ""

    @property
    def direct(self) -> str:
        return DIRECT if self.path == CHAT else DIRECT_COMPLETIONS

    def requests(self, kind: str) -> Iterator[bytes]:
        """Yield the same ones for all ways."""
        for messages in conversations(kind):
            yield post(self.path, orjson.dumps({"model": "mock", "messages": messages, "stream": False}), self.headers)


def measure(home: Path, systems: Sequence[str], rounds: int, earlier: int) -> Iterator[Figures]:
    with ExitStack() as stack:
        mock = stack.enter_context(installed.upstream(home))
        ways = [Way(DIRECT, mock), Way(FORWARDER, stack.enter_context(forwarder(home, mock.url)))]
        texts = list(islice(earlier_texts(), earlier))
        for system in systems:
            ways += [START[system](home, mock, stack, texts)] if system in START else []
        if any(way.path == COMPLETIONS for way in ways):
            ways.append(Way(DIRECT_COMPLETIONS, mock, COMPLETIONS))
        times = {kind: run(sample_times(ways, kind, rounds)) for kind in KINDS}
        rates = {kind: run(sample_rates(ways, kind, rounds)) for kind in AT_ONCE}
    added = added_rows(ways, times)
    yield Figures("added", TITLE.format(earlier=earlier), added, AIMS if ENGRAM in added else {})
    for of in (FORWARDER, ENGRAM):
        if of in added:
            yield Figures(f"added, of {of}", RATIO_TITLE.format(of=of), ratio_rows(added, of))
    yield Figures("rate", RATE_TITLE.format(connections=CONNECTIONS), rate_rows(ways, rates))


def added_rows(ways: Sequence[Way], times: dict[str, dict[str, list[float]]]) -> Rows:
    """Compare each round with the same round's direct way."""
    rows: Rows = {}
    for way in ways:
        if way.name != way.direct:
            rows[way.name] = {
                kind: median(mine - direct for mine, direct in zip(of_kind[way.name], of_kind[way.direct], strict=True))
                for kind, of_kind in times.items()
            }
    return rows


def ratio_rows(added: Rows, of: str) -> Rows:
    return {name: {kind: value / added[of][kind] for kind, value in row.items()} for name, row in added.items()}


def rate_rows(ways: Sequence[Way], rates: dict[str, dict[str, list[float]]]) -> Rows:
    return {way.name: {kind: median(of_kind[way.name]) for kind, of_kind in rates.items()} for way in ways}


async def sample_times(ways: Sequence[Way], kind: str, rounds: int) -> dict[str, list[float]]:
    """Return each round's median, by way."""
    lines = [(way, way.requests(kind)) for way in ways]
    found = defaultdict(list)
    for way, requests in lines:
        await time_batch(way, requests)
    for _ in range(rounds):
        for way, requests in lines:
            found[way.name].append(await time_batch(way, requests))
    return found


async def time_batch(way: Way, requests: Iterator[bytes]) -> float:
    """Return the median of a round, in milliseconds; the first prompt is not timed."""
    async with connected(way, 1) as [connection]:
        await timed(connection, list(islice(requests, 1)))
        return median(await timed(connection, list(islice(requests, BATCH))))


async def sample_rates(ways: Sequence[Way], kind: str, rounds: int) -> dict[str, list[float]]:
    lines = [(way, way.requests(kind)) for way in ways]
    found = defaultdict(list)
    for _ in range(rounds):
        for way, requests in lines:
            async with connected(way, CONNECTIONS) as connections:
                await rate(connections, list(islice(requests, CONNECTIONS)))
                found[way.name].append(await rate(connections, list(islice(requests, BATCH_AT_ONCE))))
    return found


@asynccontextmanager
async def connected(way: Way, count: int) -> AsyncIterator[list[ChunkedConnection]]:
    """Open connections for one batch: servers close one that stands still while others have their turn."""
    connections = [await ChunkedConnection.open(way.server.port) for _ in range(count)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


# --- what is sent ---


def conversations(kind: str) -> Iterator[Messages]:
    """Yield the prompts of a kind, always the same ones. Each new message begins a conversation; the other kinds have a
    new one each round, all of them the same one: it matters what is found for its last message."""
    random, histories = Random(kind), Random("conversations")
    while True:
        history = write_history(histories)
        for _ in range(1 + BATCH):
            match kind:
                case "resent":
                    yield history
                case "tool":
                    yield [*history, TOOL_CALL, {**TOOL_RESULT, "content": english(random, 600)}]
                case "assistant":
                    yield [*history, says("assistant", english(random, 300))]
                case _:
                    yield [says("user", english(random, SHORT_CHARACTERS if kind == SHORT else LONG_CHARACTERS))]


def write_history(random: Random) -> Messages:
    roles = {"user": SHORT_CHARACTERS, "assistant": 300}
    return [says(role, english(random, roles[role])) for role in ("user", "assistant", "user")]


def earlier_texts() -> Iterator[str]:
    random = Random("earlier")
    while True:
        yield english(random, random.randint(*EARLIER_CHARACTERS))


def english(random: Random, characters: int) -> str:
    """Write sentences of words as frequent as in English."""
    words, weights = vocabulary()
    text = ""
    while len(text) < characters:
        sentence = " ".join(random.choices(words, cum_weights=weights, k=random.randint(*SENTENCE_WORDS)))
        text += f"{sentence.capitalize()}. "
    return text[:characters].strip()


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """Return words, and the sums of their frequencies so far."""
    total, words, sums = 0.0, [], []
    for word, frequency in islice(get_frequency_dict("en").items(), WORDS):
        if word.isalpha() and word.isascii():
            total += frequency
            words.append(word)
            sums.append(total)
    return words, sums


# --- who forwards it ---


def start_festinger(home: Path, mock: Server, stack: ExitStack, texts: Sequence[str]) -> Way:
    """Start the proxy alone, as the others are measured without what they do when they are idle."""
    database = fresh(home)
    with festinger(home, mock.url, database) as proxy:
        Line(proxy.port).post(CHAT, {"model": "mock", "messages": next(conversations(LONG)), "stream": False})
        wait_for_speaker(database)
    with psycopg.connect(database, autocommit=True) as connection:
        values = {"texts": list(texts), "count": len(texts), "of_one": OF_A_CONVERSATION}
        connection.execute(EPISODES.encode(), values)
    embed(home, database)
    analyze(database)
    return Way(FESTINGER, stack.enter_context(festinger(home, mock.url, database)))


def wait_for_speaker(database: str) -> None:
    """Returns when what one client said is stored. Raises BenchmarkBroken."""
    deadline = time.monotonic() + KNOWN_WITHIN_S
    with psycopg.connect(database, autocommit=True) as connection:
        while not connection.execute("SELECT id FROM episode LIMIT 1").fetchone():
            if time.monotonic() > deadline:
                raise BenchmarkBroken("what was said is not stored")
            time.sleep(0.1)


def embed(home: Path, database: str) -> None:
    """Raises CalledProcessError."""
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1") | {"DATABASE_URL": database}
    command = [sys.executable, "manage.py", "embed"]
    subprocess.run(command, cwd=homes.PROJECT, env=environment, check=True, stdout=subprocess.DEVNULL)


def start_engram(home: Path, mock: Server, stack: ExitStack, texts: Sequence[str]) -> Way:
    return fill_engram(ENGRAM, home, mock, stack, texts, has_vectors=False)


def start_engram_minilm(home: Path, mock: Server, stack: ExitStack, texts: Sequence[str]) -> Way:
    return fill_engram(ENGRAM_MINILM, home, mock, stack, texts, has_vectors=True)


def fill_engram(
    name: str, home: Path, mock: Server, stack: ExitStack, texts: Sequence[str], *, has_vectors: bool
) -> Way:
    database = home / f"engram-{has_vectors}.db"
    installed.work_on_engrams_store(home, database, has_vectors=has_vectors, texts=list(texts))
    return Way(name, stack.enter_context(installed.engram(home, mock, database, has_vectors=has_vectors)))


def start_litellm(home: Path, mock: Server, stack: ExitStack, texts: Sequence[str]) -> Way:
    return Way(LITELLM, stack.enter_context(installed.litellm(home, mock)), COMPLETIONS)


def start_portkey(home: Path, mock: Server, stack: ExitStack, texts: Sequence[str]) -> Way:
    server = stack.enter_context(installed.portkey(home, mock))
    return Way(PORTKEY, server, COMPLETIONS, installed.portkeys_headers(mock))


Starter = Callable[[Path, Server, ExitStack, Sequence[str]], Way]
START: Final[dict[str, Starter]] = {
    "festinger": start_festinger,
    "engram": start_engram,
    "engram-minilm": start_engram_minilm,
    "litellm": start_litellm,
    "portkey": start_portkey,
}
