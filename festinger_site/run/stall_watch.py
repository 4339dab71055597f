"""Finds programs that run and do nothing any more, such as a server whose event loop stands still."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Final, NamedTuple

import psycopg

from festinger_site.run.console import say
from festinger_site.run.liveness_probe import CONNECT_S, health
from festinger_site.run.supervision import Supervisor

EVERY_S: Final = 15.0
LOOKS: Final = 4  # in a row that have to find the same
YOUNG_S: Final = 120.0  # what has just been started may still be loading
OLDEST_S: Final = 90.0  # a sign of life comes every 10 s; a worker gives none while its beat stands still
FRESH_S: Final = 30.0
SIGNS: Final = """
    SELECT name, pid, extract(epoch FROM now() - at)::float8 FROM heartbeat WHERE host = %s
"""


class LifeSign(NamedTuple):
    """The last sign of life of a process on this machine."""

    name: str
    pid: int
    age_s: float


# Why a program counts as stalled, by its name and the process id; 0 stands for all of it.
Stalled = Mapping[tuple[str, int], str]


def find_stalled(answers: bool, signs: Sequence[LifeSign]) -> Stalled:
    """Find what is stalled by one look: whether the proxy ``answers``, and the ``signs`` of life of our processes, none
    if the database cannot be asked."""
    found = {} if answers else {("proxy", 0): "does not answer"}
    ages_s = [sign.age_s for sign in signs if sign.name == "proxy"]
    for sign in signs:
        why = f"has given no sign of life for {sign.age_s:.0f} s"
        if sign.age_s <= OLDEST_S:
            continue
        if sign.name != "proxy":
            found[sign.name, 0] = why
        elif min(ages_s) < FRESH_S:  # one of several: a single one's signs also end when Postgres is too slow for it
            found["proxy", sign.pid] = why
    return found


class StallWatch:
    """Looks every EVERY_S, in a thread: a look waits for what does not answer, and Ctrl-C must not."""

    def __init__(self, supervisor: Supervisor, settings: ModuleType) -> None:
        self._supervisor = supervisor
        self._settings = settings
        self._counts: Counter[tuple[str, int]] = Counter()  # looks in a row
        self._stalled: dict[tuple[str, int], str] = {}
        threading.Thread(target=self._look_on, daemon=True).start()

    def kill_stalled(self) -> None:
        """End what was found since the last call; the supervisor, or the program itself, replaces it."""
        stalled, self._stalled = self._stalled, {}
        for (name, pid), why in stalled.items():
            say(f"{name} {why}: starting it again.")
            self._supervisor.children[name].kill(pid)

    def _look_on(self) -> None:
        while True:
            time.sleep(EVERY_S)
            answers = bool(health(self._settings.FESTINGER_HOST, self._settings.FESTINGER_PORT))
            signs = [sign for sign in self._read_signs() if self._supervisor.owns(sign.name, sign.pid)]
            self.count(find_stalled(answers, signs))

    def _read_signs(self) -> list[LifeSign]:
        try:
            with psycopg.connect(self._settings.DATABASE_URL, connect_timeout=CONNECT_S) as connection:
                return [LifeSign(*row) for row in connection.execute(SIGNS, [socket.gethostname()])]
        except psycopg.Error:
            return []

    def count(self, found: Stalled) -> None:
        """Count what one look has found."""
        self._counts = Counter({key: self._counts[key] + 1 for key in found})
        for key, count in list(self._counts.items()):
            uptime_s = time.monotonic() - self._supervisor.children[key[0]].started_at
            if count >= LOOKS and uptime_s >= YOUNG_S:
                del self._counts[key]
                self._stalled[key] = found[key]
