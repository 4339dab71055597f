"""A whole Festinger: proxies and a worker as processes, with a database and a home of their own."""

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from festinger_site.dev.scratch_instance import free_port
from festinger_site.run.programs import own_programs
from tests.llm_server import LlmServer
from tests.served.postgres import OwnPostgres
from tests.served.server import PROJECT, Served
from tests.standin import NEWEST, StandIn

# How long something is waited for that comes for sure, on a machine that may have much else to do.
PATIENCE_S = 120.0
NIGHT = os.environ.get("HYPOTHESIS_PROFILE") == "night"  # what is a matter of chance is tried more often
SYSTEM = "You are a test."

EDGES = """
    SELECT c.token, p.token, d.token, urd.is_isa, round(urd.confidence::numeric, 6)::float8, urd.source
    FROM urd JOIN soas c ON c.id = urd.id JOIN soas p ON p.id = urd.parent_id JOIN soas d ON d.id = urd.dim_id
    WHERE c.token LIKE %s AND urd.id <> urd.parent_id ORDER BY 1, 3
"""
QUEUE = """
    SELECT c.token, d.token, e.token, i.token, collision_type, status
    FROM resolution_queue JOIN soas c ON c.id = concept_id JOIN soas d ON d.id = dim_id
    LEFT JOIN soas e ON e.id = existing_parent_id JOIN soas i ON i.id = incoming_parent_id
    WHERE c.token LIKE %s ORDER BY 1, 2, 4, resolution_queue.id
"""
DIMENSIONS = """
    SELECT d.token, dimension.is_isa, s.token
    FROM dimension JOIN soas d ON d.id = dimension.id LEFT JOIN soas s ON s.id = dimension.split_from_id ORDER BY 1
"""
OBSERVED = """
    SELECT concept, parent, dimension, agent, outcome FROM observation
    WHERE kind = 'triple' AND concept LIKE %s ORDER BY said_at, id
"""

# Who speaks in these tests, each with a token: without one they would be one voice, as they come from one address.
AGENTS = ("dobby", "winky", "kreacher", "harry", "hagrid")

WAITING = """
    SELECT (SELECT count(*) FROM heard_message)
        + (SELECT count(*) FROM observation WHERE kind = 'triple' AND state = 'pending')
"""

Row = tuple[Any, ...]


def token_of(agent: str) -> str:
    return "fst_" + hashlib.sha256(agent.encode()).hexdigest()


def headers_of(agent: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(agent)}"}


def register_agents(run: Callable[..., object], *agents: str) -> None:
    """``run`` executes a statement with its arguments."""
    hashes = [hashlib.sha256(token_of(agent).encode()).hexdigest() for agent in agents]
    run("INSERT INTO agent (name, token_hash) SELECT * FROM unnest(%s::text[], %s::text[])", list(agents), hashes)


def register_agent(database: str, agent: str) -> dict[str, str]:
    """Return its headers. A running server may hear of it a moment later."""
    with psycopg.connect(database, autocommit=True) as client:
        register_agents(lambda query, *values: client.execute(query, values), agent)
    return headers_of(agent)


