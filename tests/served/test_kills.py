"""``kill -9`` at random moments of a load: what was answered a second before, or got a 2xx, is never lost and never
doubled. Real processes, on a Postgres that writes through to the disk."""

import random
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import httpx
import psycopg
import pytest

from memory.learning.messages import NewMessage
from tests import waiting
from tests.served.learning import NIGHT, Festinger, festinger, headers_of
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

pytestmark = pytest.mark.slow

SAFE_S = 3.0  # after its answer, a prompt is in the table or in a journal: a second, on a busy machine more
CLIENTS = 4
AGAIN_S = 0.05  # until a client sends its next request, or one that failed again
PATIENCE_S = 300.0  # the lease of a worker that died is waited for, too
eventually = partial(waiting.eventually, within_s=PATIENCE_S)
LEARNING, PLACING = "worker that learns", "worker that places"
BOTH = "postgres, then proxy0"
VICTIMS = (LEARNING, PLACING, "proxy0", "postgres", BOTH)
TEACHER = "harry"
CERTAIN, BOTH_SAY = 0.9, 0.905  # the confidence of what one agent says with an operator, and of what two say
SEED = random.randrange(2**32) if NIGHT else 20260131


class Size(NamedTuple):
    slots: int  # with two statements each
    statements_a_prompt: int
    facts: int  # over /iknowthat
    kills: int  # of each victim
    environment: dict[str, str]


SIZES = {"small": Size(200, 4, 20, 1, {"DJANGO_SETTINGS_MODULE": "tests.served.short_lease"})}
if NIGHT:  # with a backlog that no worker gets through between two deaths, and the lease that operators have
    SIZES["full"] = Size(2_500, 20, 40, 2, {})

# What holds up the worker, and how it shows that it is held up: within its transaction, or with what it has claimed.
HELD_UP = {
    LEARNING: (
        "observation",
        "SELECT FROM pg_stat_activity WHERE application_name = 'festinger learning' AND wait_event_type = 'Lock'"
        " AND datname = current_database()",
    ),
    PLACING: ("urd", "SELECT FROM observation WHERE claimed_until > now() LIMIT 1"),
}
DIMENSIONS = {"ISA": "type", "ISPART": "membership"}
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
    stated = Statement(concept, "repo", "type", TEACHER)
    return Job("/iknowthat", {"fact": f"{concept} -isa repo"}, TEACHER, [stated])


class Clients:
    """They send the jobs that were released, whatever happens to the server, and note when each was answered."""

    def __init__(self, whole: Festinger, jobs: list[Job]) -> None:
        self._whole = whole
        self._url = f"http://127.0.0.1:{whole.ports[0]}"
        self._jobs = jobs
        self._prompts = [place for place, job in enumerate(jobs) if job.path == "/api/chat"]
        self._facts = [place for place, job in enumerate(jobs) if job.path == "/iknowthat"]
        self._may_send = {"/api/chat": threading.Semaphore(0), "/iknowthat": threading.Semaphore(0)}
        self._released = 0
        self._answered: dict[int, float] = {}  # by the job's place; monotonic clock
        self._must_stop = False

    def release(self, portions: float = 1) -> None:
        """That part of all jobs may be sent, too."""
        self._released += int(len(self._prompts) / portions)
        self._may_send["/api/chat"].release(int(len(self._prompts) / portions))
        self._may_send["/iknowthat"].release(int(len(self._facts) / portions))

    def stop(self) -> None:
        self._must_stop = True
        self.release()

    @property
    def unanswered(self) -> int:
        """Prompts that were released."""
        return self._released - sum(place in self._answered for place in self._prompts)

    def send_all(self) -> None:
        """Facts by a client of their own: they wait while Postgres is away, and prompts do not."""
        with (
            httpx.Client(base_url=self._url, trust_env=False, timeout=60) as client,
            ThreadPoolExecutor(CLIENTS + 1) as pool,
        ):
            teaching = pool.submit(lambda: [self._send(client, place) for place in self._facts])
            list(pool.map(lambda place: self._send(client, place), self._prompts))
            teaching.result()

    def _send(self, client: httpx.Client, place: int) -> None:
        self._may_send[self._jobs[place].path].acquire()
        while not self._must_stop:
            if self._has_answer(client, self._jobs[place]):
                self._answered[place] = time.monotonic()
                break
            time.sleep(AGAIN_S)
        time.sleep(AGAIN_S)

    def _has_answer(self, client: httpx.Client, job: Job) -> bool:
        with suppress(httpx.TransportError):
            answer = client.post(job.path, json=job.body, headers=headers_of(job.agent))
            if not answer.is_success and answer.status_code != 503:  # 503: Postgres is away
                raise AssertionError(f"{answer.text}\n{self._whole.said_last()}")
            return answer.is_success
        return False

    def safe(self, killed_at: float) -> set[Statement]:
        """What must be there if something was killed then."""
        return self._stated(lambda job, at: at <= killed_at - (SAFE_S if job.path == "/api/chat" else 0))

    def unsafe(self, killed_at: float, gone_at: float) -> set[Statement]:
        """What may be lost if the proxy was killed between these times."""
        return self._stated(lambda job, at: job.path == "/api/chat" and killed_at - SAFE_S < at <= gone_at)

    def _stated(self, is_meant: Any) -> set[Statement]:
        answered = [(self._jobs[place], at) for place, at in self._answered.copy().items()]
        return {statement for job, at in answered if is_meant(job, at) for statement in job.states}


