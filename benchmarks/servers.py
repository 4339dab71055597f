"""What is measured, each a process of its own on a free port: Festinger as ``make run`` starts it, the bare
forwarder, and the mock model server behind both."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
    name: str
    port: int
    process: psutil.Process

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
    with model() as mock, forwarder(home, mock) as bare, festinger(home, mock) as proxy:
        teach(proxy)
        yield Servers(mock, bare, proxy)


@contextmanager
def model() -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.model", str(port)]
    with running("model", port, command, os.environ) as server:
        yield server


@contextmanager
def forwarder(home: Path, upstream: Server) -> Iterator[Server]:
    port = free_port()
    command = ["benchmarks.forwarder:application" if ":" in word else word for word in programs.uvicorn(HOST, port)]
    settings = environment(home, FORWARDER_UPSTREAM=f"http://{HOST}:{upstream.port}")
    with running("forwarder", port, command, settings) as server:
        yield server


@contextmanager
def festinger(home: Path, upstream: Server) -> Iterator[Server]:
    port = free_port()
    settings = environment(home, FESTINGER_UPSTREAM=f"http://{HOST}:{upstream.port}", FESTINGER_PORT=str(port))
    with (
        (homes.log_folder(home) / "proxy.log").open("ab") as log,
        running("festinger", port, programs.uvicorn(HOST, port), settings, log.fileno()) as server,
    ):
        yield server


@contextmanager
def running(
    name: str, port: int, command: list[str], settings: Mapping[str, str], log: int | None = None
) -> Iterator[Server]:
    """``log``: a file descriptor for what it says on stderr; None leaves it on ours."""
    process = subprocess.Popen(command, cwd=homes.PROJECT, env=settings, stderr=log)
    try:
        wait_listening(name, process, port)
        yield Server(name, port, psutil.Process(process.pid))
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_listening(name: str, process: subprocess.Popen[bytes], port: int) -> None:
    """uvicorn listens once the application has started: for Festinger, when its cache is loaded."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise BenchmarkBroken(f"{name} did not start")


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
