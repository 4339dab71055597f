"""supervisord, which keeps the processes alive: its configuration, its life, and what a killed one leaves behind."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import xmlrpc.client
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO

import psutil
from supervisor.xmlrpc import SupervisorTransport

from festinger_site import home as homes
from festinger_site.launcher import postgres_cluster

SERVER = "festinger_site.server.serve"
MODULE = "festinger_site.launcher.supervisord"
MARK = "FESTINGER_SUPERVISED"  # in the environment of all our processes: the home that they belong to
LISTENING_TIMEOUT_S = 15
PRINTED_MAX = 15  # lines of what supervisord printed last
STOP_TIMEOUT_S = 19  # nearly the sum of the programs' longest stop times
LEFTOVER_GRACE_S = 3
STARTS_MAX = 3  # of a program within one launch, before that counts as a failure
# supervisord waits a second more before each further start of what dies at once, and then gives up; the launcher lets
# it begin anew.
RETRIES_MAX = 30
GIVEN_UP = (0, 200)  # supervisord's STOPPED, where a start found no room for its log, and FATAL
TRACEBACK_S = 2
NO_ANSWER = (OSError, HTTPException, xmlrpc.client.Error)  # of supervisord's remote procedures


class SupervisorFailed(Exception):
    """The processes cannot be supervised. The message says why and where to read on."""


@dataclass(frozen=True, slots=True)
class Program:
    """One supervised process. ``stop_wait_s`` after ``stop_signal`` its group is killed."""

    name: str
    command: list[str]
    stop_wait_s: int
    stop_signal: str = "TERM"
    user: str | None = None


SUPERVISORD = """\
[unix_http_server]
file={run_folder}/control.sock
chmod=0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisord]
nodaemon=true
silent=true
logfile=log/supervisord.log
logfile_maxbytes=1MB
logfile_backups=1
pidfile=supervisor/supervisord.pid
childlogdir=log
{user}
"""

# Only the main process gets the stop signal: a Celery worker whose children get it too can hang for minutes.
# A process that dies within startsecs is restarted after 1 s, 2 s, 3 s and so on, up to ``retries`` s.
PROGRAM = """
[program:{program.name}]
command={command}
directory={directory}
priority={priority}
autostart=false
autorestart=true
startsecs=5
startretries={retries}
stopsignal={program.stop_signal}
stopwaitsecs={program.stop_wait_s}
killasgroup=true
redirect_stderr=true
stdout_logfile=log/{program.name}.log
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=3
{user}
"""


def configuration(home: Path, programs: Iterable[Program]) -> str:
    """supervisord's file, to be read with the home as current folder; earlier programs start first and stop last."""
    # The format cannot quote folders: all but ``run_folder``, whose name is plain, come through the environment.
    as_root = os.geteuid() == 0
    sections = [SUPERVISORD.format(run_folder=homes.run_folder(home), user="user=root" if as_root else "")]
    for priority, program in enumerate(programs, 1):
        command = " ".join(escape(word) for word in program.command)
        # Another user may not be able to enter the project's folder.
        directory, user = ("/", f"user={program.user}") if program.user else ("%(ENV_FESTINGER_PROJECT)s", "")
        more = {"directory": directory, "priority": priority, "user": user, "retries": RETRIES_MAX}
        sections.append(PROGRAM.format(program=program, command=command, **more))
    return "".join(sections)


def escape(word: str) -> str:
    """A word of a command as supervisord's file takes it: with shell quoting, and ``%`` doubled."""
    # Each odd character is quoted by itself: a ``#`` or ``;`` right after a blank would begin a comment.
    quoted = re.sub(r"[^\w/.,:=@%+-]", lambda odd: shlex.quote(odd[0]), word)
    return quoted.replace("%", "%%") or "''"


def build_environment(home: Path) -> dict[str, str]:
    """The environment of all processes of this home."""
    ours = {MARK: str(home), "FESTINGER_HOME": str(home), "FESTINGER_PROJECT": str(homes.PROJECT)}
    ours |= homes.name_metrics_folder(home)
    if os.environ.get("FESTINGER_CONFIG"):
        ours["FESTINGER_CONFIG"] = str(homes.config_path())  # they start in other folders
    # With its handler for faults, a process that is aborted says where it stood.
    return os.environ | ours | {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}


