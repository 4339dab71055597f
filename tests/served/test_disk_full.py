"""A whole Festinger whose home is on a small disk, which is filled: prompts are answered all the time, and what was
accepted is there when there is room again, without anybody doing more than make it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest

from festinger_site import home as homes
from festinger_site.launcher import postgres_cluster, reserve, supervision
from festinger_site.launcher.scratch_instance import free_port
from tests import waiting
from tests.launched import Run, are_known, prompt, teach
from tests.standin import StandIn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount a small file system"),
]

SIZE = "420m"  # a new database takes 100 MB, the reserve 64
eventually = partial(waiting.eventually, within_s=120.0)


class SmallDisk:
    """A file system of its own, mounted at ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    @property
    def free_bytes(self) -> int:
        return shutil.disk_usage(self.folder).free

    def has_reserve(self) -> bool:
        file = self.folder / "home" / reserve.NAME
        return file.exists() and file.stat().st_size == reserve.SIZE_MIB * reserve.MIB

    @contextmanager
    def full(self, *, with_reserve: bool) -> Iterator[None]:
        """No room is left meanwhile; ``with_reserve``: but for what the reserve gives."""
        try:
            assert eventually(self.has_reserve)
            self._fill()
            assert eventually(lambda: not self.has_reserve() and self.free_bytes > reserve.FULL_BYTES)
            if not with_reserve:
                self._fill()
            yield
        finally:
            self._ballast.unlink()

    def _fill(self) -> None:
        with suppress(OSError), self._ballast.open("ab", buffering=0) as ballast:
            while ballast.write(bytes(4096 * 16)) == 4096 * 16:
                pass


@pytest.fixture(scope="module")
def disk() -> Iterator[SmallDisk]:
    folder = Path(tempfile.mkdtemp(prefix="festinger-small-")).resolve()
    folder.chmod(0o711)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0711", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("this machine lets nobody mount a small file system")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


@pytest.fixture(scope="module")
def run(disk: SmallDisk, upstream: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    said = tmp_path_factory.mktemp("launcher") / "said"
    run = Run(disk.folder / "home", free_port(), said, FESTINGER_UPSTREAM=upstream.url)
    try:
        run.wait_ready()
        yield run
    finally:
        run.stop()
        supervision.end_leftovers(run.home)
        shutil.rmtree(homes.run_folder(run.home), ignore_errors=True)


@pytest.fixture
def client(run: Run) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{run.port}", trust_env=False, timeout=30) as client:
        assert eventually(run.is_ready)
        yield client


def name_words(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{chr(ord('a') + number)}" for number in range(count)]


def test_prompts_go_on_and_what_they_teach_is_known_when_there_is_room(
    disk: SmallDisk, run: Run, client: httpx.Client
) -> None:
    said, taught, late = (name_words(prefix, 20) for prefix in ("blorf", "snarf", "gronk"))

    with disk.full(with_reserve=True):
        assert {prompt(client, word) for word in said} == {200}
        health = client.get("/health").json()["disk"]
        assert (health["free_bytes"] < 100_000_000, health["is_low"]) == (True, True)
    with disk.full(with_reserve=False):
        accepted = [word for word in taught if teach(client, word) in (200, 201)]
        assert {prompt(client, word) for word in late} == {200}
        assert disk.free_bytes < reserve.FULL_BYTES

    assert eventually(are_known(client, [*said, *accepted, *late]))
    assert client.get("/health").json()["dropped_messages"] == 0
    assert eventually(disk.has_reserve)
    assert f"The disk of {run.home} is full" in run.said


def test_postgres_that_finds_no_room_to_recover_is_back_when_there_is(
    disk: SmallDisk, run: Run, client: httpx.Client
) -> None:
    words = name_words("zwiff", 20)
    with disk.full(with_reserve=False):
        for process in postgres_cluster.processes(run.home):
            with suppress(psutil.NoSuchProcess):
                process.kill()

        assert {prompt(client, word) for word in words} == {200}

    assert eventually(lambda: client.get("/health").json()["database"]["reachable"])
    assert eventually(are_known(client, words))


def test_supervisord_killed_on_a_full_disk_costs_no_prompt_and_comes_back(
    disk: SmallDisk, run: Run, client: httpx.Client
) -> None:
    words = name_words("quibb", 20)
    with disk.full(with_reserve=False):
        proxy, before = run.main_process(supervision.SERVER), run.supervisord
        before.kill()

        assert eventually(lambda: run.supervisord not in (None, before)), run.said
        assert {prompt(client, word) for word in words} == {200}

    assert proxy
    assert eventually(lambda: not proxy.is_running()), run.said
    assert eventually(run.is_ready)
    assert eventually(are_known(client, words))
    assert run.process.poll() is None
