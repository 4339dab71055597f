"""Rounds of kills, stops and full disks against a whole launched Festinger under load: no prompt fails, and nothing
that was accepted is lost or doubled.

By default each fault comes once. ``make faults`` runs 200 rounds; with ``SEED`` in the environment it repeats the order
of an earlier run.
"""

import http.client
import itertools
import os
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pytest

from festinger_site import home as homes
from festinger_site.dev.scratch_instance import free_port
from festinger_site.run import postgres_cluster, reserve, supervision
from tests.launched import Run, wait_until
from tests.small_disk import SmallDisk, mount_small_disk
from tests.standin import StandIn

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("SEED") or random.randrange(2**32))
DISK_MB = 1500  # 200 rounds take some 200 MB, Postgres' log up to 512, the reserve 64
SERVERS = 2
CLIENTS = 4
PAUSE_S = 0.15  # of a client, from an answer to its next request: together 20 new messages a second
SAFE_S = 3.0  # after its answer, what a prompt said is on the disk: 0.1 s, on a busy machine more
RETRY_S = 90.0  # the same, within which a prompt that was cut or refused has its answer
KNOWN_S = 120.0  # within which all that was accepted is known: what a killed worker had claimed comes after 30 s
CHECK_EVERY = 10  # rounds
WORD = "zorblat"
HEALTHY_S = 300.0  # a process that stalls is replaced after 150 s; a busy machine takes longer

KNOWN = """
    SELECT c.token, count(*), min(c.encounter_count) FROM urd
    JOIN soas c ON c.id = urd.id JOIN soas p ON p.id = urd.parent_id
    WHERE c.token = ANY(%s) AND p.token = 'repo' GROUP BY 1
"""
REMEMBERED = "SELECT text, count(*) FROM memory WHERE text = ANY(%s) GROUP BY 1"


# --- clients ---


class Answered(NamedTuple):
    """One word that was accepted. ``waited_s``: since the first attempt that was cut or refused."""

    kind: str
    word: str
    at: float  # monotonic clock
    round: int
    waited_s: float


class Failed(NamedTuple):
    kind: str
    round: int
    reason: str


