"""``kill -9`` at random moments of a load: what was answered a second before, or got a 2xx, is never lost and never
doubled. Real processes, on a Postgres that writes through to the disk."""

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

import httpx
import pytest

from memory.domain.statement import decode
from tests.served.learning import Festinger, festinger
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

SAFE_S = 3.0  # after its answer, what a prompt states is in the table or in a journal: a second, on a busy machine more
SLOTS = 2_500  # with two statements each
STATEMENTS_A_PROMPT = 20
FACTS = 40  # over /iknowthat
CLIENTS = 4
AGAIN_S = 0.05  # until a client whose request failed tries again
KILLS = 2
PATIENCE_S = 300.0  # the lease of a worker that died is waited for, too
BOTH = "postgres, then proxy0"
CERTAIN, BOTH_SAY = 0.9, 0.905  # the confidence of what one agent says with an operator, and of what two say

HISTORY = """
    SELECT c.token, d.token, action, actor, count(*)
    FROM edge_history JOIN soas c ON c.id = concept_id JOIN soas d ON d.id = dim_id
    WHERE c.token LIKE %s GROUP BY 1, 2, 3, 4
"""


class Statement(NamedTuple):
    concept: str
    parent: str
    dimension: str
    agent: str

    @property
    def slot(self) -> tuple[str, str]:
        return self.concept, self.dimension


class Job(NamedTuple):
    """What a client sends until it gets its answer: a prompt, or a fact for ``/iknowthat``."""

    path: str
    body: dict[str, Any]
    agent: str
    states: list[Statement]


def load(word: str, dice: random.Random, *, facts: int = FACTS) -> list[Job]:
    """Two agents speak of the same concepts. On one of three they agree, on one they contradict each other, of one
    they tell different things."""
    said: dict[str, list[tuple[str, Statement]]] = {"dobby": [], "winky": []}
    for number in range(SLOTS):
        name = f"{word}{number}"
        is_repo = f"{name} ISA repo.", Statement(name, "repo", "type", "dobby")
        also = [
            (f"{name} ISA repo.", Statement(name, "repo", "type", "winky")),
            (f"{name} ISA worker.", Statement(name, "worker", "type", "winky")),
            (f"{name} ISPART hogsmeade.", Statement(name, "hogsmeade", "membership", "winky")),
        ]
        said["dobby"].append(is_repo)
        said["winky"].append(also[number % 3])
    jobs = [fact(f"{word}taught{number}") for number in range(facts)]
    for agent, statements in said.items():
        dice.shuffle(statements)
        parts = range(0, SLOTS, STATEMENTS_A_PROMPT)
        jobs += [prompt(agent, statements[start : start + STATEMENTS_A_PROMPT]) for start in parts]
    dice.shuffle(jobs)
    return jobs


def prompt(agent: str, statements: list[tuple[str, Statement]]) -> Job:
    text = "\n".join(sentence for sentence, _ in statements)
    body = {"model": "llama3", "stream": False, "messages": [{"role": "user", "content": text}]}
    return Job("/api/chat", body, agent, [statement for _, statement in statements])


def fact(concept: str) -> Job:
    agent = "neville"
    return Job("/iknowthat", {"fact": f"{concept} -isa repo"}, agent, [Statement(concept, "repo", "type", agent)])


class Clients:
    """They send all jobs, whatever happens to the server, and note when each was answered."""

    def __init__(self, whole: Festinger, jobs: list[Job]) -> None:
        self._url = f"http://127.0.0.1:{whole.ports[0]}"
        self._jobs = jobs
        self._answered: dict[int, float] = {}  # by the job's place; monotonic clock
        self.must_stop = False

    @property
    def share(self) -> float:
        return len(self._answered) / len(self._jobs)

    def send_all(self) -> None:
        with (
            httpx.Client(base_url=self._url, trust_env=False, timeout=30) as client,
            ThreadPoolExecutor(CLIENTS) as pool,
        ):
            list(pool.map(lambda place: self._send(client, place), range(len(self._jobs))))

    def _send(self, client: httpx.Client, place: int) -> None:
        while not self.must_stop:
            if has_answer(client, self._jobs[place]):
                self._answered[place] = time.monotonic()
                return
            time.sleep(AGAIN_S)

    def safe(self, killed_at: float) -> set[Statement]:
        """What must be there if something was killed then."""
        return self._stated(lambda job, at: at <= killed_at - (SAFE_S if job.path == "/api/chat" else 0))

    def unsafe(self, killed_at: float, gone_at: float) -> set[Statement]:
        """What may be lost if the proxy was killed between these times."""
        return self._stated(lambda job, at: job.path == "/api/chat" and killed_at - SAFE_S < at <= gone_at)

    def _stated(self, is_meant: Any) -> set[Statement]:
        answered = [(self._jobs[place], at) for place, at in self._answered.copy().items()]
        return {statement for job, at in answered if is_meant(job, at) for statement in job.states}


def has_answer(client: httpx.Client, job: Job) -> bool:
    with suppress(httpx.TransportError):
        answer = client.post(job.path, json=job.body, headers={"X-Festinger-Agent": job.agent})
        assert answer.is_success or answer.status_code == 503, answer.text  # 503: Postgres is away
        return answer.is_success
    return False


