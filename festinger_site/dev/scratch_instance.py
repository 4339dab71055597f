"""A temporary Festinger: started as ``make run`` starts it, but with a temporary home, on free ports, and with the
stand-in for Ollama behind it. However it ends, nothing is left."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from festinger_site import home as homes
from festinger_site.run import postgres_cluster, supervision
from festinger_site.run.console import say
from festinger_site.run.liveness_probe import health

READY_TIMEOUT_S = 180  # more than the launcher's own patience, which then says why
STOP_TIMEOUT_S = 60
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WIRING = ("FESTINGER_", "DATABASE_URL", "CELERY_BROKER_URL")  # the caller's own Festinger must not be used


class ScratchFailed(Exception):
    """It did not start. The message has the launcher's output."""


class Interrupted(Exception):
    """Ctrl-C, or another signal that asks to stop. ``status`` is the exit status for it."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.status = 128 + number


def stop_on_signals() -> None:
    """From now on a signal raises Interrupted, once: the cleaning up that follows is not interrupted."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        ignore_signals()
        raise Interrupted(number)

    for number in STOPPING:
        signal.signal(number, interrupt)


def ignore_signals() -> None:
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def scratch() -> Iterator[str]:
    """Its address. Raises ScratchFailed."""
    with home() as folder, standin() as ollama, festinger(folder, ollama) as url:
        yield url


@contextmanager
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="festinger-scratch-")).resolve()
    folder.chmod(homes.FOLDER_MODE)
    try:
        yield folder / "home"
    finally:
        ignore_signals()
        # They may be outside of the folder: the data as root, the sockets where the path is too long for one.
        postgres_cluster.remove(folder / "home")
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def standin() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        port = listener.getsockname()[1]
        # The socket is handed over, listening: it answers at once, and nobody can take its port.
        process = subprocess.Popen(
            [sys.executable, "-m", "standin", "--fd", str(listener.fileno())],
            cwd=homes.ROOT,
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
            # Ctrl-C in the terminal reaches only us.
            start_new_session=True,
        )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        end(process)


@contextmanager
def festinger(home: Path, ollama: str) -> Iterator[str]:
    port = free_port()
    output = home.with_name("launch.out")
    with output.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "festinger_site.run.launch"],
            cwd=homes.ROOT,
            env=environment(home, port, ollama),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    deadline = time.monotonic() + READY_TIMEOUT_S
    try:
        while not health("127.0.0.1", port).get("ready"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ScratchFailed(f"Festinger did not start. It said:\n{output.read_text(errors='replace').rstrip()}")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        say("Stopping ...")
        end(process)
        # Of a launcher that had to be killed.
        supervision.stop_orphans(home)


def free_port() -> int:
    """One that nobody else is given while this process lives: the launcher takes a number, not a socket."""
    # Bound and not listening, the socket keeps the kernel from choosing the port for others, and lets a server that
    # asks for this very one listen there.
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port = int(holder.getsockname()[1])
    holder.detach()
    return port


def environment(home: Path, port: int, ollama: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(WIRING)}
    ours = {"FESTINGER_HOME": str(home), "FESTINGER_PORT": str(port), "FESTINGER_UPSTREAM": ollama}
    # Nobody else knows its port, and who runs it also decides. MAKELEVEL: as below make, the launcher stops by itself
    # if we are killed.
    return kept | ours | {"FESTINGER_TRUST_LOOPBACK": "operator", "MAKELEVEL": "1"}


def end(process: subprocess.Popen[bytes]) -> None:
    ignore_signals()
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
