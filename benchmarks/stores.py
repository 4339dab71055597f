"""A system with an empty store of its own, which is talked to and then asked."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Final

import orjson
import psycopg

from benchmarks.client import CHAT, BenchmarkBroken, Line
from benchmarks.database import AS_REPLICA, analyze, fresh, run_apart
from benchmarks.peers import installed
from benchmarks.servers import Server, festinger, worker
from benchmarks.weeks import Given, holds
from memory.settings.registry import defaults

PATIENCE_S: Final = 120
SETTLED_S: Final = 1.0  # so long a process may keep what it is about to write
LOOK_AGAIN_S: Final = 0.1
NUMBERS: Final = count(1)

# A search that is cut off on a busy machine would count as a miss.
UNHURRIED: Final = {"DJANGO_SETTINGS_MODULE": "tests.unhurried"}
STYLE_BY_DEFAULT: Final = (
    f"UPDATE config SET value = '{defaults()['recollection_style']}' WHERE key = 'recollection_style'"
)
WAITING: Final = """
    SELECT (SELECT count(*) FROM heard_message)
        + (SELECT count(*) FROM observation WHERE state = 'pending' AND kind = 'triple')
        + (SELECT count(*) FROM episode WHERE read_at IS NULL) + (SELECT count(*) FROM pending_embedding)
"""
# Times of what was said, and of what was made of it: all but those of the machinery.
TIMES: Final = """
    SELECT table_name, column_name FROM information_schema.columns JOIN pg_tables ON tablename = table_name
    WHERE table_schema = 'public' AND schemaname = 'public' AND data_type = 'timestamp with time zone'
        AND table_name !~ '^(django|auth|heartbeat|config|embedder)'
