"""What is measured, each a process of its own on a free port: Festinger as ``make run`` starts it, the bare
forwarder, and the mock model server behind both."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.client import HOST, BenchmarkBroken
from benchmarks.prompts import FACTS
from festinger_site import home as homes
from festinger_site import programs, scratch

READY_S = 30


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    process: psutil.Process

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def cpu_s(self) -> float:
        """Processor seconds used since its start; the kernel counts in hundredths."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@dataclass(frozen=True, slots=True)
class Servers:
    model: Server
    forwarder: Server
    festinger: Server


@contextmanager
def servers(home: Path) -> Iterator[Servers]:
    """All three, ready, with the five facts taught."""
    with model(home) as mock, forwarder(home, mock.url) as bare, festinger(home, mock.url) as proxy:
        teach(proxy)
        yield Servers(mock, bare, proxy)


def model(home: Path) -> AbstractContextManager[Server]:
    port = scratch.free_port()
    return running("model", home, port, "", [sys.executable, "-m", "benchmarks.model", str(port)])


def forwarder(home: Path, upstream: str) -> AbstractContextManager[Server]:
    port = scratch.free_port()
    festinger = programs.uvicorn(HOST, port)
    command = ["benchmarks.forwarder:application" if word.endswith(":application") else word for word in festinger]
    return running("forwarder", home, port, upstream, command)


def festinger(home: Path, upstream: str) -> AbstractContextManager[Server]:
    port = scratch.free_port()
    return running("proxy", home, port, upstream, programs.uvicorn(HOST, port))


@contextmanager
def running(name: str, home: Path, port: int, upstream: str, command: list[str]) -> Iterator[Server]:
    """Raises BenchmarkBroken where it does not start."""
    with (homes.log_folder(home) / f"{name}.log").open("ab") as log:
        environment = scratch.environment(home, port, upstream)
        process = subprocess.Popen(command, cwd=homes.PROJECT, env=environment, stderr=log, start_new_session=True)
    try:
        if not is_listening(process, port):
            raise BenchmarkBroken(f"{name} did not start:\n{homes.log_tail(home, f'{name}.log')}")
        yield Server(port, psutil.Process(process.pid))
    finally:
        scratch.end(process)


def is_listening(process: subprocess.Popen[bytes], port: int) -> bool:
    """Waits for it. uvicorn listens once the application has started: for Festinger, when its cache is loaded."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def teach(proxy: Server) -> None:
    connection = http.client.HTTPConnection(HOST, proxy.port, timeout=READY_S)
    for fact in FACTS:
        connection.request("POST", "/iknowthat", json.dumps({"fact": fact}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status not in (200, 201):
            raise BenchmarkBroken(f"{fact!r} was not learned: {answer.status} {content[:200]!r}")
    connection.close()
