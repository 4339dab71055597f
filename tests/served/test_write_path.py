"""From a prompt to what a worker learns of it: real server processes, and a Postgres that goes away under them."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from standin.behaviours import SKY
from tests import waiting
from tests.arrange import learn
from tests.served.postgres import OwnPostgres
from tests.served.server import Served
from tests.standin import StandIn

pytestmark = pytest.mark.slow

WITHIN_S = 60.0  # on a machine that has much else to do
eventually = partial(waiting.eventually, within_s=WITHIN_S)


@pytest.fixture(scope="module")
def own() -> Iterator[OwnPostgres]:
    with OwnPostgres() as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the servers keep their journal."""
    return tmp_path_factory.mktemp("home")


Start = Callable[[], Served]


@pytest.fixture(scope="module")
def started(own: OwnPostgres, upstream: StandIn, home: Path) -> Iterator[Start]:
    """Gives the running server; another one of the same home where that has ended."""
    servers: list[Served] = []

    def start() -> Served:
        if not servers or servers[-1].process.poll() is not None:
            servers.append(Served(upstream=upstream.url, database=own.url, FESTINGER_HOME=str(home)))
        return servers[-1].wait_ready()

    yield start
    own.thaw()
    for server in servers:
        server.stop()


@pytest.fixture
def start(own: OwnPostgres, started: Start) -> Iterator[Start]:
    """The same, with tables that hold nothing of the test before."""
    own.run("TRUNCATE heard_message, observation, seen_message")
    if own.run("SELECT to_regclass('pgmq.q_celery')") != [(None,)]:
        own.run("TRUNCATE pgmq.q_celery")
    yield started
    own.thaw()
    if not own.is_running:
        own.start()


def heard(own: OwnPostgres, word: str) -> list[str]:
    """The concepts that begin with the word, in the order in which messages that wait for a worker state something
    about them."""
    found = own.run(
        "SELECT split_part(text, ' ', 1) FROM heard_message WHERE text LIKE %s ORDER BY said_at", f"{word}%"
    )
    return [concept for (concept,) in found]


def heard_from(own: OwnPostgres) -> list[tuple[Any, ...]]:
    return own.run("SELECT role, agent, text, is_dated, attempts FROM heard_message ORDER BY id")


def observed(own: OwnPostgres, word: str) -> list[str]:
    """The concepts that begin with the word and about which something was said, one for each row."""
    found = own.run("SELECT concept FROM observation WHERE concept LIKE %s ORDER BY said_at", f"{word}%")
    return [concept for (concept,) in found]


def wake_ups(own: OwnPostgres) -> list[str]:
    """The tasks that wait for a worker."""
    if own.run("SELECT to_regclass('pgmq.q_celery')") == [(None,)]:
        return []
    return [task for (task,) in own.run("SELECT message -> 'headers' ->> 'task' FROM pgmq.q_celery")]


def journaled(home: Path) -> str:
    texts = []
    for file in sorted((home / "journal").glob("*")):
        with suppress(FileNotFoundError):  # a server has just replayed it
            texts.append(file.read_text())
    return "".join(texts)


def say(server: Served, word: str, numbers: range) -> list[str]:
    """One prompt for each number, each with its answer; the concepts they are about."""
    concepts = [f"{word}{number}" for number in numbers]
    for concept in concepts:
        assert server.chat(("user", f"Start with {concept}."), ("user", f"{concept} ISA repo.")).status_code == 200
    return concepts


def health(server: Served) -> dict[str, int]:
    report = server.client.get("/health").json()
    return {name: report[f"{name}_messages"] for name in ("unwritten", "journaled", "dropped")}


def kill(server: Served) -> None:
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()


def test_what_a_prompt_says_is_a_row_soon_and_a_worker_is_woken(own: OwnPostgres, start: Start) -> None:
    server = start()

    [concept] = say(server, "zorblat", range(1))

    assert eventually(lambda: heard(own, "zorblat") == [concept])
    assert eventually(lambda: len(heard_from(own)) == 3)
    assert heard_from(own) == [
        ("user", "anonymous@127.0.0.1", "Start with zorblat0.", True, 0),
        ("user", "anonymous@127.0.0.1", "zorblat0 ISA repo.", True, 0),
        ("assistant", "anonymous@127.0.0.1", SKY, True, 0),
    ]
    assert eventually(lambda: "resolution.tasks.learn" in wake_ups(own))
    assert health(server) == {"unwritten": 0, "journaled": 0, "dropped": 0}

    assert asyncio.run(learn(own.url)) == 3

    row = own.run("SELECT concept, parent, dimension, is_isa, role, agent, evidence, state FROM observation")
    assert row == [("zorblat0", "repo", "type", True, "user", "anonymous@127.0.0.1", "zorblat0 ISA repo.", "pending")]
    assert own.run("SELECT count(*) FROM observation JOIN seen_message USING (digest)") == [(1,)]
    assert heard(own, "zorblat") == []


