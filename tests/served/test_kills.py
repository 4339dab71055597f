"""``kill -9`` at random moments of a load: what was answered a second before, or got a 2xx, is never lost and never
doubled. Real processes, on a Postgres that writes through to the disk."""

import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx
import pytest

from memory.domain.statement import decode
from tests.served.learning import Festinger, festinger
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

SAFE_S = 3.0  # after its answer, what a prompt states is in the table or in a journal: a second, on a busy machine more
CLIENTS = 4
AGAIN_S = 0.05  # until a client whose request failed tries again
PATIENCE_S = 300.0  # the lease of a worker that died is waited for, too
BOTH = "postgres, then proxy0"
VICTIMS = ("worker", "beat", "proxy0", "postgres", BOTH)
CERTAIN, BOTH_SAY = 0.9, 0.905  # the confidence of what one agent says with an operator, and of what two say
SEED = random.randrange(2**32) if os.environ.get("HYPOTHESIS_PROFILE") == "night" else 20260131


class Size(NamedTuple):
    """``pause_s``: between two prompts of a client, so that a small load lasts as long as what is done to it."""

    slots: int  # with two statements each
    statements_a_prompt: int
    facts: int  # over /iknowthat
    pause_s: float
    kills: int  # of each victim
    environment: dict[str, str]


SMALL = Size(200, 4, 20, 0.1, 1, {"DJANGO_SETTINGS_MODULE": "tests.served.short_lease"})
# A backlog that no worker gets through between two deaths, and the lease that operators have.
FULL = Size(2_500, 20, 40, 0.0, 2, {})

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


def load(size: Size, word: str, dice: random.Random) -> list[Job]:
    """Two agents speak of the same concepts. On one of three they agree, on one they contradict each other, of one
    they tell different things."""
    said: dict[str, list[tuple[str, Statement]]] = {"dobby": [], "winky": []}
    for number in range(size.slots):
        name = f"{word}{number}"
        is_repo = f"{name} ISA repo.", Statement(name, "repo", "type", "dobby")
        also = [
            (f"{name} ISA repo.", Statement(name, "repo", "type", "winky")),
            (f"{name} ISA worker.", Statement(name, "worker", "type", "winky")),
            (f"{name} ISPART hogsmeade.", Statement(name, "hogsmeade", "membership", "winky")),
        ]
        said["dobby"].append(is_repo)
        said["winky"].append(also[number % 3])
    jobs = [fact(f"{word}taught{number}") for number in range(size.facts)]
    for agent, statements in said.items():
        dice.shuffle(statements)
        parts = range(0, size.slots, size.statements_a_prompt)
        jobs += [prompt(agent, statements[start : start + size.statements_a_prompt]) for start in parts]
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

    def __init__(self, whole: Festinger, jobs: list[Job], *, pause_s: float = 0.0) -> None:
        self._url = f"http://127.0.0.1:{whole.ports[0]}"
        self._jobs = jobs
        self._pause_s = pause_s
        self._answered: dict[int, float] = {}  # by the job's place; monotonic clock
        self.must_stop = False

    @property
    def share(self) -> float:
        return len(self._answered) / len(self._jobs)

    def send_all(self) -> None:
        """Facts by a client of their own: they wait while Postgres is away, and prompts do not."""
        facts, prompts = [], []
        for place, job in enumerate(self._jobs):
            (facts if job.path == "/iknowthat" else prompts).append(place)
        with (
            httpx.Client(base_url=self._url, trust_env=False, timeout=30) as client,
            ThreadPoolExecutor(CLIENTS) as pool,
            ThreadPoolExecutor(1) as teacher,
        ):
            teaching = [teacher.submit(self._send, client, place) for place in facts]
            list(pool.map(lambda place: self._send(client, place), prompts))
            for taught in teaching:
                taught.result()

    def _send(self, client: httpx.Client, place: int) -> None:
        while not self.must_stop:
            if has_answer(client, self._jobs[place]):
                self._answered[place] = time.monotonic()
                time.sleep(self._pause_s)
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


@pytest.fixture
def start(durable: OwnPostgres, upstream: StandIn) -> Iterator[Callable[[Size], Festinger]]:
    with ExitStack() as stops:

        def start(size: Size) -> Festinger:
            name = f"kills_{size.slots}"
            whole = stops.enter_context(festinger(durable, name, upstream, **size.environment))
            assert whole.run("SHOW fsync") == whole.run("SHOW synchronous_commit") == [("on",)]
            return whole

        yield start


@pytest.mark.parametrize(
    ("size", "word"),
    [pytest.param(SMALL, "zorblat", id="small"), pytest.param(FULL, "gadzook", id="full", marks=pytest.mark.slow)],
)
def test_what_was_said_survives_kills_and_is_there_once(
    start: Callable[[Size], Festinger], size: Size, word: str
) -> None:
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    whole = start(size)
    jobs = load(size, word, dice)
    victims = list(VICTIMS) * size.kills
    dice.shuffle(victims)
    shares = sorted(dice.uniform(0.05, 0.9) for _ in victims)
    clients = Clients(whole, jobs, pause_s=size.pause_s)
    killer = Killer(whole, clients, word)

    with ThreadPoolExecutor(1) as background:
        sending = background.submit(clients.send_all)
        try:
            for victim, share in zip(victims, shares, strict=True):
                print(f"{victim} at {share:.0%}")
                whole.wait(lambda share=share: clients.share >= share, PATIENCE_S)  # type: ignore[misc]
                killer.kill_and_restart(victim)
            sending.result(PATIENCE_S)
        finally:
            clients.must_stop = True
    whole.wait_settled(PATIENCE_S)

    told = observed(whole, word)
    assert not {statement for job in jobs for statement in job.states} - told - killer.may_be_lost
    assert killer.was_safe  # else nothing was answered long enough before a death
    check_world(whole, word, told)

    Clients(whole, jobs).send_all()
    whole.wait_settled(PATIENCE_S)

    assert told <= observed(whole, word)
    check_world(whole, word, observed(whole, word))


@dataclass(slots=True)
class Killer:
    """``may_be_lost``: what the deaths may have cost. ``was_safe``: what was there after each of them, as it must."""

    whole: Festinger
    clients: Clients
    word: str
    may_be_lost: set[Statement] = field(default_factory=set)
    was_safe: set[Statement] = field(default_factory=set)

    def kill_and_restart(self, victim: str) -> None:
        if victim == BOTH:
            self.whole.kill("postgres")
            self._wait_for_prompts_without_postgres()
        if victim == "worker":
            self.whole.wait(lambda: self._worker_has_claimed() or self.clients.share == 1)
        killed_at = time.monotonic()
        self.whole.kill("proxy0" if victim == BOTH else victim)
        if victim in ("proxy0", BOTH):
            self.may_be_lost |= self.clients.unsafe(killed_at, time.monotonic())
        if not self.whole.own.is_running:
            self.whole.own.start()
        safe = self.clients.safe(killed_at) - self.may_be_lost
        assert not safe - kept(self.whole, self.word), victim
        self.was_safe |= safe
        self.whole.start_missing()

    def _wait_for_prompts_without_postgres(self) -> None:
        """Until one of them is safe: it can only be in the journal."""
        before = self.clients.safe(time.monotonic() + SAFE_S)
        self.whole.wait(lambda: self.clients.share == 1 or self.clients.safe(time.monotonic()) - before)

    def _worker_has_claimed(self) -> bool:
        return bool(self.whole.run("SELECT 1 FROM observation WHERE claimed_until > now() LIMIT 1"))


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