class Clients:
    """They send without pause, each word until it is answered, and note what became of it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._words = (f"{WORD}{number}" for number in itertools.count())
        self._drawing = threading.Lock()
        self._must_stop = threading.Event()
        self.round = 0
        self.may_cut = False  # in this round
        self.answered: list[Answered] = []
        self.failed: list[Failed] = []
        self.cut: Counter[int] = Counter()  # prompts of each round, at least once

    @contextmanager
    def sending(self) -> Iterator[None]:
        with ThreadPoolExecutor(CLIENTS) as pool:
            running = [pool.submit(self._send_on, random.Random(f"{SEED} {number}")) for number in range(CLIENTS)]
            try:
                yield
            finally:
                self._must_stop.set()
        for client in running:
            client.result()

    def _send_on(self, dice: random.Random) -> None:
        with httpx.Client(base_url=self._url, trust_env=False, timeout=60) as client:
            while not self._must_stop.wait(PAUSE_S):
                with self._drawing:
                    word = next(self._words)
                [kind] = dice.choices(["prompt", "fact", "memory"], [8, 1, 1])
                self._send(client, kind, word, is_stream=dice.random() < 0.5)

    def _send(self, client: httpx.Client, kind: str, word: str, *, is_stream: bool) -> None:
        path, body = compose(kind, word, is_stream=is_stream)
        first_cut_at = 0.0
        while True:
            began_in, could_cut = self.round, self.may_cut
            try:
                answer = client.post(path, json=body)
            except httpx.NetworkError as error:
                reason = repr(error)
            except httpx.RemoteProtocolError as error:
                reason = repr(error)
            else:
                break
            if not could_cut and not self.may_cut:
                self.failed.append(Failed(kind, began_in, reason))
            self.cut[began_in] += kind == "prompt" and not first_cut_at
            first_cut_at = first_cut_at or time.monotonic()
            if self._must_stop.wait(PAUSE_S):
                return
        now = time.monotonic()
        if answer.is_success and (not is_stream or kind != "prompt" or '"done":true' in answer.text):
            self.answered.append(Answered(kind, word, now, self.round, now - (first_cut_at or now)))
        elif kind == "prompt" or answer.status_code != 503:
            self.failed.append(Failed(kind, self.round, f"{answer.status_code} {answer.text}"))


def compose(kind: str, word: str, *, is_stream: bool) -> tuple[str, dict[str, Any]]:
    if kind == "fact":
        return "/iknowthat", {"fact": f"{word} -isa repo"}
    if kind == "memory":
        return "/memory", {"text": remembered(word), "category": "other"}
    messages = [{"role": "user", "content": f"{word} ISA repo."}]
    return "/api/chat", {"model": "llama3", "stream": is_stream, "messages": messages}


def remembered(word: str) -> str:
    return f"The key of {word} is upstairs."


# --- the world and its faults ---


class World:
    """A launched Festinger whose home is on a small disk."""

    def __init__(self, disk: SmallDisk, upstream: StandIn, logs: Path) -> None:
        self.disk, self._upstream, self._logs = disk, upstream, logs
        self.dice = random.Random(SEED)
        self.home = disk.folder / "home"
        self.port = free_port()
        self.pids: set[int] = set()  # of the server processes
        self._starts = itertools.count()
        self.start()
        with postgres_cluster.connect(self.home, homes.DATABASE) as database:
            database.execute("UPDATE config SET value = '1000000' WHERE key LIKE 'quota_%'")

    def start(self) -> None:
        said = self._logs / f"said{next(self._starts)}"
        more = {"FESTINGER_UPSTREAM": self._upstream.url, "FESTINGER_WORKERS": str(SERVERS)}
        more["DJANGO_SETTINGS_MODULE"] = "tests.unbounded"
        self.run = Run(self.home, self.port, said, **more)
        self.run.wait_ready()

    def is_healthy(self) -> bool:
        """True if all that a fault can take is there again: every process, the database, the reserve."""
        if not (self._ask_one() and self.has_reserve() and self.run.main_process("celery")):
            return False
        with ThreadPoolExecutor(2 * SERVERS) as pool:  # at once: else the same process may answer each time
            self.pids = set(pool.map(lambda _: self._ask_one(), range(2 * SERVERS)))
        server = self.run.main_process(supervision.SERVER)
        with suppress(psutil.NoSuchProcess):
            children = {child.pid for child in server.children()} if server else set()
            return len(self.pids) == SERVERS and self.pids <= children
        return False

    def _ask_one(self) -> int:
        """The pid of the server process that answers, or 0 if it lacks something."""
        with suppress(OSError, http.client.HTTPException):
            health = self.run.health()
            assert health["dropped_messages"] == 0
            if health["ready"] and health["database"]["reachable"] and health["database"]["listening"]:
                return int(health["process"]["pid"])
        return 0

    def has_reserve(self) -> bool:
        file = self.home / reserve.NAME
        return file.exists() and file.stat().st_size == reserve.SIZE_MIB * reserve.MIB

    def count_known(self, words: Collection[str]) -> dict[str, int]:
        """How often each is known; those that are not are left out."""
        texts = {remembered(word): word for word in words}
        with postgres_cluster.connect(self.home, homes.DATABASE) as database:
            facts = database.execute(KNOWN, [list(words)]).fetchall()
            memories = database.execute(REMEMBERED, [list(texts)]).fetchall()
        return {word: max(edges, met) for word, edges, met in facts} | {texts[text]: count for text, count in memories}

    def end(self) -> None:
        self.run.stop()
        supervision.stop_orphans(self.home)
        shutil.rmtree(homes.run_folder(self.home), ignore_errors=True)


def kill(processes: Sequence[psutil.Process | None]) -> None:
    assert processes
    for process in processes:
        assert process
        with suppress(psutil.NoSuchProcess):
            process.kill()


def kill_server(world: World, mending: ExitStack) -> None:
    kill([psutil.Process(world.dice.choice(sorted(world.pids)))])


def kill_worker(world: World, mending: ExitStack) -> None:
    kill([world.run.main_process("celery")])


def kill_postgres(world: World, mending: ExitStack) -> None:
    kill(postgres_cluster.processes(world.home))


def kill_launcher(world: World, mending: ExitStack) -> None:
    mending.callback(world.start)
    world.run.process.kill()
    world.run.process.wait()


def cut_power(world: World, mending: ExitStack) -> None:
    mending.callback(world.start)
    kill([psutil.Process(world.run.process.pid), *world.run.everything()])
    world.run.process.wait()


def stop(world: World, mending: ExitStack) -> None:
    mending.callback(world.start)
    world.run.stop()


def fill_disk(world: World, mending: ExitStack) -> None:
    """What the reserve gives is left."""
    mending.enter_context(world.disk.full())
    wait_until(lambda: not world.has_reserve(), HEALTHY_S)
    wait_until(lambda: f"The disk of {world.home} is full" in world.run.said, HEALTHY_S)


def fill_disk_and_reserve(world: World, mending: ExitStack) -> None:
    fill_disk(world, mending)
    world.disk.fill()
    assert world.disk.free_bytes < reserve.FULL_BYTES
    assert world.run.health()["disk"]["is_low"]


Fault = Callable[[World, ExitStack], None]
NAMES: dict[Fault, str] = {
    kill_server: "server process killed",
    kill_worker: "worker killed",
    kill_postgres: "Postgres killed",
    kill_launcher: "launcher killed",
    cut_power: "all killed",
    stop: "orderly stop",
    fill_disk: "disk full, with reserve",
    fill_disk_and_reserve: "disk full",
}
ALONE = [(fault,) for fault in NAMES]
# Not a server process: what is in its memory while the disk is full would be lost, and one that starts while Postgres
# is away learns nothing until it is back.
TOGETHER = [
    (fill_disk_and_reserve, kill_postgres),
    (fill_disk_and_reserve, kill_worker),
    (kill_postgres, kill_worker),
]
KINDS: list[tuple[Fault, ...]] = [*ALONE, *TOGETHER]
CUT = {kill_server, kill_launcher, cut_power, stop}  # they end server processes
LOSE = {kill_server, cut_power}  # what was said right before
ROUNDS = int(os.environ.get("ROUNDS") or len(KINDS))


def draw(dice: random.Random) -> Iterator[tuple[Fault, ...]]:
    """Each kind once, then those twice as often after which no server process has to start: they take less time."""
    yield from dice.sample(KINDS, len(KINDS))
    while True:
        deck = [*KINDS, *(kind for kind in KINDS if not CUT.intersection(kind))]
        yield from dice.sample(deck, len(deck))


def name(faults: Sequence[Fault]) -> str:
    return ", ".join(NAMES[fault] for fault in faults)


# --- the rounds ---


class Matrix:
    def __init__(self, world: World, clients: Clients) -> None:
        self._world, self._clients = world, clients
        self._rounds: list[tuple[Fault, ...]] = []
        self._unsafe: list[tuple[float, float]] = []  # between these times, what prompts said may be lost
        self._checked = 0  # of what was answered
        self.lost: list[Answered] = []
        self.lost_unsafe: dict[Answered, float] = {}  # or still to be learned; seconds from its answer to the kill

    def run(self) -> None:
        for faults in itertools.islice(draw(self._world.dice), ROUNDS):
            self._run_round(faults)
            if len(self._rounds) % CHECK_EVERY == 0:
                self.check()

    def _run_round(self, faults: tuple[Fault, ...]) -> None:
        clients, world, began = self._clients, self._world, time.monotonic()
        self._rounds.append(faults)
        clients.may_cut = bool(CUT.intersection(faults))
        clients.round = len(self._rounds) - 1
        time.sleep(world.dice.uniform(0.5, 1.5))
        with ExitStack() as mending:
            struck_at = time.monotonic()
            for fault in faults:
                fault(world, mending)
            if LOSE.intersection(faults):
                self._unsafe.append((struck_at, time.monotonic()))
            time.sleep(world.dice.uniform(0.3, 1.5))
        wait_until(world.is_healthy, HEALTHY_S)
        print(f"{clients.round + 1:3} {name(faults)}: {time.monotonic() - began:.1f} s", flush=True)

    def check(self) -> None:
        """What was answered since the last time is known; what is not goes to what is lost."""
        late = self._world.count_known({each.word for each in self.lost_unsafe})
        self.lost_unsafe = {each: age_s for each, age_s in self.lost_unsafe.items() if each.word not in late}
        answered = self._clients.answered[self._checked :].copy()
        self._checked += len(answered)
        unknown = {each.word for each in answered}

        def are_known() -> bool:
            unknown.difference_update(self._world.count_known(unknown))
            return unknown <= {each.word for each in answered if self._find_kill(each) is not None}

        with suppress(AssertionError):
            wait_until(are_known, KNOWN_S)
        for each in answered:
            if each.word in unknown:
                age_s = self._find_kill(each)
                if age_s is None:
                    self.lost.append(each)
                    print(f"lost: {each}, {name(self._rounds[each.round])}", flush=True)
                else:
                    self.lost_unsafe[each] = age_s

    def _find_kill(self, each: Answered) -> float | None:
        """Seconds until the kill that it may be lost by; negative if it was under way."""
        kills = (killed_at for killed_at, gone_at in self._unsafe if killed_at - SAFE_S < each.at < gone_at + 0.5)
        return next((killed_at - each.at for killed_at in kills if each.kind == "prompt"), None)

    def find_doubled(self) -> dict[str, int]:
        counts = self._world.count_known({each.word for each in self._clients.answered})
        return {word: count for word, count in counts.items() if count != 1}

    def tabulate(self) -> str:
        clients = self._clients
        lines = [f"{'fault':<36} rounds answered failed retried longest s accepted lost in the last moment"]
        for faults in [*KINDS, None]:
            rounds = {place for place, each in enumerate(self._rounds) if faults in (each, None)}
            answered = [each for each in clients.answered if each.round in rounds]
            prompts = [each for each in answered if each.kind == "prompt"]
            lines.append(
                f"{name(faults) if faults else 'all':<36} {len(rounds):6} {len(prompts):8}"
                f" {sum(each.round in rounds and each.kind == 'prompt' for each in clients.failed):6}"
                f" {sum(clients.cut[place] for place in rounds):7}"
                f" {max((each.waited_s for each in prompts), default=0):9.1f} {len(answered):8}"
                f" {sum(each.round in rounds for each in self.lost):4}"
                f" {sum(each.round in rounds for each in self.lost_unsafe):18}"
            )
        if self.lost_unsafe:
            lines.append(f"lost at most {max(self.lost_unsafe.values()):.3f} s before the kill")
        return "\n".join(lines)


@pytest.fixture(scope="module")
def world(upstream: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with mount_small_disk(DISK_MB) as disk:
        if disk is None:
            pytest.skip("only root can mount a small file system")
        world = World(disk, upstream, tmp_path_factory.mktemp("launcher"))
        try:
            yield world
        finally:
            world.end()


def test_rounds_of_faults_cost_no_prompt_and_nothing_that_was_accepted(world: World) -> None:
    print(f"\n{ROUNDS} rounds with SEED={SEED}", flush=True)
    clients = Clients(f"http://127.0.0.1:{world.port}")
    matrix = Matrix(world, clients)
    try:
        wait_until(world.is_healthy, HEALTHY_S)
        with clients.sending():
            matrix.run()
        matrix.check()
    finally:
        print(matrix.tabulate(), flush=True)

    assert not clients.failed
    assert not matrix.lost
    assert not matrix.find_doubled()
    assert {each.round for each in clients.answered if each.kind == "prompt"} == set(range(ROUNDS))
    assert max(each.waited_s for each in clients.answered) < RETRY_S


def test_postgres_killed_while_a_start_prepares_it_does_not_end_festinger(world: World) -> None:
    world.run.stop()
    world.start()
    launcher = psutil.Process(world.run.process.pid)

    def is_preparing() -> bool:
        return any("prepare" in child.cmdline() for child in launcher.children() if child.status() != "zombie")

    wait_until(is_preparing, HEALTHY_S)
    while is_preparing():
        for process in postgres_cluster.processes(world.home):
            with suppress(psutil.NoSuchProcess):
                process.kill()

    wait_until(lambda: "It is tried again" in world.run.said, HEALTHY_S)
    wait_until(world.is_healthy, HEALTHY_S)
    assert world.run.process.poll() is None