class Supervisor:
    """A running supervisord."""

    def __init__(self, home: Path, programs: Sequence[Program]) -> None:
        self.home = home
        self._old_proxies: list[psutil.Process] | None = None  # of the supervisord before, still to be replaced
        self._names = [program.name for program in programs]
        # When each program was started, in seconds: supervisord does not count restarts.
        self.starts: defaultdict[str, set[int]] = defaultdict(set)
        homes.ensure_run_folder(home)
        shutil.rmtree(homes.metrics_folder(home), ignore_errors=True)  # counts begin anew, as Prometheus expects
        folder = home / "supervisor"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._file = folder / "supervisord.conf"
        self._file.write_text(configuration(home, programs))
        self._start_supervisord()

    def _start_supervisord(self) -> None:
        homes.log_folder(self.home)
        self.process = subprocess.Popen(
            [sys.executable, "-m", MODULE, "-n", "-c", str(self._file)],
            cwd=homes.PROJECT,
            env=build_environment(self.home),
            stdin=subprocess.DEVNULL,
            # Not a file: what it cannot print, as on a full disk, ends it.
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal reaches only the launcher, which then stops all in order.
            start_new_session=True,
        )
        self._printed = deque[bytes](maxlen=PRINTED_MAX)
        self._reading = threading.Thread(target=self._read_on, args=[self.process.stdout], daemon=True)
        self._reading.start()

    def _read_on(self, output: BinaryIO) -> None:
        with output:
            self._printed.extend(output)

    @property
    def remote(self) -> Any:
        """supervisord's remote procedures."""
        # A new connection each time: after a failed call it stays broken.
        transport = SupervisorTransport(serverurl=f"unix://{homes.run_folder(self.home)}/control.sock")
        return xmlrpc.client.ServerProxy("http://localhost", transport=transport).supervisor

    def wait_listening(self) -> None:
        deadline = time.monotonic() + LISTENING_TIMEOUT_S
        while True:
            with suppress(OSError):
                self.remote.getState()
                return
            if not self.is_alive or time.monotonic() > deadline:
                self.process.kill()
                self._reading.join()
                printed = b"".join(self._printed).decode(errors="replace")
                raise SupervisorFailed(f"supervisord did not start:\n{printed}")
            time.sleep(0.02)

    def start(self, *names: str) -> None:
        for name in names:
            self.remote.startProcess(name, False)

    def check(self, name: str) -> None:
        """Raises SupervisorFailed where the program keeps dying, or supervisord itself has died."""
        with suppress(OSError):
            self.starts[name].add(self.remote.getProcessInfo(name)["start"])
        if len(self.starts[name]) > STARTS_MAX:
            raise SupervisorFailed(f"{name} keeps dying:\n{homes.log_tail(self.home, f'{name}.log')}")
        self.check_alive()

    def start_given_up(self) -> None:
        """Starts again what supervisord has given up. Raises one of NO_ANSWER."""
        for info in self.remote.getAllProcessInfo():
            if info["state"] in GIVEN_UP and (info["name"] != "proxy" or self._old_proxies is None):
                self.start(info["name"])

    def pid(self, name: str) -> int:
        """0 where it does not run. Raises one of NO_ANSWER."""
        return int(self.remote.getProcessInfo(name)["pid"])

    def uptime_s(self, name: str) -> float:
        """Raises one of NO_ANSWER."""
        info = self.remote.getProcessInfo(name)
        return float(info["now"] - info["start"]) if info["pid"] else 0.0

    def kill(self, name: str, pid: int = 0) -> None:
        """Ends the program, or one of its processes, by force; then supervisord, or the program, replaces it."""
        with suppress(*NO_ANSWER):
            group = self.pid(name)
            if not group:
                return
            # First so that it leaves in its log where it stands.
            os.kill(pid or group, signal.SIGABRT)
            time.sleep(TRACEBACK_S)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL) if pid else os.killpg(group, signal.SIGKILL)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def check_alive(self) -> None:
        if not self.is_alive:
            raise SupervisorFailed(f"supervisord died (status {self.process.poll()}); stopping the rest.")

    def revive(self) -> None:
        """Starts supervisord again after it died, and the programs, which a new one cannot take over; the proxy is left
        to ``replace_proxy``. Raises SupervisorFailed or one of NO_ANSWER."""
        left = leftovers(self.home)
        self._start_supervisord()
        self.wait_listening()
        self._old_proxies = find_proxies(left)
        end_processes([process for process in left if process not in self._old_proxies])
        postgres_cluster.stop(self.home)
        for name in self._names:
            with suppress(*NO_ANSWER):  # ``start_given_up`` tries again
                if name != "proxy":
                    self.start(name)

    def replace_proxy(self, can_load: Callable[[], bool]) -> None:
        """After ``revive``, starts the proxy in the place of the old one, once that has ended or a new one ``can_load``
        the graph: until then the old one knows more, and loses nothing. Raises one of NO_ANSWER."""
        if self._old_proxies is None or (any(one.is_running() for one in self._old_proxies) and not can_load()):
            return
        end_processes(self._old_proxies)
        self.start("proxy")
        self._old_proxies = None

    def stop(self) -> None:
        """Stops the programs in reverse order, by force after STOP_TIMEOUT_S; nothing of them is left."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_TIMEOUT_S)
        end_leftovers(self.home)
        # It has ended by now, and stays a zombie unless somebody waits for it.
        self.process.wait()


def leftovers(home: Path) -> list[psutil.Process]:
    """The living processes with our mark, except this one, its parents and Postgres, which its own module stops."""
    spared = {process.pid for process in postgres_cluster.processes(home)}
    spared |= {os.getpid(), *(process.pid for process in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid not in spared and process.environ().get(MARK) == str(home):
                found.append(process)
    return found


def find_proxies(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Find the processes that serve prompts, with their children."""
    found = []
    for process in processes:
        with suppress(psutil.Error):
            if SERVER in process.cmdline():
                found += [process, *process.children(recursive=True)]
    return found


def end_processes(processes: Sequence[psutil.Process], grace_s: float = LEFTOVER_GRACE_S) -> None:
    """Asks them to end, and kills what has not after ``grace_s``."""
    ours = {process.pid for process in processes}
    for process in processes:
        with suppress(psutil.Error):
            # Children are left to their parents: a Celery worker whose children get it too can hang for minutes.
            if process.ppid() not in ours:
                process.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs(processes, timeout=grace_s)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=LEFTOVER_GRACE_S)


def end_leftovers(home: Path) -> bool:
    """Ends what a killed supervisord or launcher left running, Postgres last; whether there was anything."""
    found = leftovers(home)
    for process in found:
        with suppress(psutil.Error):
            # First, and by force: while it ends in order, it could start the others again.
            if MODULE in process.cmdline():
                process.kill()
                process.wait(LEFTOVER_GRACE_S)
    end_processes(found)
    # Looked for again: what has just been told to end may have forked meanwhile.
    end_processes(leftovers(home), grace_s=0)
    had_postgres = bool(postgres_cluster.processes(home))
    postgres_cluster.stop(home)
    return bool(found) or had_postgres
