"""Starts what is measured, each a process of its own on a free port: Festinger as ``make run`` starts it, its workers,
the bare forwarder, and the mock model server behind them."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.client import HOST, BenchmarkBroken, Line
from benchmarks.prompts import FACTS
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import programs

READY_S = 180  # a large world takes its time
LOOK_AGAIN_S = 0.01
ONE_PROCESS = {"FESTINGER_WORKERS": "1"}
UNBOUNDED = {"DJANGO_SETTINGS_MODULE": "tests.unbounded"}
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """``ready_s``: from its start until it listened."""

    port: int
    process: psutil.Process
    ready_s: float

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def rss_mb(self) -> float:
        return float(self.process.memory_info().rss / MEGABYTE)


def model(home: Path) -> AbstractContextManager[Server]:
    port = scratch_instance.free_port()
    return running("model", home, port, "", [sys.executable, "-m", "benchmarks.model", str(port)])


def forwarder(home: Path, upstream: str) -> AbstractContextManager[Server]:
    port = scratch_instance.free_port()
    festinger = programs.uvicorn(HOST, port)
    command = ["benchmarks.forwarder:application" if word.endswith(":application") else word for word in festinger]
    return running("forwarder", home, port, upstream, command)


def festinger(home: Path, upstream: str, database: str, **more: str) -> AbstractContextManager[Server]:
    """Start the proxy alone, without a worker. ``more``: of its environment."""
    port = scratch_instance.free_port()
    return running(f"proxy-{port}", home, port, upstream, programs.uvicorn(HOST, port), database, **more)


def worker(home: Path, database: str, **more: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Start one that need not be ready: what it is sent waits. ``more``: of its environment."""
    [command] = [each.command for each in programs.own_programs(HOST, 1) if each.name == "worker"]
    return program(home, "worker", command, database, **more)


@contextmanager
def running(
    name: str, home: Path, port: int, upstream: str, command: list[str], database: str = "", **more: str
) -> Iterator[Server]:
    """Yield a server that listens. Raises BenchmarkBroken where it does not start."""
    started = time.monotonic()
    with program(home, name, command, database, port, upstream, **more) as process:
        if not is_listening(process, port):
            raise BenchmarkBroken(f"{name} did not start:\n{homes.log_tail(home, f'{name}.log')}")
        yield Server(port, psutil.Process(process.pid), time.monotonic() - started)


@contextmanager
def program(
    home: Path,
    name: str,
    command: list[str],
    database: str = "",
    port: int = 1,
    upstream: str = f"http://{HOST}:1",
    /,
    **more: str,
) -> Iterator[subprocess.Popen[bytes]]:
    environment = scratch_instance.environment(home, port, upstream) | ONE_PROCESS | UNBOUNDED | more
    if database:
        environment["DATABASE_URL"] = database
    scratch_instance.stop_on_signals()  # whoever is started while we ignore them would ignore them, too
    with (homes.log_folder(home) / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=homes.ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        scratch_instance.end(process)


def is_listening(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait for it. uvicorn listens once the application has started: for Festinger, when its cache is loaded."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return True
        except OSError:
            time.sleep(LOOK_AGAIN_S)
    return False


def teach(proxy: Server, facts: Sequence[str] = FACTS) -> None:
    """Raises BenchmarkBroken where one is not learned."""
    with closing(Line(proxy.port)) as line:
        for fact in facts:
            line.post("/iknowthat", {"fact": fact})
