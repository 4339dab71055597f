"""The brokers that can wake the workers: what ``CELERY_BROKER_URL`` names, each on a free port of this machine."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import HOST, BenchmarkBroken
from benchmarks.servers import is_listening
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

# Not the command on the path: Debian's changes the user, and with it the folders.
RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"


@dataclass(frozen=True, slots=True)
class Broker:
    """``program``: what must be installed, empty for nothing; ``start`` gives its address."""

    name: str
    program: str
    start: Callable[[Path], AbstractContextManager[str]]

    @property
    def lack(self) -> str:
        """Why it cannot be measured."""
        is_there = not self.program or shutil.which(self.program)
        return "" if is_there else f"{self.program} is not installed"


@contextmanager
def redis(home: Path) -> Iterator[str]:
    port = scratch_instance.free_port()
    with served("redis", home, port, ["redis-server", "--bind", HOST, "--port", str(port), "--save", ""]):
        yield f"redis://{HOST}:{port}/0"


@contextmanager
def rabbitmq(home: Path) -> Iterator[str]:
    port, between_nodes, epmd = (scratch_instance.free_port() for _ in range(3))
    folder = home / "rabbitmq"
    folder.mkdir(exist_ok=True)
    settings = {
        "HOME": folder,
        "ERL_EPMD_ADDRESS": HOST,
        "ERL_EPMD_PORT": epmd,
        "RABBITMQ_NODENAME": f"benchmark-{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": HOST,
        "RABBITMQ_NODE_PORT": port,
        "RABBITMQ_DIST_PORT": between_nodes,
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_MNESIA_BASE": folder,
        "RABBITMQ_LOG_BASE": folder,
        "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "no_plugins",
    }
    environment = {name: str(value) for name, value in settings.items()}
    try:
        with served("rabbitmq", home, port, [RABBITMQ], **environment):
            yield f"amqp://{HOST}:{port}//"
    finally:
        # A daemon that it started, of this port alone.
        subprocess.run(["epmd", "-kill"], env=os.environ | environment, capture_output=True, check=False)


@contextmanager
def served(name: str, home: Path, port: int, command: list[str], **more: str) -> Iterator[None]:
    """Raises BenchmarkBroken where it does not start."""
    scratch_instance.stop_on_signals()  # whoever is started while we ignore them would ignore them, too
    with (homes.log_folder(home) / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=home,
            env=os.environ | more,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        if not is_listening(process, port):
            raise BenchmarkBroken(f"{name} did not start:\n{homes.log_tail(home, f'{name}.log')}")
        yield
    finally:
        scratch_instance.end(process)


BROKERS = (
    Broker("PGMQ", "", lambda home: nullcontext("pgmq://")),
    Broker("Redis", "redis-server", redis),
    Broker("RabbitMQ", RABBITMQ, rabbitmq),
)
