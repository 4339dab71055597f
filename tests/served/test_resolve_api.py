"""Deciding, undoing and running the resolver over HTTP: with a real server, a real worker and a local server in the
language model's place."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import psycopg
import pytest

from festinger_site.run.programs import own_programs
from tests import waiting
from tests.llm_server import LlmServer
from tests.served.postgres import OwnPostgres
from tests.served.server import PROJECT, Served, manage
from tests.served.test_conflicts import dispute, teach
from tests.standin import StandIn

WITHIN_S = 60.0
eventually = partial(waiting.eventually, within_s=WITHIN_S)
QUIET = subprocess.DEVNULL
FROM_ELSEWHERE = {"X-Forwarded-For": "192.0.2.1"}  # so that being on this machine does not count


def post(server: Served, path: str, **content: Any) -> httpx.Response:
    return server.client.post(path, json=content, headers={"X-Festinger-Agent": "hermione"})


def resolve(server: Served, conflict_id: int, decision: str, **more: Any) -> Any:
    answer = post(server, f"/conflicts/{conflict_id}/resolve", decision=decision, **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def prompted(server: Served, ollama: StandIn, concept: str) -> str:
    """The concept's line in the recollection of a new conversation's first prompt."""
    server.chat(("system", "S"), ("user", f"restart {concept}"), ("user", str(time.monotonic_ns())))
    chats = [request.json() for request in ollama.requests() if request.path == "/api/chat"]
    last = chats[-1]["messages"][-1]
    [line] = [line for line in last["content"].splitlines() if line.startswith(f"{concept}:")]
    return line


# --- decisions ---


@pytest.mark.parametrize(
    ("concept", "decision", "shown"),
    [
        ("yonghy", {"decision": "update"}, {"[type] container"}),
        ("bonghy", {"decision": "dismiss"}, {"[type] repo"}),
        (
            "discobbolo",
            {"decision": "decompose", "existing_dimension": "artifact-type", "new_dimension": "deployment-type"},
            {"[artifact-type] repo", "[deployment-type] container"},
        ),
        (
            "tinkley",
            {"decision": "relocate", "dimension": "runs-on", "is_isa": False},
            {"[type] repo", "[runs-on] container"},
        ),
    ],
)
def test_the_prompt_after_a_decision_shows_it(
    server: Served, ollama: StandIn, concept: str, decision: dict[str, Any], shown: set[str]
) -> None:
    conflict_id = dispute(server, concept)
    assert prompted(server, ollama, concept) == f"{concept}: [type?] repo | container — conflict pending"

    answer = resolve(server, conflict_id, reason="so it is", **decision)

    line = prompted(server, ollama, concept)
    assert {f"[{part}" for part in line.removeprefix(f"{concept}: [").split(" [")} == shown
    told, conflict = answer["decision"], answer["conflict"]
    assert (told["kind"], told["actor"], told["source"], told["reason"], told["undone"]) == (
        decision["decision"],
        "loopback",
        "operator",
        "so it is",
        False,
    )
    assert conflict["status"] == ("dismissed" if decision["decision"] == "dismiss" else "resolved")
    assert conflict["members"][-1]["decisions"] == [told]


def test_a_conflict_is_decided_once(server: Served) -> None:
    conflict_id = dispute(server, "twangum")
    resolve(server, conflict_id, "update")

    again = post(server, f"/conflicts/{conflict_id}/dismiss", reason="no")

    assert again.status_code == 409
    assert again.json() == {
        "error": f"Conflict {conflict_id} was already decided by loopback: new fact replaces existing."
    }


def test_what_joins_after_a_conflict_was_seen_stays_open(server: Served) -> None:
    conflict_id = dispute(server, "quangle")
    shown = server.client.get(f"/conflicts/{conflict_id}").json()
    claim = shown["members"][-1]["id"]
    teach(server, "quangle -isa hat", "dobby")

    stale = post(server, f"/conflicts/{conflict_id}/resolve", action="dismiss", seen=shown["seen"])
    answer = resolve(server, conflict_id, "update", member_id=claim, seen=shown["seen"])

    assert (stale.status_code, answer["conflict"]["status"]) == (409, "open")
    assert [one["status"] for one in answer["conflict"]["members"] if one["kind"] == "claim"] == ["resolved", "pending"]


def test_a_place_that_is_taken_is_a_clash(server: Served) -> None:
    conflict_id = dispute(server, "ploffskin")
    teach(server, "ploffskin -isa dance in context of art", "dobby")

    refused = post(server, f"/conflicts/{conflict_id}/resolve", decision="relocate", dimension="art")

    assert refused.status_code == 409
    assert "taken" in refused.json()["error"]


@pytest.mark.parametrize(
    ("decision", "named"),
    [
        ({}, "decision"),
        ({"decision": "ignore"}, "decision"),
        ({"decision": "decompose", "new_dimension": "a"}, "existing_dimension"),
        ({"decision": "decompose", "existing_dimension": "same", "new_dimension": "same"}, "same"),
        ({"decision": "relocate"}, "dimension"),
        ({"decision": "relocate", "dimension": "a\x00b"}, "dimension"),
        ({"decision": "relocate", "dimension": "the"}, "dimension"),
        ({"decision": "relocate", "dimension": "\ud800"}, "dimension"),
        ({"decision": "relocate", "dimension": "type"}, "type is where it collided"),
        ({"decision": "relocate", "dimension": "repo"}, "the dispute is about it"),
        ({"decision": "relocate", "dimension": "runs-on", "is_isa": "perhaps"}, "is_isa"),
        ({"decision": "update", "reason": "x" * 2001}, "reason"),
        ({"decision": "update", "reason": 7}, "reason"),
    ],
)
def test_a_decision_that_cannot_be_is_refused_and_changes_nothing(
    server: Served, decision: dict[str, Any], named: str
) -> None:
    conflict_id = dispute(server, "pluffskin")

    refused = server.client.post(f"/conflicts/{conflict_id}/resolve", content=json.dumps(decision))

    assert refused.status_code == 422
    assert named in refused.json()["error"]
    assert server.client.get(f"/conflicts/{conflict_id}").json()["status"] == "open"


def test_a_body_that_is_no_json_is_refused(server: Served) -> None:
    refused = server.client.post(f"/conflicts/{dispute(server, 'jibberish')}/resolve", content=b"{update")

    assert (refused.status_code, list(refused.json())) == (400, ["error"])


@pytest.mark.parametrize("body", [b"[]", b'"a typo"', b"5", b"true"])
@pytest.mark.parametrize("path", ["/conflicts/{}/resolve", "/conflicts/{}/dismiss", "/resolve/run"])
def test_a_body_that_is_no_object_decides_nothing(server: Served, path: str, body: bytes) -> None:
    conflict_id = dispute(server, "wrackspurt")

    refused = server.client.post(path.format(conflict_id), content=body)

    assert (refused.status_code, "dictionary" in refused.json()["error"]) == (422, True), refused.text
    assert server.client.get(f"/conflicts/{conflict_id}").json()["status"] == "open"


@pytest.mark.parametrize(
    "path",
    [
        "/conflicts/{}/resolve",
        "/conflicts/{}/dismiss",
        "/conflicts/{}/approve",
        "/decisions/{}/undo",
        "/resolve/runs/{}/undo",
    ],
)
@pytest.mark.parametrize(("key", "status"), [("0", 404), ("9" * 30, 404), ("seven", 422), ("-1", 404)])
def test_what_is_not_there_cannot_be_decided(server: Served, path: str, key: str, status: int) -> None:
    body = {"decision": "update"} if path.endswith("/resolve") else {}

    answer = post(server, path.format(key), **body)

    assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_a_decision_is_undone_once(server: Served, ollama: StandIn) -> None:
    conflict_id = dispute(server, "torrible")
    decision_id = resolve(server, conflict_id, "update")["decision"]["id"]
    assert prompted(server, ollama, "torrible") == "torrible: [type] container"

    undone = post(server, f"/decisions/{decision_id}/undo", reason="a mistake")
    again = post(server, f"/decisions/{decision_id}/undo")

    assert prompted(server, ollama, "torrible") == "torrible: [type?] repo | container — conflict pending"
    told = undone.json()
    assert (undone.status_code, told["decision"]["undoes"], told["decision"]["reason"]) == (
        200,
        decision_id,
        "a mistake",
    )
    assert told["conflict"]["status"] == "open"
    assert [(one["kind"], one["undone"]) for one in told["conflict"]["members"][-1]["decisions"]] == [
        ("update", True),
        ("undo", False),
    ]
    assert (again.status_code, "already undone" in again.json()["error"]) == (409, True)


def test_what_was_proposed_is_approved(server: Served, database: str) -> None:
    conflict_id = dispute(server, "timballoo")
    early = post(server, f"/conflicts/{conflict_id}/approve")
    with psycopg.connect(database, autocommit=True) as client:
        proposal = json.dumps({"decision": "update", "reason": "it moved", "model": "llama3"})
        client.execute(
            "UPDATE resolution_queue SET status = 'proposed', proposal = %s WHERE conflict_id = %s",
            [proposal, conflict_id],
        )

    shown = server.client.get(f"/conflicts/{conflict_id}").json()
    done = post(server, f"/conflicts/{conflict_id}/approve")

    assert (early.status_code, "Nothing is proposed" in early.json()["error"]) == (409, True)
    claim = shown["members"][-1]
    assert (shown["status"], claim["status"], claim["proposal"]["reason"]) == ("open", "proposed", "it moved")
    assert (done.status_code, done.json()["decision"]["kind"]) == (200, "update")
    lost, won = done.json()["conflict"]["members"]
    assert (lost["parent"], lost["superseded_by"]) == ("repo", {"kind": "claim", "id": won["id"]})
    assert (won["kind"], won["parent"], won["existing"]["parent"]) == ("claim", "container", "repo")


# --- who may ---


@pytest.fixture(scope="module")
def elsewhere(tokens: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return what a client on another machine sends, by the scope of its token."""
    return {scope: FROM_ELSEWHERE | {"Authorization": f"Bearer {token}"} for scope, token in tokens.items()}


