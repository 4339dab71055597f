"""Finds what runs and does nothing any more, such as a server whose event loop stands still: supervisord only sees what
has ended. The launcher then replaces it."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Final

import psutil
import psycopg

from festinger_site.launcher.console import say
from festinger_site.launcher.liveness_probe import CONNECT_S, health
from festinger_site.launcher.supervision import NO_ANSWER, Supervisor

EVERY_S: Final = 15.0
FAULTS_MAX: Final = 4  # probes in a row
YOUNG_S: Final = 120.0  # what has just been started may still be loading
OLDEST_S: Final = 90.0  # a sign of life comes every 10 s; a worker gives none while its beat stands still
FRESH_S: Final = 30.0
SIGNS: Final = """
    SELECT name, pid, extract(epoch FROM now() - at)::float8 FROM heartbeat WHERE host = %s
"""


@dataclass(frozen=True, slots=True)
class LifeSign:
    """A sign of life of this machine: whose, and how old it is."""

    name: str
    pid: int
    age_s: float


@dataclass(frozen=True, slots=True)
class Stalled:
    """A program, or one of its processes, and why it does not count as alive."""

    name: str
    why: str
    pid: int = 0


def find_faults(answers: bool, signs: Iterable[LifeSign], is_ours: Callable[[str, int], bool]) -> list[Stalled]:
    """What is wrong by one look: whether the proxy ``answers``, and the ``signs`` of life, none where the database
    cannot be asked. ``is_ours``: whether a process belongs to a program."""
    faults = [] if answers else [Stalled("proxy", "does not answer")]
    youngest: dict[str, float] = {}
    known = [sign for sign in signs if is_ours(sign.name, sign.pid)]
    for sign in known:
        youngest[sign.name] = min(sign.age_s, youngest.get(sign.name, sign.age_s))
    for sign in known:
        if sign.age_s <= OLDEST_S:
            continue
        why = f"has given no sign of life for {sign.age_s:.0f} s"
        if sign.name == "proxy":
            # One of several: a single one is asked, because its signs also end when Postgres is too slow for it.
            if youngest["proxy"] < FRESH_S:
                faults.append(Stalled("proxy", why, sign.pid))
        else:
            faults.append(Stalled(sign.name, why))
    return faults


class StallWatch:
    """Looks every EVERY_S, in a thread: a look waits for what does not answer, and Ctrl-C must not."""

    def __init__(self, supervisor: Supervisor, site: ModuleType) -> None:
        self._supervisor = supervisor
        self._site = site
        self._counts: Counter[tuple[str, int]] = Counter()  # faults in a row, by program and process
        self._stalled: list[Stalled] = []
        threading.Thread(target=self._look_on, daemon=True).start()

    def replace_stalled(self) -> None:
        """Replaces what was found since the last call."""
        found, self._stalled = self._stalled, []
        for one in found:
            say(f"{one.name} {one.why}: starting it again.")
            self._supervisor.kill(one.name, one.pid)

    def _look_on(self) -> None:
        while True:
            time.sleep(EVERY_S)
            # The next look may go better; whether supervisord itself is there, the launcher sees.
            with suppress(*NO_ANSWER):
                self._supervisor.start_given_up()
                answers = bool(health(self._site.FESTINGER_HOST, self._site.FESTINGER_PORT))
                self.note(find_faults(answers, self._signs(), self._is_ours))

    def note(self, faults: list[Stalled]) -> None:
        """Counts the faults of one look."""
        self._counts = Counter({(one.name, one.pid): self._counts[one.name, one.pid] + 1 for one in faults})
        for one in faults:
            is_over = self._counts[one.name, one.pid] >= FAULTS_MAX
            if is_over and self._supervisor.uptime_s(one.name) >= YOUNG_S:
                del self._counts[one.name, one.pid]
                self._stalled.append(one)

    def _signs(self) -> list[LifeSign]:
        try:
            with psycopg.connect(self._site.DATABASE_URL, connect_timeout=CONNECT_S) as connection:
                return [LifeSign(*row) for row in connection.execute(SIGNS, [socket.gethostname()])]
        except psycopg.Error:
            return []

    def _is_ours(self, name: str, pid: int) -> bool:
        main = self._supervisor.pid(name)
        with suppress(psutil.Error):
            return bool(main) and (pid == main or main in {one.pid for one in psutil.Process(pid).parents()})
        return False