@pytest.fixture
def start(durable: OwnPostgres, upstream: StandIn) -> Iterator[Callable[[Size], Festinger]]:
    with ExitStack() as stops:

        def start(size: Size) -> Festinger:
            name = f"kills_{size.slots}"
            whole = stops.enter_context(festinger(durable, name, upstream, **size.environment))
            assert whole.run("SHOW fsync") == whole.run("SHOW synchronous_commit") == [("on",)]
            return whole

        yield start


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
def test_what_was_said_survives_kills_and_is_there_once(start: Callable[[Size], Festinger], size: Size) -> None:
    print(f"seed {SEED}")
    word, dice = "zorblat", random.Random(SEED)
    whole = start(size)
    jobs = load(size, word, dice)
    victims = list(VICTIMS) * size.kills
    dice.shuffle(victims)
    clients = Clients(whole, jobs)
    killer = Killer(whole, clients, word, portions=len(victims) + 1)

    with ThreadPoolExecutor(1) as background:
        sending = background.submit(clients.send_all)
        try:
            for victim in victims:
                killer.kill_and_restart(victim, share=dice.random())
            clients.release()
            sending.result(PATIENCE_S)
        finally:
            clients.stop()
    whole.wait_settled(PATIENCE_S)

    told = observed(whole, word)
    assert not {statement for job in jobs for statement in job.states} - told - killer.may_be_lost
    assert killer.was_safe  # else nothing was answered long enough before a death
    check_world(whole, word, told)

    again = Clients(whole, jobs)
    again.release()
    again.send_all()
    whole.wait_settled(PATIENCE_S)

    assert told <= observed(whole, word)
    check_world(whole, word, observed(whole, word))


