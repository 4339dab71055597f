"""A whole Festinger whose clock jumps. Without a machine of its own: what its processes read as the time is shifted."""

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from festinger_site import home as homes
from festinger_site.dev.scratch_instance import free_port
from festinger_site.run import postgres_cluster, supervision
from tests import waiting
from tests.launched import Run, are_known, prompt
from tests.standin import StandIn

pytestmark = pytest.mark.slow

eventually = partial(waiting.eventually, within_s=120.0)
SHIFT = """
import os, pathlib, time

real, file = time.time, pathlib.Path(os.environ["CLOCK_SHIFT"])
time.time = lambda: real() + float(file.read_text())
"""


class World:
    """A home, and its run."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self._folder = folder
        (folder / "sitecustomize.py").write_text(SHIFT)
        self.shift_clock(0)
        more = {"PYTHONPATH": str(folder), "CLOCK_SHIFT": str(folder / "shift")}
        self.run = Run(folder / "home", free_port(), folder / "said", FESTINGER_UPSTREAM=upstream, **more)

    def shift_clock(self, seconds: float) -> None:
        new = self._folder / "shift.new"
        new.write_text(str(seconds))
        new.rename(self._folder / "shift")


@pytest.fixture(scope="module")
def world(upstream: StandIn) -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="festinger-clock-")).resolve()
    folder.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    world = World(folder, upstream.url)
    try:
        world.run.wait_ready()
        yield world
    finally:
        world.run.stop()
        supervision.stop_orphans(world.run.home)
        postgres_cluster.remove(world.run.home)
        shutil.rmtree(homes.run_folder(world.run.home), ignore_errors=True)
        shutil.rmtree(folder)


@pytest.fixture
def client(world: World) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{world.run.port}", trust_env=False, timeout=30) as client:
        yield client


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
