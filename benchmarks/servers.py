"""Starts what is measured, each a process of its own on a free port: Festinger as ``make run`` starts it, the bare
forwarder, and the mock model server behind both."""

import http.client
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.client import HOST, BenchmarkBroken
from benchmarks.database import fresh
from benchmarks.prompts import FACTS
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import programs

READY_S = 180  # a large world takes its time
LOOK_AGAIN_S = 0.01
LOG_LINES = 30
ONE_PROCESS = {"FESTINGER_WORKERS": "1"}
UNBOUNDED = {"DJANGO_SETTINGS_MODULE": "tests.unbounded"}
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """``ready_s``: from its start until it listened."""

    port: int
    process: psutil.Process
    log: Path
    ready_s: float

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def cpu_s(self) -> float:
        """Processor seconds used since its start; the kernel counts in hundredths."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def rss_mb(self) -> float:
        return float(self.process.memory_info().rss / MEGABYTE)

    def complaints(self) -> str:
        """The last lines of its log that are no matter of course."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if " INFO " not in line][-LOG_LINES:])

    def logged(self, event: str, fact: str) -> float:
        """The number that the last such line of the log has. Raises BenchmarkBroken where there is none."""
        found = re.findall(rf" {re.escape(event)} .*?\b{fact}=(\d+)", self.log.read_text(errors="replace"))
        if not found:
            raise BenchmarkBroken(f"{self.log} has no {event} with {fact}")
        return float(found[-1])


@dataclass(frozen=True, slots=True)
class Servers:
    """``database``: Festinger's address of it."""

    model: Server
    forwarder: Server
    festinger: Server
    database: str


@contextmanager
def servers(home: Path, **more: str) -> Iterator[Servers]:
    """All three, ready, with the five facts taught and nothing else known. ``more``: of Festinger's environment."""
    database = fresh(home)
    with model(home) as mock, forwarder(home, mock.url) as bare, festinger(home, mock.url, database, **more) as proxy:
        teach(proxy)
        yield Servers(mock, bare, proxy, database)


def model(home: Path) -> AbstractContextManager[Server]:
    port = scratch_instance.free_port()
    return running("model", home, port, "", [sys.executable, "-m", "benchmarks.model", str(port)])


def forwarder(home: Path, upstream: str) -> AbstractContextManager[Server]:
    port = scratch_instance.free_port()
    festinger = programs.uvicorn(HOST, port)
    command = ["benchmarks.forwarder:application" if word.endswith(":application") else word for word in festinger]
    return running("forwarder", home, port, upstream, command)


def festinger(home: Path, upstream: str, database: str, **more: str) -> AbstractContextManager[Server]:
    """``more``: of its environment."""
    port = scratch_instance.free_port()
    command = programs.uvicorn(HOST, port)
    return running(f"proxy-{port}", home, port, upstream, command, database, **more)


@contextmanager
def running(
    name: str, home: Path, port: int, upstream: str, command: list[str], database: str = "", **more: str
) -> Iterator[Server]:
    """Raises BenchmarkBroken where it does not start."""
    log = homes.log_folder(home) / f"{name}.log"
    environment = scratch_instance.environment(home, port, upstream) | ONE_PROCESS | UNBOUNDED | more
    if database:
        environment["DATABASE_URL"] = database
    scratch_instance.stop_on_signals()  # whoever is started while we ignore them would ignore them, too
    started = time.monotonic()
    with log.open("ab") as errors:
        process = subprocess.Popen(
            command, cwd=homes.PROJECT, env=environment, stdout=errors, stderr=errors, start_new_session=True
        )
    try:
        if not is_listening(process, port):
            raise BenchmarkBroken(f"{name} did not start:\n{homes.log_tail(home, log.name)}")
        yield Server(port, psutil.Process(process.pid), log, time.monotonic() - started)
    finally:
        scratch_instance.end(process)


def is_listening(process: subprocess.Popen[bytes], port: int) -> bool:
    """Waits for it. uvicorn listens once the application has started: for Festinger, when its cache is loaded."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return True
        except OSError:
            time.sleep(LOOK_AGAIN_S)
    return False


def teach(proxy: Server, facts: Sequence[str] = FACTS) -> None:
    connection = http.client.HTTPConnection(HOST, proxy.port, timeout=READY_S)
    for fact in facts:
        connection.request("POST", "/iknowthat", json.dumps({"fact": fact}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status not in (200, 201):
            raise BenchmarkBroken(f"{fact!r} was not learned: {answer.status} {content[:200]!r}")
    connection.close()