def test_who_may_not_decide_is_told_which_token_would_do(server: Served, elsewhere: dict[str, dict[str, str]]) -> None:
    for headers in (FROM_ELSEWHERE, elsewhere["agent"]):
        assert "--scope operator" in server.client.post("/resolve/run", headers=headers).json()["error"]


def test_an_operators_token_decides_in_its_name(server: Served, elsewhere: dict[str, dict[str, str]]) -> None:
    conflict_id = dispute(server, "zemmery")

    done = server.client.post(f"/conflicts/{conflict_id}/dismiss", headers=elsewhere["operator"])

    assert (done.status_code, done.json()["decision"]["actor"]) == (200, "operator of served")


# --- runs, on a database of their own: a worker takes whatever it finds ---


@pytest.fixture(scope="module")
def own() -> Iterator[OwnPostgres]:
    with OwnPostgres() as running:
        yield running


@pytest.fixture(scope="module")
def served(own: OwnPostgres, upstream: StandIn) -> Iterator[Served]:
    served = Served(upstream=upstream.url, database=own.url, FESTINGER_HOME=str(own.home)).wait_ready()
    yield served
    served.stop()


class Worker:
    """A Celery worker, as it is started everywhere."""

    def __init__(self, own: OwnPostgres) -> None:
        self._environment = os.environ | {"DATABASE_URL": own.url, "FESTINGER_HOME": str(own.home)}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Unless it runs already."""
        if self._process is None:
            [command] = [found.command for found in own_programs("127.0.0.1", 0) if found.name == "worker"]
            self._process = subprocess.Popen(
                command, cwd=PROJECT, env=self._environment, stdout=QUIET, stderr=QUIET, start_new_session=True
            )

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def only_worker(own: OwnPostgres, served: Served) -> Iterator[Worker]:
    made = Worker(own)
    yield made
    made.kill()


@pytest.fixture
def worker(only_worker: Worker) -> None:
    only_worker.start()


@pytest.fixture
def no_worker(only_worker: Worker) -> None:
    only_worker.kill()


@pytest.fixture
def model(own: OwnPostgres) -> Iterator[LlmServer]:
    """Decides the conflicts, as long as the test runs."""
    with LlmServer() as llm:
        address = ["--base-url", llm.url_of("ollama")]
        manage("add_model", "ollama", "judge", *address, "--resolve", DATABASE_URL=own.url)
        yield llm
    own.run("UPDATE config SET value = '' WHERE key = 'resolve_model_id'")


def ended(server: Served, run_id: int) -> Any:
    run = server.client.get(f"/resolve/runs/{run_id}").json()
    return run if run["status"] != "running" else None


def start_run(server: Served) -> int:
    answer = post(server, "/resolve/run")
    assert answer.status_code == 202, answer.text
    return int(answer.json()["run"])


@pytest.mark.usefixtures("no_worker")
def test_a_run_waits_for_a_worker_and_another_does_not_start_beside_it(own: OwnPostgres, served: Served) -> None:
    run_id = start_run(served)

    again = post(served, "/resolve/run")

    assert (again.status_code, again.json()["run"]) == (409, run_id)
    assert "running already" in again.json()["error"]
    run = served.client.get(f"/resolve/runs/{run_id}").json()
    assert (run["status"], run["trigger"], run["actor"], run["ended_at"]) == ("running", "api", "loopback", None)
    own.run("UPDATE run SET status = 'done', ended_at = now()")


def last_run(served: Served) -> tuple[int, str]:
    """As /health says: its id and its status."""
    run = served.client.get("/health").json()["last_resolution_run"] or {}
    return run.get("id", 0), run.get("status", "")


@pytest.mark.usefixtures("worker")
def test_without_a_model_a_run_is_skipped_and_everything_says_so(served: Served) -> None:
    dispute(served, "fizzgiggious")

    run_id = start_run(served)
    run = eventually(lambda: ended(served, run_id))

    assert run is not None
    assert (run["status"], run["seen"], run["decisions"]) == ("skipped", 0, [])
    assert run["note"].startswith("no model")

    def is_told() -> bool:
        last, status = last_run(served)  # which may be the night's, later
        return last >= run["id"] and status == "skipped"

    assert eventually(is_told)  # asked for once a second at most
    health = served.client.get("/health").json()
    assert health["models"]["resolve"].startswith("none: No language model resolves conflicts")
    assert health["models"]["detective"].startswith("none: No language model reads project histories")


@pytest.mark.usefixtures("worker")
def test_a_run_decides_and_is_undone(own: OwnPostgres, served: Served, model: LlmServer, ollama: StandIn) -> None:
    concepts = ["jabber", "wock"]
    for concept in concepts:
        dispute(served, concept)
    # As if prompts had stated what is known: what gutask states is taken out by people only.
    own.run("UPDATE urd SET channel = 'user' WHERE source = 'gutask'")
    update = {"reasoning": "it moved", "decision": "update", "existing_dimension": "", "new_dimension": ""}
    model.answers_by(lambda asked: update)

    run_id = start_run(served)
    run = eventually(lambda: ended(served, run_id))

    assert run is not None
    assert (run["status"], run["model"], run["seen"], run["total"]) == ("done", "judge", run["total"], run["seen"])
    assert (run["counts"], run["input_tokens"] > 0) == ({"update": run["seen"]}, True)
    assert {decision["kind"] for decision in run["decisions"]} == {"update"}
    assert [prompted(served, ollama, concept) for concept in concepts] == [
        f"{concept}: [type] container" for concept in concepts
    ]
    assert served.client.get("/health").json()["models"]["resolve"] == "ollama judge"

    undone = post(served, f"/resolve/runs/{run_id}/undo", reason="all wrong").json()

    assert [prompted(served, ollama, concept) for concept in concepts] == [
        f"{concept}: [type?] repo | container — conflict pending" for concept in concepts
    ]
    assert len(undone["undone"]) == run["seen"]
    assert undone["refused"] == []
    assert [one["id"] for one in served.client.get("/resolve/runs", params={"limit": 1}).json()["items"]] == [run_id]


# --- health ---


@pytest.mark.usefixtures("no_worker")
def test_health_counts_what_waits(own: OwnPostgres, served: Served) -> None:
    before = served.client.get("/health").json()
    dispute(served, "coromandel")
    served.chat(("user", "Begin."), ("user", "mome ISA rath."))

    after = eventually(
        lambda: (
            report
            if (report := served.client.get("/health").json())["waiting_messages"] > before["waiting_messages"]
            else None
        )
    )

    assert after is not None
    assert after["open_conflicts_count"] == before["open_conflicts_count"] + 1
    assert "open_conflicts_count" not in after["database"]


def test_while_postgres_is_away_it_is_told(own: OwnPostgres, served: Served) -> None:
    own.stop()
    try:
        answers = [served.client.get("/conflicts"), post(served, "/conflicts/1/dismiss"), post(served, "/resolve/run")]
        assert eventually(lambda: not served.client.get("/health").json()["database"]["reachable"])
        health = served.client.get("/health").json()
    finally:
        own.start()

    assert [answer.status_code for answer in answers] == [503] * 3
    assert all("database" in answer.json()["error"] for answer in answers)
    assert (health["open_conflicts_count"], health["last_resolution_run"], health["models"]) == (None, None, None)
