"""``make run``: starts everything in order, watches it, and stops it together."""

import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from festinger_site import home as homes
from festinger_site.environment import EnvironmentMistake, find_misspelled
from festinger_site.run import home_locks, postgres_cluster, preflight, supervision
from festinger_site.run.console import WaitNotice, say, tell_operator
from festinger_site.run.liveness_probe import LOOPBACK, health
from festinger_site.run.postgres_account import PostgresFailed
from festinger_site.run.preflight import LaunchFailed
from festinger_site.run.programs import programs
from festinger_site.run.reserve import Reserve
from festinger_site.run.stall_watch import StallWatch
from festinger_site.run.supervision import Supervisor

READY_TIMEOUT_S: Final = 120
PREPARE_AGAIN_S: Final = 60
# A make that is killed passes nothing on: that it is gone is seen by our having another parent.
MAKE_PID = os.getppid() if "MAKELEVEL" in os.environ else 0

# Where a signal that asks to stop leaves a byte, which nobody takes out. Empty until the signals are ours.
stop_pipes: list[int] = []


class StopAsked(Exception):
    """Ctrl-C, a signal, or the make that ran us is gone."""


def main() -> int:
    catch_stop_signals()
    try:
        home = homes.ensure()
        Reserve(home).keep()  # first: with a full disk, nothing below could write what it has to
        settings = load_settings()
        with home_locks.launching(home, patient("Waiting for the run before to stop")), ExitStack() as stops:
            launch(home, settings, stops)
    except StopAsked:
        return 0
    except (EnvironmentMistake, home_locks.HomeInUse, LaunchFailed, PostgresFailed) as problem:
        say(str(problem))
    return 1


def catch_stop_signals() -> None:
    """From now on ``pause`` notices them."""
    # Python's own C code writes the byte. A handler in Python runs in the middle of anything, a second one in the
    # middle of the first, and one that takes a lock may wait for itself.
    readable, writable = os.pipe()
    # C code that blocks in a signal handler blocks the process; that a byte finds no room is fine, one is enough.
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    # HUP is a terminal that was closed.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Not SIG_IGN: only for a signal with a handler is the byte written.
        signal.signal(number, lambda *_: None)
    stop_pipes.append(readable)


def load_settings() -> ModuleType:
    """Return Django's settings as a plain module, without Django. Raises EnvironmentMistake."""
    from festinger_site import settings

    return settings


def pause(seconds: float) -> None:
    """Raises StopAsked instead, where that is so; the launcher breaks off at these places and no other."""
    asked, _, _ = select.select(stop_pipes, [], [], seconds)
    if asked or (MAKE_PID and os.getppid() != MAKE_PID):
        raise StopAsked


