"""A ``make run`` of a test's own: real processes, a real home, a real port."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

from festinger_site import home as homes
from festinger_site.run import postgres_cluster, supervision

# Patience, on a machine that may have much else to do: the first start makes a database and loads the dictionary.
START_S = 180
STOP_S = 60


class Run:
    """One ``make run``: its process, what it said, and what belongs to it."""

    def __init__(self, home: Path, port: int, log: Path, **more: str) -> None:
        self.home, self.port, self.log = home, port, log
        with self.log.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "festinger_site.run.launch"],
                cwd=homes.ROOT,
                env=environment(home, FESTINGER_PORT=str(port), **more),
                stderr=said,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    def wait_ready(self) -> None:
        wait_until(lambda: "is ready" in self.said or self.process.poll() is not None, START_S)
        assert self.process.poll() is None, self.said

    def health(self) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/health")
            return json.load(connection.getresponse())
        finally:
            connection.close()

    def is_ready(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return bool(self.health()["ready"])
        return False

    def main_process(self, word: str) -> psutil.Process | None:
        """Return the process with this word in its command, which the launcher itself started."""
        for process in supervision.find_orphans(self.home):
            with suppress(psutil.Error):  # it ended meanwhile
                if word in process.cmdline() and process.ppid() == self.process.pid:
                    return process
        return None

    def everything(self) -> list[psutil.Process]:
        return [*supervision.find_orphans(self.home), *postgres_cluster.processes(self.home)]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(STOP_S)


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FESTINGER_", "DATABASE_URL", "MAKE"))}
    return kept | {"FESTINGER_HOME": str(home), "FESTINGER_UPSTREAM": "http://127.0.0.1:9"} | more


def wait_until(is_so, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, f"not so within {timeout_s} s"
        time.sleep(0.1)


def prompt(client: httpx.Client, word: str) -> int:
    """Says in a prompt that it is a repo; the status of the answer."""
    said = [{"role": "user", "content": f"{word} ISA repo."}]
    return client.post("/api/chat", json={"model": "llama3", "stream": False, "messages": said}).status_code


def are_known(client: httpx.Client, words: Sequence[str]) -> Callable[[], bool]:
    """True if all of them are known to be repos."""

    def ask() -> bool:
        blocks = [client.post("/recollect", json={"text": f"restart {word}"}).json()["block"] for word in words]
        return all(f"\n{word} is a repo.\n" in block for word, block in zip(words, blocks, strict=True))

    return ask