"""
KEPT: Final = {
    "episode": "SELECT id, text FROM episode WHERE role = 'user'",
    "memory": "SELECT id, text FROM memory WHERE status = 'active'",
}
GIVEN_WHY: Final = "given"


@dataclass(frozen=True, slots=True)
class Told:
    """A chat that was sent at ``started``, and should have been ``back_s`` earlier. ``dates``: what the user said, and
    when it should have been. Seconds since 1970."""

    started: float
    back_s: float
    dates: list[tuple[str, float]] = field(default_factory=list)


class Store(ABC):
    """``headers`` come with each request that asks: it should teach nothing."""

    name: ClassVar[str]
    headers: ClassVar[dict[str, str]] = {}

    def __init__(self, home: Path, mock: Server) -> None:
        self.home = home
        self.mock = mock

    @abstractmethod
    def talking(self) -> AbstractContextManager[Server]: ...

    @abstractmethod
    def settle(self) -> None:
        """Return when all that was said is dealt with."""

    @abstractmethod
    def finish(self, told: Sequence[Told]) -> None:
        """Give everything its date, and do what is done at night; between talking and asking."""

    @abstractmethod
    def asking(self) -> AbstractContextManager[Server]: ...

    def find_cause(self, server: Server, given: Given, answer_headers: dict[str, str]) -> str:
        """Return the cause of a miss; empty where nobody knows."""
        return ""


class FestingerStore(Store):
    name = "Festinger"
    headers = {"X-Festinger-Remember": "no"}

    def __init__(self, home: Path, mock: Server) -> None:
        super().__init__(home, mock)
        self.database = fresh(home)
        with self.connect() as connection:
            connection.execute(STYLE_BY_DEFAULT.encode())

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.database, autocommit=True)

    @contextmanager
    def talking(self) -> Iterator[Server]:
        with ExitStack() as stack:
            proxy = stack.enter_context(festinger(self.home, self.mock.url, self.database, **UNHURRIED))
            stack.enter_context(worker(self.home, self.database))
            yield proxy
            self.settle()

    def settle(self) -> None:
        """Raises BenchmarkBroken."""
        time.sleep(SETTLED_S)
        deadline = time.monotonic() + PATIENCE_S
        with self.connect() as connection:
            while waiting := self._count(connection, WAITING):
                if time.monotonic() > deadline:
                    raise BenchmarkBroken(f"after {PATIENCE_S} s {waiting} rows still wait for the worker")
                time.sleep(LOOK_AGAIN_S)

    @staticmethod
    def _count(connection: psycopg.Connection, query: str) -> int:
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return int(row[0])

    def finish(self, told: Sequence[Told]) -> None:
        if told:
            self.set_dates(told)
        run_apart(self.home, self.database, ["manage.py", "consolidate"])
        analyze(self.database)

    def set_dates(self, told: Sequence[Told]) -> None:
        """Move each time back as far as the chat that it was in."""
        ends = [*(chat.started for chat in told[1:]), time.time() + PATIENCE_S]
        with self.connect() as connection, connection.transaction():
            connection.execute(AS_REPLICA.encode())
            connection.execute("CREATE TEMP TABLE back (since float8, until float8, s float8) ON COMMIT DROP")
            with connection.cursor() as cursor:
                rows = [(chat.started, until, chat.back_s) for chat, until in zip(told, ends, strict=True)]
                cursor.executemany("INSERT INTO back VALUES (%s, %s, %s)", rows)
            for table, column in connection.execute(TIMES.encode()).fetchall():
                connection.execute(
                    f'UPDATE "{table}" SET "{column}" = "{column}" - s * interval \'1 second\' FROM back'
                    f' WHERE "{column}" >= to_timestamp(since) AND "{column}" < to_timestamp(until)'.encode()
                )

    @contextmanager
    def asking(self) -> Iterator[Server]:
        """Run the proxy without a worker: nothing is learned of what is asked."""
        with festinger(self.home, self.mock.url, self.database, **UNHURRIED) as proxy:
            for _ in range(2):  # the first one loads what reads the questions
                Line(proxy.port).post(CHAT, {"model": "mock", "messages": [WARM_UP]}, self.headers)
                time.sleep(SETTLED_S)
            yield proxy

    def find_cause(self, server: Server, given: Given, answer_headers: dict[str, str]) -> str:
        why = self._find_why(Line(server.port), answer_headers.get("x-festinger-request", ""))
        with self.connect() as connection:
            kept = {
                (kind, id)
                for kind, query in KEPT.items()
                for id, text in connection.execute(query.encode()).fetchall()
                if any(holds(text, value) for value in given.missing)
            }
        return name_cause(why, kept)

    @staticmethod
    def _find_why(line: Line, request: str) -> dict[str, Any]:
        """Return what /why tells; empty where it is not known within a second."""
        for _ in range(10):
            status, content = line.get(f"/why/{request}")
            if status == 200:
                found: dict[str, Any] = orjson.loads(content)
                return found
            time.sleep(LOOK_AGAIN_S)
        return {}


WARM_UP: Final = {"role": "user", "content": "Good morning, is there anything that I should know about the umbrella?"}


def name_cause(why: dict[str, Any], kept: set[tuple[str, int]]) -> str:
    """``kept``: memories and episodes that hold a missing value."""
    if not kept:
        return "not kept"
    told = Counter(note["why"] for note in why.get("notes", ()) if (note["kind"], note["id"]) in kept)
    reasons = [reason for reason in told if reason != GIVEN_WHY]
    if reasons:
        return f"found but not given: {reasons[0]}"
    if told:
        return "given without the value"
    return "not found" if why.get("search") in ("found", "nothing found") else f"not searched: {why.get('search')}"


class EngramStore(Store):
    """Learns nothing of what it is asked: it makes memories only when it is idle, and by then it is stopped."""

    name = "engram-proxy"
    has_vectors: ClassVar = False

    def __init__(self, home: Path, mock: Server) -> None:
        super().__init__(home, mock)
        self.database = home / f"engram-{next(NUMBERS)}.db"

    def talking(self) -> AbstractContextManager[Server]:
        return installed.engram(self.home, self.mock, self.database, has_vectors=self.has_vectors)

    def settle(self) -> None: ...

    def finish(self, told: Sequence[Told]) -> None:
        dates = sorted((each for chat in told for each in chat.dates), key=lambda each: each[1])
        installed.work_on_engrams_store(self.home, self.database, has_vectors=self.has_vectors, dates=dates)

    def asking(self) -> AbstractContextManager[Server]:
        return self.talking()


class EngramMiniLMStore(EngramStore):
    name = "engram-proxy, MiniLM"
    has_vectors = True


STORES: Final[dict[str, type[Store]]] = {
    "festinger": FestingerStore,
    "engram": EngramStore,
    "engram-minilm": EngramMiniLMStore,
}
