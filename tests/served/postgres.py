"""A Postgres of a test's own: to be stopped, frozen and started again."""

import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import psycopg

from festinger_site import home as homes
from festinger_site.run import postgres_cluster
from tests.prepared_postgres import PREPARED, copy_cluster, embedded_url


class OwnPostgres:
    """``with OwnPostgres() as own:`` runs one, with a migrated and bootstrapped database at ``own.url``. Its home is
    made in ``folder``, or where temporary folders are."""

    def __init__(self, *, durable: bool = False, folder: Path | None = None) -> None:
        self._durable = durable
        self.home = Path(tempfile.mkdtemp(prefix="festinger-own-", dir=folder)).resolve()
        self.home.chmod(0o711)  # as root, Postgres is another user, who has to pass through
        homes.ensure_run_folder(self.home)
        self.url = embedded_url(self.home, PREPARED)
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        copy_cluster(self.home, durable=self._durable)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.thaw()
        self.stop()
        postgres_cluster.remove(self.home)
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def is_running(self) -> bool:
        return postgres_cluster.is_running(self.home)

    def start(self) -> None:
        if self._server is not None:
            self._server.wait()  # it may have ended by itself
        self._server = postgres_cluster.start(self.home)

    def stop(self) -> None:
        postgres_cluster.stop(self.home)
        if self._server is not None:
            self._server.wait()

    def freeze(self) -> None:
        """It takes connections, as the kernel does that, and answers nothing."""
        for process in postgres_cluster.processes(self.home):
            with suppress(psutil.NoSuchProcess):  # a backend that ended meanwhile
                process.suspend()

    def thaw(self) -> None:
        for process in postgres_cluster.processes(self.home):
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def kill(self) -> None:
        """All its processes, at once and without warning."""
        for process in postgres_cluster.processes(self.home):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(postgres_cluster.processes(self.home))
        self.stop()

    def copy(self, name: str) -> str:
        """A database of this name that is like the one at ``url`` now; its address. Nobody may be connected there.

        Copied by way of the log, its sequences would go back at a crash: they take their next 32 numbers for logged."""
        if not self.is_running:  # a test that failed may have left it killed
            self.start()
        with postgres_cluster.connect(self.home) as admin:
            admin.execute(f'CREATE DATABASE "{name}" TEMPLATE {PREPARED} STRATEGY file_copy')
        return embedded_url(self.home, name)

    def run(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as client:
            cursor = client.execute(statement, arguments)
            return [] if cursor.description is None else cursor.fetchall()