class Festinger:
    """``name`` is that of its database; its home is made beside that of Postgres. ``start`` starts its parts: worker,
    worker1, proxy0, proxy1 ..."""

    def __init__(
        self,
        own: OwnPostgres,
        name: str,
        upstream: StandIn,
        *,
        proxies: int = 1,
        workers: int = 1,
        **environment: str,
    ) -> None:
        self.own = own
        self.database = own.copy(name)
        register_agents(self.run, *AGENTS)
        self.home = Path(tempfile.mkdtemp(prefix="festinger-learning-", dir=own.home.parent)).resolve()
        self.ports = [free_port() for _ in range(proxies)]
        self._workers = ["worker", *(f"worker{number}" for number in range(1, workers))]
        self._upstream = upstream
        self._environment = {"DATABASE_URL": self.database, "FESTINGER_HOME": str(self.home), **environment}
        self._served: dict[str, Served] = {}
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._markers = count()

    @property
    def parts(self) -> list[str]:
        return [*self._workers, *(f"proxy{number}" for number in range(len(self.ports)))]

    @property
    def proxies(self) -> list[Served]:
        return [self._served[f"proxy{number}"] for number in range(len(self.ports))]

    # --- processes ---

    def start(self, *parts: str) -> None:
        """All of them where none is named; returns when the proxies are ready."""
        names = parts or self.parts
        for name in names:
            if name.startswith("proxy"):
                self._served[name] = self._serve(self.ports[int(name.removeprefix("proxy"))])
            else:
                self._programs[name] = self._launch(name)
        for name in names:
            if name.startswith("proxy"):
                self._served[name].wait_ready()

    def start_missing(self) -> None:
        if not self.own.is_running:
            self.own.start()
        serving = {name for name, served in self._served.items() if served.process.poll() is None}
        if missing := [name for name in self.parts if name not in self._programs.keys() | serving]:
            self.start(*missing)

    @contextmanager
    def halted(self, name: str) -> Iterator[None]:
        """It does nothing meanwhile."""
        os.killpg(self._programs[name].pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._programs[name].pid, signal.SIGCONT)

    def kill(self, name: str) -> None:
        """With all its children, at once and without warning."""
        if name == "postgres":
            self.own.kill()
        elif name.startswith("proxy"):
            served = self._served.pop(name)
            served.process.kill()
            served.stop()
        else:
            program = self._programs.pop(name)
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()

    def stop(self) -> None:
        for name in [*self._programs, *self._served]:
            self.kill(name)
        shutil.rmtree(self.home, ignore_errors=True)

    def _serve(self, port: int) -> Served:
        environment = {**self._environment}
        return Served(upstream=self._upstream.url, database=environment.pop("DATABASE_URL"), port=port, **environment)

    def _launch(self, name: str) -> subprocess.Popen[bytes]:
        [program] = [
            found for found in own_programs("127.0.0.1", self.ports[0]) if found.name == name.rstrip("0123456789")
        ]
        upstream = {"FESTINGER_UPSTREAM": self._upstream.url}
        with (self.home / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                program.command,
                cwd=PROJECT,
                env=os.environ | self._environment | upstream,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _restart_ended(self) -> None:
        """What ended by itself, as the launcher does."""
        for name, program in list(self._programs.items()):
            if program.poll() is not None:
                self._programs[name] = self._launch(name)

    # --- the operator ---

    def choose(self, llm: LlmServer, *settings: str) -> None:
        """Adds the server as a language model for these settings: write_model_id, resolve_model_id."""
        columns = "provider, model_name, base_url, api_key"
        added = f"INSERT INTO models ({columns}) VALUES ('ollama', 'ollama-test', %s, '') RETURNING id"
        [(key,)] = self.run(added, llm.url_of("ollama"))
        self.run("UPDATE config SET value = %s WHERE key = ANY(%s)", str(key), list(settings))

    def run(self, statement: str, *arguments: object) -> list[Row]:
        with psycopg.connect(self.database) as client:
            cursor = client.execute(statement, arguments)
            return [] if cursor.description is None else cursor.fetchall()

    # --- agents ---

    def ask(self, *said: tuple[str, str], agent: str = "dobby", proxy: int = 0) -> list[dict[str, str]]:
        """The messages that reached the model. Its answer repeats none of them: answers are learned from, too."""
        answer = self.proxies[proxy].chat(*said, headers=headers_of(agent))
        assert answer.status_code == 200, answer.text
        # Requests whose bodies are still under way have none.
        received = reversed(self._upstream.requests(last=NEWEST))
        chats = (one.json().get("messages") for one in received if one.path == "/api/chat" and one.body)
        return next(arrived for arrived in chats if arrived and said[-1][1] in arrived[-1]["content"])

    def teach(self, fact: str, *, agent: str = "dobby", proxy: int = 0) -> Any:
        return self.proxies[proxy].client.post("/iknowthat", json={"fact": fact}, headers=headers_of(agent))

    def would_recall(self, text: str, agent: str = "") -> list[str]:
        """What each proxy would recall for the text, of this agent if one is named; nothing is counted."""
        headers = headers_of(agent) if agent else {}
        answers = [proxy.client.post("/recollect", json={"text": text}, headers=headers) for proxy in self.proxies]
        return [answer.json()["block"] for answer in answers]

    # --- waiting ---

    def wait(self, claim: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        """Until it holds. Raises AssertionError with what the worker said last."""
        deadline = time.monotonic() + patience_s
        while not claim():
            self._restart_ended()
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {patience_s:g} s\n{self.said_last()}")
            time.sleep(0.05)

    def wait_recalled(self, line: str) -> None:
        """Until every proxy would recall this line for its concept."""
        concept = line.partition(":")[0]
        self.wait(lambda: all(f"\n{line}\n" in block for block in self.would_recall(f"restart {concept}")))

    def wait_settled(self, patience_s: float = PATIENCE_S) -> None:
        """Until all is placed that was said before this."""
        for number, proxy in enumerate(self.proxies):
            marker = f"marker{next(self._markers)}"
            self.ask(("system", SYSTEM), ("user", f"{marker} ISA repo."), proxy=number)  # read after all before it
            self.wait(lambda marker=marker: self.observed(marker), patience_s)  # type: ignore[misc]
            self.wait(lambda proxy=proxy: is_written(proxy), patience_s)  # type: ignore[misc]
        self.wait(lambda: self.run(WAITING) == [(0,)], patience_s)

    def resolve(self) -> dict[str, Any]:
        """A run of the resolver, asked for over HTTP; what is told of it at its end."""
        client = self.proxies[0].client
        asked = client.post("/resolve/run")
        assert asked.status_code == 202, asked.text
        report: dict[str, Any] = {}

        def is_over() -> bool:
            report.update(client.get(f"/resolve/runs/{asked.json()['run']}").json())
            return bool(report["status"] != "running")

        self.wait(is_over)
        return report

    def said_last(self) -> str:
        said = {log.stem: log.read_text(errors="replace") for log in sorted(self.home.glob("*.log"))}
        said |= {name: served.read_errors() for name, served in self._served.items()}
        return "\n".join(f"--- {name}\n{text[-3000:]}" for name, text in said.items())

    # --- what is stored, of the concepts that begin with a word ---

    def edges(self, word: str = "") -> list[Row]:
        """Concept, parent, dimension, is_isa, confidence, source."""
        return self.run(EDGES, f"{word}%")

    def queue(self, word: str = "") -> list[Row]:
        """Concept, dimension, existing and incoming parent, type, status."""
        return self.run(QUEUE, f"{word}%")

    def dimensions(self) -> list[Row]:
        """Dimension, is_isa, and which one it was split from."""
        return self.run(DIMENSIONS)

    def observed(self, word: str = "") -> list[Row]:
        """Concept, parent, dimension, agent, outcome."""
        return self.run(OBSERVED, f"{word}%")


@contextmanager
def festinger(
    own: OwnPostgres, name: str, upstream: StandIn, *, proxies: int = 1, workers: int = 1, **environment: str
) -> Iterator[Festinger]:
    """All of it, running."""
    if not own.is_running:  # a test that failed may have left it so
        own.start()
    whole = Festinger(own, name, upstream, proxies=proxies, workers=workers, **environment)
    try:
        whole.start_missing()
        yield whole
    finally:
        whole.stop()


class Conversation:
    """As a client has it, which resends all of it at every turn."""

    def __init__(self, whole: Festinger, *, agent: str = "dobby", proxy: int = 0) -> None:
        self._whole = whole
        self._from = {"agent": agent, "proxy": proxy}
        self.said: list[tuple[str, str]] = [("system", SYSTEM)]

    def say(self, text: str) -> dict[int, str]:
        """The recollections that came with it to the model, by the index of the message: before the system's text, or
        after what another says."""
        self.said += [("user", text), ("assistant", "Yes.")]
        return self.resend()

    def resend(self) -> dict[int, str]:
        """The last turn again."""
        asked = self.said[:-1]
        arrived = self._whole.ask(*asked, **self._from)  # type: ignore[arg-type]
        assert [message["role"] for message in arrived] == [role for role, _ in asked]
        contents = [message["content"] for message in arrived]
        pairs = enumerate(zip(asked, contents, strict=True))
        return {index: added(said, content) for index, (said, content) in pairs if content != said[1]}


def added(said: tuple[str, str], content: str) -> str:
    """What was put into one message: before its text if it is the system's, after any other's."""
    role, text = said
    if role == "system":
        assert content.endswith("\n\n" + text)
        return content.removesuffix("\n\n" + text)
    assert content.startswith(text + "\n\n")
    return content.removeprefix(text + "\n\n")


def is_written(proxy: Served) -> bool:
    """Whether all that it has heard is in the table."""
    report = proxy.client.get("/health").json()
    return report["unwritten_messages"] == report["journaled_messages"] == 0


def block(*lines: str) -> str:
    return "\n".join(["<recollection>", *lines, "</recollection>"])
