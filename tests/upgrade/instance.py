"""A server, a worker and a Postgres of one home, each stopped and started by itself."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import psycopg

from festinger_site import home as homes
from festinger_site.run import postgres_cluster
from festinger_site.run.programs import own_programs
from tests.launched import wait_until
from tests.prepared_postgres import embedded_url
from tests.served.server import PROJECT, Served, manage

SETTLED_S = 180.0
MODEL = "llama3"
# Rows that a worker has yet to process.
PENDING = """
    SELECT (SELECT count(*) FROM heard_message)
        + (SELECT count(*) FROM observation WHERE state = 'pending')
        + (SELECT count(*) FROM episode WHERE read_at IS NULL)
        + (SELECT count(*) FROM pending_embedding)
"""
Turns = Iterable[tuple[str, str]]


class Instance:
    """What runs from a home that was started once. ``tokens`` are those of its agents, by name."""

    def __init__(self, home: Path, upstream: str) -> None:
        self.home = home
        self.url = embedded_url(home, homes.DATABASE)
        self.tokens: dict[str, str] = {}
        self._upstream = upstream
        self._environment = {"DATABASE_URL": self.url, "FESTINGER_HOME": str(home), "FESTINGER_UPSTREAM": upstream}
        self._postgres: subprocess.Popen[bytes] | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._server: Served | None = None

    def start_postgres(self) -> None:
        self._postgres = postgres_cluster.start(self.home)

    def stop_postgres(self) -> None:
        postgres_cluster.stop(self.home)
        if self._postgres is not None:
            self._postgres.wait()

    def start_server(self) -> None:
        server = Served(
            upstream=self._upstream, database=self.url, FESTINGER_HOME=str(self.home), FESTINGER_TRUST_LOOPBACK="agent"
        )
        self._server = server.wait_ready()

    def stop_server(self) -> None:
        if self._server is not None:
            self._server.stop()
        self._server = None

    def start_worker(self) -> None:
        [command] = [each.command for each in own_programs("127.0.0.1", self.server.port) if each.name == "worker"]
        with (homes.log_folder(self.home) / "worker.log").open("ab") as log:
            self._worker = subprocess.Popen(
                command, cwd=PROJECT, env=os.environ | self._environment, stdout=log, stderr=log
            )

    def stop_worker(self) -> None:
        if self._worker is not None:
            self._worker.terminate()
            self._worker.wait()
        self._worker = None

    def stop(self) -> None:
        self.stop_worker()
        self.stop_server()
        self.stop_postgres()

    @property
    def server(self) -> Served:
        assert self._server is not None
        return self._server

    # --- what people and agents do ---

    def headers(self, agent: str, **more: str) -> dict[str, str]:
        own = (
            {"Authorization": f"Bearer {self.tokens[agent]}"} if agent in self.tokens else {"X-Festinger-Agent": agent}
        )
        return own | {name.replace("_", "-"): value for name, value in more.items()}

    def chat(self, agent: str, *turns: tuple[str, str], **headers: str) -> httpx.Response:
        """Send a prompt; ``headers`` have underscores for hyphens."""
        answer = self.server.chat(("system", "You help."), *turns, model=MODEL, headers=self.headers(agent, **headers))
        assert answer.status_code == 200, answer.text
        return answer

    def say(self, agent: str, text: str, **headers: str) -> None:
        self.chat(agent, ("user", text), **headers)

    def post(self, agent: str, path: str, **body: Any) -> dict[str, Any]:
        answer = self.server.client.post(path, json=body, headers=self.headers(agent))
        assert answer.is_success, f"{path} {body}: {answer.text}"
        return dict(answer.json())

    def teach(self, agent: str, fact: str) -> dict[str, Any]:
        return self.post(agent, "/iknowthat", fact=fact)

    def get(self, agent: str, path: str, **query: Any) -> dict[str, Any]:
        answer = self.server.client.get(path, params=query, headers=self.headers(agent))
        assert answer.is_success, f"{path} {query}: {answer.text}"
        return dict(answer.json())

    def manage(self, *words: str, stdin: str | None = None) -> str:
        try:
            return manage(*words, stdin=stdin, **self._environment).stdout
        except subprocess.CalledProcessError as error:
            raise AssertionError(error.stderr) from error

    # --- waiting ---

    def settle(self) -> None:
        """Wait until everything that was said is stored and processed."""
        wait_until(lambda: self.count_unwritten() == 0, SETTLED_S)
        with psycopg.connect(self.url, autocommit=True) as connection:
            wait_until(lambda: connection.execute(PENDING).fetchone() == (0,), SETTLED_S)

    def count_unwritten(self) -> int:
        """Messages that the server has not stored in Postgres."""
        health = self.server.client.get("/health").json()
        return int(health["unwritten_messages"] + health["journaled_messages"])
