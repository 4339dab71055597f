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

from benchmarks.client import BenchmarkBroken
from benchmarks.prompts import FACTS
from benchmarks.scratch import environment
from festinger_site import home as homes
from festinger_site import programs

HOST = "127.0.0.1"
READY_S = 30
STOP_S = 10


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
    with model(home) as mock, forwarder(home, mock) as bare, festinger(home, mock) as proxy:
        teach(proxy)
        yield Servers(mock, bare, proxy)


def model(home: Path) -> AbstractContextManager[Server]:
    port = free_port()
    return running(home, "model", port, [sys.executable, "-m", "benchmarks.model", str(port)])


def forwarder(home: Path, upstream: Server) -> AbstractContextManager[Server]:
    port = free_port()
    command = ["benchmarks.forwarder:application" if ":" in word else word for word in programs.uvicorn(HOST, port)]
    return running(home, "forwarder", port, command, FORWARDER_UPSTREAM=upstream.url)


def festinger(home: Path, upstream: Server) -> AbstractContextManager[Server]:
    port = free_port()
    return running(home, "proxy", port, programs.uvicorn(HOST, port), FESTINGER_UPSTREAM=upstream.url)


@contextmanager
def running(home: Path, name: str, port: int, command: list[str], **settings: str) -> Iterator[Server]:
    """Raises BenchmarkBroken where it does not start."""
    with (homes.log_folder(home) / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=homes.PROJECT, env=environment(home, **settings), stderr=log)
    try:
        wait_listening(home, name, process, port)
        yield Server(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_listening(home: Path, name: str, process: subprocess.Popen[bytes], port: int) -> None:
    """uvicorn listens once the application has started: for Festinger, when its cache is loaded."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise BenchmarkBroken(f"{name} did not start:\n{homes.log_tail(home, f'{name}.log')}")


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def teach(proxy: Server) -> None:
    connection = http.client.HTTPConnection(HOST, proxy.port, timeout=READY_S)
    for fact in FACTS:
        connection.request("POST", "/iknowthat", json.dumps({"fact": fact}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status not in (200, 201):
            raise BenchmarkBroken(f"{fact!r} was not learned: {answer.status} {content[:200]!r}")
    connection.close()
