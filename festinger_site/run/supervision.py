"""The supervised programs of a home: started, started again when they die, stopped in reverse; and the processes that a
killed launcher has left."""

import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from festinger_site import home as homes
from festinger_site.run import home_locks, postgres_cluster
from festinger_site.run.console import say
from festinger_site.run.preflight import LaunchFailed

SERVER: Final = "festinger_site.serve.serve"
HOME_VARIABLE: Final = "FESTINGER_SUPERVISED"  # in the environment of all our processes: the home that they belong to
ORPHAN_GRACE_S: Final = 3
STARTS_MAX: Final = 3  # of a program, before Festinger is ready: more count as a failure
# From one start of a program to the next, doubled each time; a start that was longer ago than STEADY_S does not count.
RESTART_S: Final = 1.0
RESTART_MAX_S: Final = 30.0
STEADY_S: Final = 60.0
TRACEBACK_S: Final = 2
LOG_MAX_BYTES: Final = 10 * 1024 * 1024
LOGS_KEPT: Final = 3


@dataclass(frozen=True, slots=True)
class Program:
    """A program to supervise. ``stop_wait_s`` after ``stop_signal`` its process group is killed. ``options`` are those
    of ``subprocess``; without any it runs as one of our own."""

    name: str
    command: list[str]
    stop_wait_s: int
    stop_signal: signal.Signals = signal.SIGTERM
    options: Mapping[str, Any] = field(default_factory=dict)


def build_environment(home: Path) -> dict[str, str]:
    """Return the environment of our own processes of this home."""
    ours = {HOME_VARIABLE: str(home), "FESTINGER_HOME": str(home)} | homes.name_metrics_folder(home)
    if os.environ.get("FESTINGER_CONFIG"):
        ours["FESTINGER_CONFIG"] = str(homes.config_path())  # they start in another folder
    # With its handler for faults, a process that is aborted says where it stood.
    return os.environ | ours | {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}


class Child:
    """A program's process. Its times are of the monotonic clock."""

    def __init__(self, program: Program, home: Path) -> None:
        self.program = program
        self.starts = 0
        self.started_at = -math.inf
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._delay_s = 0.0

    @property
    def pid(self) -> int:
        """The process id; 0 if it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else 0

    @property
    def is_due(self) -> bool:
        """True if it has died, and it is time to start it again."""
        return self.starts > 0 and not self.pid and time.monotonic() >= self.started_at + self._delay_s

    def start(self) -> None:
        now = time.monotonic()
        is_steady = now - self.started_at > STEADY_S
        self._delay_s = RESTART_S if is_steady else min(2 * self._delay_s, RESTART_MAX_S)
        self.started_at = now
        self.starts += 1
        options = self.program.options or {"cwd": homes.ROOT, "env": build_environment(self._home)}
        try:
            # A file and no pipe: it goes on, and logs, while the launcher is suspended, or was killed.
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    self.program.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    # Ctrl-C in the terminal reaches only the launcher, which then stops all in order.
                    start_new_session=True,
                    **options,
                )
        except OSError as error:  # tried again, as if it had died
            say(f"{self.program.name} cannot be started: {error}")

    def kill(self, pid: int = 0) -> None:
        """End it, or one of its processes, by force."""
        if not (group := self.pid):
            return
        with suppress(ProcessLookupError):
            # First so that it leaves in its log where it stands.
            os.kill(pid or group, signal.SIGABRT)
            time.sleep(TRACEBACK_S)
            os.kill(pid, signal.SIGKILL) if pid else os.killpg(group, signal.SIGKILL)

    def stop(self) -> None:
        if self._process is None:
            return
        # Only the main process: a Celery worker whose children get it too can hang for minutes.
        self._process.send_signal(self.program.stop_signal)
        try:
            self._process.wait(self.program.stop_wait_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def _log(self) -> Path:
        return homes.log_folder(self._home) / f"{self.program.name}.log"

    def rotate_log(self) -> None:
        """Begin the log anew where it is long. Lines that are written meanwhile may be lost."""
        with suppress(OSError):  # of a full disk, or a home that was deleted
            if (log := self._log).stat().st_size < LOG_MAX_BYTES:
                return
            older = [log.with_name(f"{log.name}.{number}") for number in range(1, LOGS_KEPT + 1)]
            for newer, file in zip(older[-2::-1], older[:0:-1], strict=True):
                if newer.exists():
                    newer.replace(file)
            try:
                shutil.copyfile(log, older[0])
            finally:
                os.truncate(log, 0)  # not renamed: the program has it open


class Supervisor:
    """The programs of a home, in the order of their start."""

    def __init__(self, home: Path, programs: Sequence[Program]) -> None:
        self.home = home
        self.children = {program.name: Child(program, home) for program in programs}
        shutil.rmtree(homes.metrics_folder(home), ignore_errors=True)  # counts begin anew, as Prometheus expects

    def start(self, *names: str) -> None:
        for name in names:
            self.children[name].start()

    def keep(self) -> None:
        """Start again what has died. Raises LaunchFailed if another launcher has the home."""
        due = [child for child in self.children.values() if child.is_due]
        if due and home_locks.read_launcher(self.home) not in (0, os.getpid()):
            raise LaunchFailed(f"{self.home} was deleted while Festinger ran from it.")
        for child in due:
            child.start()
        for child in self.children.values():
            child.rotate_log()

    def check(self, name: str) -> None:
        """Keep all programs running. Raises LaunchFailed if this one keeps dying."""
        self.keep()
        if self.children[name].starts > STARTS_MAX:
            raise LaunchFailed(f"{name} keeps dying:\n{homes.log_tail(self.home, f'{name}.log')}")

    def owns(self, name: str, pid: int) -> bool:
        """True if the process is the program's, or a descendant of that."""
        main = self.children[name].pid if name in self.children else 0
        with suppress(psutil.Error):
            return main != 0 and main in {pid, *(parent.pid for parent in psutil.Process(pid).parents())}
        return False

    def stop(self) -> None:
        """Stop the programs in reverse order; nothing of them is left."""
        for child in reversed(self.children.values()):
            child.stop()
        stop_orphans(self.home)


def find_orphans(home: Path) -> list[psutil.Process]:
    """Find the living processes of the home, except this one, its parents and Postgres."""
    spared = {os.getpid(), *(process.pid for process in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid not in spared and process.environ().get(HOME_VARIABLE) == str(home):
                found.append(process)
    return found


def end_processes(processes: Sequence[psutil.Process], grace_s: float = ORPHAN_GRACE_S) -> None:
    """Ask them to end, and kill what has not after ``grace_s``."""
    ours = {process.pid for process in processes}
    for process in processes:
        with suppress(psutil.Error):
            # Children are left to their parents, as in Child.stop.
            if process.ppid() not in ours:
                process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=grace_s)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=ORPHAN_GRACE_S)


def stop_orphans(home: Path) -> bool:
    """End what a killed launcher has left running, Postgres last. True if there was anything."""
    found = find_orphans(home)
    end_processes(found)
    # Looked for again: what has just been told to end may have forked meanwhile.
    end_processes(find_orphans(home), grace_s=0)
    had_postgres = bool(postgres_cluster.processes(home))
    postgres_cluster.stop(home)
    return bool(found) or had_postgres
