"""A whole Festinger that loses its power, or whose clock jumps. Without a machine of its own: all its processes are
killed at once, and what they read as the time is shifted."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest

from festinger_site import home as homes
from festinger_site.launcher import postgres_cluster, supervision
from festinger_site.launcher.scratch_instance import free_port
from tests import waiting
from tests.launched import Run, are_known, prompt, teach
from tests.standin import StandIn

pytestmark = pytest.mark.slow

eventually = partial(waiting.eventually, within_s=120.0)
SAFE_S = 1.0  # after its answer, what a prompt says is on the disk
SHIFT = """
import os, pathlib, time

real, file = time.time, pathlib.Path(os.environ["CLOCK_SHIFT"])
time.time = lambda: real() + float(file.read_text())
"""


class World:
    """A home, and its last run."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self._folder = folder
        self._upstream = upstream
        self._port = free_port()
        (folder / "sitecustomize.py").write_text(SHIFT)
        self._runs = 0
        self.shift_clock(0)
        self.run = self.start()

    def start(self) -> Run:
        self._runs += 1
        more = {"PYTHONPATH": str(self._folder), "CLOCK_SHIFT": str(self._folder / "shift")}
        said = self._folder / f"said{self._runs}"
        self.run = Run(self._folder / "home", self._port, said, FESTINGER_UPSTREAM=self._upstream, **more)
        self.run.wait_ready()
        assert eventually(self.run.is_ready)
        return self.run

    def shift_clock(self, seconds: float) -> None:
        new = self._folder / "shift.new"
        new.write_text(str(seconds))
        new.rename(self._folder / "shift")

    def cut_power(self) -> None:
        for process in [psutil.Process(self.run.process.pid), *self.run.everything()]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.run.process.wait()


@pytest.fixture(scope="module")
def world(upstream: StandIn) -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="festinger-power-")).resolve()
    folder.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    home = folder / "home"
    world = World(folder, upstream.url)
    try:
        yield world
    finally:
        world.run.stop()
        supervision.end_leftovers(home)
        postgres_cluster.remove(home)
        shutil.rmtree(homes.run_folder(home), ignore_errors=True)
        shutil.rmtree(folder)


@pytest.fixture
def client(world: World) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{world.run.port}", trust_env=False, timeout=30) as client:
        yield client


def test_what_was_accepted_survives_the_loss_of_power(world: World, client: httpx.Client) -> None:
    said, taught = [[f"{name}{letter}" for letter in "abcdefghij"] for name in ("quarf", "trilb")]
    assert {prompt(client, word) for word in said} == {200}
    time.sleep(SAFE_S)
    assert {teach(client, word) for word in taught} == {201}

    world.cut_power()
    world.start()

    assert eventually(are_known(client, [*said, *taught]))


@pytest.mark.parametrize(("word", "hours"), [("jumpfore", 1), ("jumpback", -1)])
def test_prompts_teach_and_recall_while_the_clock_is_wrong_and_after(
    world: World, client: httpx.Client, word: str, hours: int
) -> None:
    assert prompt(client, f"{word}before") == 200
    assert eventually(are_known(client, [f"{word}before"]))

    world.shift_clock(hours * 3600)
    try:
        assert prompt(client, f"{word}meanwhile") == 200
        assert eventually(are_known(client, [f"{word}before", f"{word}meanwhile"]))
    finally:
        world.shift_clock(0)

    assert prompt(client, f"{word}after") == 200
    assert eventually(are_known(client, [f"{word}before", f"{word}meanwhile", f"{word}after"]))
