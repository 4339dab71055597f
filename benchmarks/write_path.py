"""All of the write path, as ``make run`` starts it: the proxy, a worker, and a Postgres that waits for its
disk."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from benchmarks.client import HOST, BenchmarkBroken, Connection
from benchmarks.database import fresh
from benchmarks.loop import run
from benchmarks.servers import UNBOUNDED, Server, festinger, model, teach
from benchmarks.statements import Statement, prompt
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import programs

PATIENCE_S = 300
LOOK_AGAIN_S = 0.05

DURABLE = ("fsync", "full_page_writes")  # what the scratch database goes without
POLICY = "UPDATE dimension SET on_collision = %s"
WAITING = """
    SELECT (SELECT count(*) FROM pending_embedding)
        + (SELECT count(*) FROM heard_message)
        + (SELECT count(*) FROM observation WHERE state = 'pending' AND next_attempt_at <= now())
        + (SELECT count(*) FROM episode WHERE read_at IS NULL)
"""
FIRST = Statement("borogovia", "wabe", "membership")


@dataclass(frozen=True, slots=True)
class WritePath:
    model: Server
    proxy: Server
    database: str
    workers: Sequence[psutil.Process]

    def ask(self, query: str, *values: object) -> tuple[int, ...]:
        """The one row that a query of the database has."""
        with psycopg.connect(self.database) as connection:
            row = connection.execute(query.encode(), values).fetchone()
        assert row is not None
        return row

    def stated(self) -> int:
        """Count the statements that have come to the database."""
        return self.ask("SELECT count(*) FROM observation WHERE kind = 'triple'")[0]

    def wait_written(self, stated: int) -> None:
        """Returns when so many statements have come. Raises BenchmarkBroken."""
        if (found := wait_for(lambda: (self.stated(),), (stated,))) != (stated,):
            raise BenchmarkBroken(f"of {stated} statements {found[0]} have come")

    def wait_settled(self, stated: int) -> None:
        """The same, and all of them are dealt with."""
        query = "SELECT count(*), count(*) FILTER (WHERE state = 'done') FROM observation WHERE kind = 'triple'"
        expected = (stated, stated)
        if (found := wait_for(lambda: self.ask(query), expected)) != expected:
            raise BenchmarkBroken(f"of {stated} statements {found[0]} have come, {found[1]} are done")

    def worker_cpu_s(self) -> float:
        """Processor seconds that the workers' processes have used."""
        family = [each for worker in self.workers for each in (worker, *worker.children(recursive=True))]
        return float(sum(sum(process.cpu_times()[:2]) for process in family))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The workers do nothing meanwhile."""
        for worker in self.workers:
            os.killpg(worker.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for worker in self.workers:
                os.killpg(worker.pid, signal.SIGCONT)


def wait_for(look: Callable[[], tuple[int, ...]], expected: tuple[int, ...]) -> tuple[int, ...]:
    """Look until the expected is found or patience ends; return what was found last."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := look()) != expected and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN_S)
    return found


@contextmanager
def write_path(
    home: Path, policy: str = "queue", *, database: str = "", workers: int = 1, **more: str
) -> Iterator[WritePath]:
    """Yields when it has placed a first statement. The five facts are taught. ``policy``: what all dimensions do on a
    collision; ``database``: a fresh one where it is empty; ``more``: of Festinger's environment."""
    database = database or fresh(home)
    with psycopg.connect(database) as connection:
        connection.execute(POLICY, [policy])
    with ExitStack() as stack:
        stack.enter_context(durable(database))
        mock = stack.enter_context(model(home))
        proxy = stack.enter_context(festinger(home, mock.url, database, **more))
        teach(proxy)
        commands = {program.name: program.command for program in programs.own_programs(HOST, proxy.port)}
        started = [
            stack.enter_context(program(home, f"worker-{number}", commands["worker"], database, **more))
            for number in range(workers)
        ]
        path = WritePath(mock, proxy, database, [psutil.Process(process.pid) for process in started])
        run(say(proxy.port, [prompt([FIRST.sentence])]))
        path.wait_settled(1)
        yield path


async def say(port: int, requests: Iterable[bytes]) -> None:
    """One after the other, over a connection of their own."""
    connection = await Connection.open(port)
    try:
        for request in requests:
            await connection.ask(request)
    finally:
        connection.close()


@contextmanager
def durable(database: str) -> Iterator[None]:
    set_all(database, [sql.SQL("ALTER SYSTEM SET {} = on").format(sql.Identifier(name)) for name in DURABLE])
    try:
        yield
    finally:
        set_all(database, [sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(name)) for name in DURABLE])


def set_all(database: str, statements: Sequence[sql.Composed]) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.execute("SELECT pg_reload_conf()")


@contextmanager
def program(home: Path, name: str, command: list[str], database: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """It need not be ready: what it is sent waits. ``more``: of its environment."""
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    environment |= {"DATABASE_URL": database} | UNBOUNDED | more
    with (homes.log_folder(home) / f"{name}.log").open("ab") as errors:
        process = subprocess.Popen(
            command,
            cwd=homes.PROJECT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a banner
            stderr=errors,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        scratch_instance.end(process)