def test_a_history_resent_after_a_restart_brings_no_row_twice(own: OwnPostgres, start: Start) -> None:
    said = [("user", "Begin."), *(("user", f"blorptack{number} ISA repo.") for number in range(4))]
    first = start()
    first.chat(*said)
    assert eventually(lambda: len(heard(own, "blorptack")) == 4)
    kill(first)

    second = start()  # nobody has learned from the messages yet
    second.chat(*said, ("user", "blorptack8 ISA repo."))
    assert eventually(lambda: "blorptack8" in heard(own, "blorptack"))
    assert len(heard(own, "blorptack")) == 5
    asyncio.run(learn(own.url))
    kill(second)

    third = start()
    third.chat(*said, ("user", "blorptack8 ISA repo."), ("user", "blorptack9 ISA repo."))
    assert eventually(lambda: heard(own, "blorptack") == ["blorptack9"])
    asyncio.run(learn(own.url))
    assert observed(own, "blorptack") == [f"blorptack{number}" for number in (0, 1, 2, 3, 8, 9)]


def test_a_server_that_is_killed_has_written_what_was_answered_before(
    own: OwnPostgres, start: Start, home: Path
) -> None:
    server = start()
    said = say(server, "frobnitz", range(20))

    assert eventually(lambda: heard(own, "frobnitz") == said)
    kill(server)

    assert heard(own, "frobnitz") == said
    assert journaled(home) == ""


stopped, frozen, killed = OwnPostgres.stop, OwnPostgres.freeze, OwnPostgres.kill


@pytest.mark.parametrize(
    ("away", "ending", "word"),
    [
        pytest.param(stopped, kill, "plumbus", id="stopped-kill"),
        pytest.param(frozen, Served.stop, "grumbo", id="frozen-stop"),
        pytest.param(killed, kill, "schleem", id="killed-kill"),
    ],
)
def test_what_is_said_while_postgres_is_away_is_in_the_journal_and_learned_after_a_restart(
    own: OwnPostgres,
    start: Start,
    home: Path,
    away: Callable[[OwnPostgres], None],
    ending: Callable[[Served], object],
    word: str,
) -> None:
    server = start()
    said = say(server, word, range(5))
    assert eventually(lambda: len(heard(own, word)) == 5)
    # A batch whose rows are there is written again, until its vectors are there, too.
    assert eventually(lambda: health(server)["unwritten"] == 0)

    away(own)
    said += say(server, word, range(5, 10))
    assert eventually(lambda: in_journal(home, said) == said[5:])
    ending(server)
    assert in_journal(home, said) == said[5:]
    own.thaw()
    if not own.is_running:
        own.start()

    again = start()
    assert eventually(lambda: heard(own, word) == said)
    assert eventually(lambda: journaled(home) == "")
    assert eventually(lambda: health(again) == {"unwritten": 0, "journaled": 0, "dropped": 0})
    asyncio.run(learn(own.url))
    assert observed(own, word) == said


def in_journal(home: Path, concepts: list[str]) -> list[str]:
    """Those of the concepts that it says something about."""
    lines = journaled(home)
    return [concept for concept in concepts if f'"{concept} ISA repo."' in lines]


def test_a_server_that_lives_on_writes_its_journal_when_postgres_is_back(
    own: OwnPostgres, start: Start, home: Path
) -> None:
    server = start()
    own.stop()
    said = say(server, "gadzook", range(3))
    assert eventually(lambda: health(server) == {"unwritten": 0, "journaled": 9, "dropped": 0})
    own.start()

    assert eventually(lambda: heard(own, "gadzook") == said)
    assert eventually(lambda: journaled(home) == "")
    said += say(server, "gadzook", range(3, 6))
    assert eventually(lambda: heard(own, "gadzook") == said)