@pytest.fixture(scope="module")
def running(durable: OwnPostgres, upstream: StandIn) -> Iterator[Festinger]:
    with festinger(durable, "kills", upstream) as whole:
        assert whole.run("SHOW fsync") == whole.run("SHOW synchronous_commit") == [("on",)]
        yield whole


@pytest.fixture
def whole(running: Festinger) -> Iterator[Festinger]:
    """Whatever a test did to it, the next one finds it running."""
    yield running
    running.start_missing()


@pytest.mark.parametrize(
    ("victim", "word"),
    [
        ("worker", "zorblat"),
        ("beat", "plumbus"),
        ("proxy0", "frobnitz"),
        ("postgres", "snorkwell"),
        ("postgres, then proxy0", "gadzook"),
    ],
)
def test_what_was_said_survives_a_kill_and_is_there_once(whole: Festinger, victim: str, word: str) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    jobs = load(word, dice, facts=0 if victim == BOTH else FACTS)  # those wait for Postgres
    clients = Clients(whole, jobs)
    may_be_lost: set[Statement] = set()

    with ThreadPoolExecutor(1) as background:
        sending = background.submit(clients.send_all)
        try:
            for share in sorted(dice.uniform(0.05, 0.9) for _ in range(KILLS)):
                whole.wait(lambda share=share: progress(whole, victim, word, clients) >= share, PATIENCE_S)  # type: ignore[misc]
                may_be_lost |= kill_and_restart(whole, victim, word, clients, may_be_lost)
            sending.result(PATIENCE_S)
        finally:
            clients.must_stop = True
    whole.wait_settled(PATIENCE_S)

    told = observed(whole, word)
    assert not {statement for job in jobs for statement in job.states} - told - may_be_lost
    check_world(whole, word, told)

    Clients(whole, jobs).send_all()
    whole.wait_settled(PATIENCE_S)

    assert told <= observed(whole, word)
    check_world(whole, word, observed(whole, word))


def progress(whole: Festinger, victim: str, word: str, clients: Clients) -> float:
    """The share of what the victim has to do with that is done."""
    if victim in ("proxy0", "postgres", BOTH):
        return clients.share
    done = "SELECT count(*) FROM observation WHERE state = 'done' AND concept LIKE %s"
    return float(whole.run(done, f"{word}%")[0][0]) / (2 * SLOTS)


def kill_and_restart(
    whole: Festinger, victim: str, word: str, clients: Clients, lost_before: set[Statement]
) -> set[Statement]:
    """What the death may have cost."""
    if victim == BOTH:
        whole.kill("postgres")
        before = clients.safe(time.monotonic() + SAFE_S)
        whole.wait(lambda: clients.share == 1 or clients.safe(time.monotonic()) - before)
    killed_at = time.monotonic()
    whole.kill("proxy0" if victim == BOTH else victim)
    may_be_lost = clients.unsafe(killed_at, time.monotonic()) if victim in ("proxy0", BOTH) else set()
    if not whole.own.is_running:
        whole.own.start()
    assert not clients.safe(killed_at) - kept(whole, word) - lost_before
    whole.start_missing()
    return may_be_lost


def kept(whole: Festinger, word: str) -> set[Statement]:
    """What is in a journal or in the database; what moves, moves from the one to the other."""
    lines = []
    for journal in (whole.home / "journal").glob("*.jsonl"):
        with suppress(FileNotFoundError):
            lines += journal.read_bytes().splitlines()
    found = filter(None, map(decode, lines))
    journaled = {Statement(said.subject, said.parent, said.dimension, said.agent) for said in found}
    return journaled | observed(whole, word)


def observed(whole: Festinger, word: str) -> set[Statement]:
    """What is in the table, each once, or was taught."""
    rows = [Statement(*row) for *row, _ in whole.observed(word)]
    assert len(rows) == len(set(rows))
    taught = {Statement(*row[:3], "neville") for row in whole.edges(f"{word}taught")}
    return set(rows) | taught


def check_world(whole: Festinger, word: str, told: Iterable[Statement]) -> None:
    """Each statement is the edge of its slot, or confirms it, or is queued against it, and nothing else is there."""
    voices: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for statement in told:
        voices[statement.slot][statement.parent].add(statement.agent)
    queued: dict[tuple[str, str], list[str]] = defaultdict(list)
    for concept, dimension, _, incoming, collision_type, status in whole.queue(word):
        assert (collision_type, status) == ("isa_isa", "pending")
        queued[concept, dimension].append(incoming)
    edges = whole.edges(word)
    assert len(edges) == len(voices)
    for concept, parent, dimension, _, confidence, source in edges:
        slot = concept, dimension
        assert sorted([parent, *queued.pop(slot, [])]) == sorted(voices[slot])
        if source == "inferred":
            assert confidence == (BOTH_SAY if len(voices[slot][parent]) == 2 else CERTAIN)
    assert not queued
    assert {outcome for *_, outcome in whole.observed(word)} == {"inserted", "confirmed", "conflict"}
    check_history(whole, word)


def check_history(whole: Festinger, word: str) -> None:
    """No edge came twice, and no voice was counted twice."""
    inserted = []
    for concept, dimension, action, _, count in whole.run(HISTORY, f"{word}%"):
        assert count == 1, (concept, dimension, action, count)
        inserted += [(concept, dimension)] * (action == "insert")
    assert len(inserted) == len(set(inserted)) == len(whole.edges(word))