def launch(home: Path, settings: ModuleType, stops: ExitStack) -> NoReturn:
    """Never returns: raises StopAsked, or what went wrong. ``stops`` then stops all that was started."""
    with home_locks.starting(home, on_wait=patient("Waiting for a command that uses this home")):
        if supervision.stop_orphans(home):
            say("Stopped what was left running.")
        preflight.check(settings)
        preflight.check_port(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
        supervisor = stops.enter_context(database(home, settings))
        was_prepared = preflight.is_prepared(settings.DATABASE_URL, settings.INSTALLED_APPS)
        operator = None if was_prepared else prepare(supervisor)
    try:
        supervisor.start("proxy", "worker")
        report = wait_ready(supervisor, settings)
        announce(settings, report)
    finally:
        # Also where the rest fails: only its hash is stored, and the next start has no new one.
        if operator:
            tell_operator(operator)
    keep_running(supervisor, settings, prepare_at=time.monotonic() if was_prepared else math.inf)


def keep_running(supervisor: Supervisor, settings: ModuleType, *, prepare_at: float) -> NoReturn:
    """Keep Festinger running, and prepare the database at that time. Raises StopAsked, or LaunchFailed."""
    watch, reserve = StallWatch(supervisor, settings), Reserve(supervisor.home)
    while True:
        pause(0.5)
        reserve.keep()
        supervisor.keep()
        watch.kill_stalled()
        if time.monotonic() >= prepare_at:
            prepare_at = math.inf if prepare_again(supervisor) else time.monotonic() + PREPARE_AGAIN_S


def patient(what: str, check: Callable[[], None] = lambda: None) -> Callable[..., None]:
    """An ``on_wait``: tells what we wait for, and breaks the wait off where it should, or where ``check`` raises."""
    waiting = WaitNotice(what)

    def on_wait(reason: str = "") -> None:
        waiting(reason)
        check()
        pause(0)

    return on_wait


@contextmanager
def database(home: Path, settings: ModuleType) -> Iterator[Supervisor]:
    """Yield a supervisor when a database answers, which it runs if that is ours. Stop everything at the end."""
    if homes.is_embedded():
        postgres_cluster.ensure_cluster(home, on_make=say)
    supervisor = Supervisor(home, programs(home, settings.FESTINGER_HOST, settings.FESTINGER_PORT))
    try:
        if homes.is_embedded():
            supervisor.start("postgres")
            on_wait = patient("Waiting for Postgres", lambda: supervisor.check("postgres"))
            postgres_cluster.wait_ready(home, on_wait=on_wait)
            postgres_cluster.ensure_database(home)
        yield supervisor
    finally:
        # Not what another launcher has started in a new home at this path: it has ended ours.
        if home_locks.read_launcher(home) in (0, os.getpid()):
            home_locks.tell_stopping(home)
            say("Stopping ...")
            supervisor.stop()
            say("Stopped.")


def prepare(supervisor: Supervisor) -> dict[str, str | None]:
    """Migrations and bootstrap. Returns the operator's name, and the password where it is new."""
    # A process of its own: the launcher lives as long as Festinger, and Django would stay in its memory.
    child = subprocess.Popen(
        # Not manage.py, which would wait for the database that we are about to prepare.
        [sys.executable, "-m", "django", "prepare", "--json", "--settings=festinger_site.settings"],
        cwd=homes.ROOT,
        env=supervision.build_environment(supervisor.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # Ctrl-C reaches only us: a migration is asked to end, and not broken off together with the launcher.
        start_new_session=True,
    )
    with child:
        try:
            while child.poll() is None:
                supervisor.keep()
                pause(0.02)
        except BaseException:
            child.terminate()
            raise
        if child.returncode:
            raise LaunchFailed("The database could not be set up.")
        assert child.stdout
        operator: dict[str, str | None] = json.load(child.stdout)
        return operator


def prepare_again(supervisor: Supervisor) -> bool:
    """Prepares a database that was prepared before; False where that fails, as when Postgres dies. Nothing waits for
    what it adds, such as a schedule that was deleted, or that a newer version brings."""
    try:
        tell_operator(prepare(supervisor))
    except LaunchFailed as failure:
        say(f"{failure} It is tried again in {PREPARE_AGAIN_S} s.")
        return False
    return True


def wait_ready(supervisor: Supervisor, settings: ModuleType) -> dict[str, Any]:
    """Returns the proxy's first report of being ready. Raises LaunchFailed with its log."""
    on_wait = patient("Waiting for the proxy to be ready", lambda: supervisor.check("proxy"))
    deadline = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline:
        report = health(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
        if report.get("ready"):
            return report
        on_wait()
        pause(0.05)
    log = homes.log_tail(supervisor.home, "proxy.log")
    raise LaunchFailed(f"The proxy is not ready after {READY_TIMEOUT_S} s:\n{log}")


def announce(settings: ModuleType, report: dict[str, Any]) -> None:
    host = LOOPBACK.get(settings.FESTINGER_HOST, settings.FESTINGER_HOST)
    url = f"http://[{host}]" if ":" in host else f"http://{host}"
    upstream = report.get("upstream", {})
    if upstream.get("reachable") is False:
        where = "FESTINGER_UPSTREAM" + (
            "" if settings.FESTINGER_UPSTREAM else f", or upstream.url in {settings.CONFIG_FILE}"
        )
        # Something else may be there, such as this Festinger itself.
        answer = f" ({upstream['error']})" if upstream["error"].startswith("it answers") else ""
        say(f"Warning: no Ollama answers at {upstream['url']}{answer}. Start it, or name another: {where}")
    for name, known in find_misspelled().items():
        say(f"Warning: {name} is not read by Festinger. Did you mean {known}?")
    say(f"Festinger is ready: {url}:{settings.FESTINGER_PORT} (agents' Ollama address)")
    if all(name.startswith("none") for name in report.get("models", {"": ""}).values()):
        say("No language model is configured (optional). One of your Ollama's: FESTINGER_MODEL=NAME, or in the admin")
    say(f"Admin: {url}:{settings.FESTINGER_PORT}/admin/   Logs: {settings.HOME / 'log'}   Stop: Ctrl-C")


if __name__ == "__main__":
    sys.exit(main())