@dataclass(slots=True)
class Killer:
    """Each death comes while clients are answered. ``may_be_lost``: what the deaths may have cost. ``was_safe``: what
    was there after them, as it must."""

    whole: Festinger
    clients: Clients
    word: str
    portions: int  # of the load: one for each death, and one for the end
    may_be_lost: set[Statement] = field(default_factory=set)
    was_safe: set[Statement] = field(default_factory=set)

    def kill_and_restart(self, victim: str, share: float) -> None:
        """``share``: how much of its portion of the load is answered when it dies."""
        print(f"{victim} at {share:.0%}")
        if victim == BOTH:
            self._kill_within("postgres", self.portions * 3, share)
            self._wait_for_prompts_without_postgres()
            killed_at = self._kill_within("proxy0", self.portions * 3, share)
        elif victim in HELD_UP:
            killed_at = self._kill_worker(victim, share)
        else:
            killed_at = self._kill_within(victim, self.portions, share)
        if victim in ("proxy0", BOTH):
            self.may_be_lost |= self.clients.unsafe(killed_at, time.monotonic())
        if not self.whole.own.is_running:
            self.whole.own.start()
        safe = self.clients.safe(killed_at) - self.may_be_lost
        assert not safe - kept(self.whole, self.word), victim
        self.was_safe |= safe
        self.whole.start_missing()

    def _kill_within(self, part: str, portions: int, share: float) -> float:
        """When that was."""
        self._wait_for_answers(portions, share)
        killed_at = time.monotonic()
        self.whole.kill(part)
        return killed_at

    def _kill_worker(self, victim: str, share: float) -> float:
        """In the midst of its work."""
        table, shows = HELD_UP[victim]
        with psycopg.connect(self.whole.database) as other:
            other.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
            self._wait_for_answers(self.portions, share)
            self.whole.wait(lambda: self.whole.run(shows), PATIENCE_S)
            killed_at = time.monotonic()
            self.whole.kill("worker")
        return killed_at

    def _wait_for_answers(self, portions: int, share: float) -> None:
        before = self.clients.unanswered
        self.clients.release(portions)
        left = before + (self.clients.unanswered - before) * (1 - share)
        assert eventually(lambda: self.clients.unanswered <= left)

    def _wait_for_prompts_without_postgres(self) -> None:
        """Until one of them is safe: it can only be in the journal."""
        before = self.clients.safe(time.monotonic() + SAFE_S)
        self.clients.release(self.portions * 3)
        self.whole.wait(lambda: self.clients.safe(time.monotonic()) - before, PATIENCE_S)


def kept(whole: Festinger, word: str) -> set[Statement]:
    """What is in a journal, waits for a worker, or was learned; what moves, moves from the one to the next."""
    lines = []
    for journal in (whole.home / "journal").glob("*.jsonl"):
        with suppress(FileNotFoundError):
            lines += journal.read_bytes().splitlines()
    heard = [(message.text, message.agent) for message in map(NewMessage.from_line, lines) if message is not None]
    heard += whole.run("SELECT text, agent FROM heard_message")
    stated = {statement for text, agent in heard for statement in read_statements(text, agent)}
    return stated | observed(whole, word)


def read_statements(text: str, agent: str) -> Iterator[Statement]:
    for concept, verb, parent in re.findall(r"(\w+) (ISA|ISPART) (\w+)\.", text):
        yield Statement(concept, parent, DIMENSIONS[verb], agent)


def observed(whole: Festinger, word: str) -> set[Statement]:
    """What is in the table, each once, or was taught."""
    rows = [Statement(*row) for *row, _ in whole.observed(word)]
    assert len(rows) == len(set(rows))
    taught = {Statement(*row[:3], TEACHER) for row in whole.edges(f"{word}taught")}
    return set(rows) | taught


def check_world(whole: Festinger, word: str, told: Iterable[Statement]) -> None:
    """Each message was counted once. Each statement is the edge of its slot, or confirms it, or is queued against it,
    and nothing else is there."""
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
    check_counts(whole, word, told)


def check_history(whole: Festinger, word: str) -> None:
    """No edge came twice, and no voice was counted twice."""
    inserted = []
    for concept, dimension, action, _, count in whole.run(HISTORY, f"{word}%"):
        assert count == 1, (concept, dimension, action, count)
        inserted += [(concept, dimension)] * (action == "insert")
    assert len(inserted) == len(set(inserted)) == len(whole.edges(word))


def check_counts(whole: Festinger, word: str, told: Iterable[Statement]) -> None:
    """Each agent speaks of a concept in one message."""
    met = "SELECT token, encounter_count FROM soas WHERE token LIKE %s AND encounter_count > 0"
    spoken = Counter(statement.concept for statement in told if statement.agent != TEACHER)
    assert dict(whole.run(met, f"{word}%")) == spoken
