"""Projects that are named for the first time, in several processes at once, and without a Postgres that answers."""

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memory.access.projects import NAMED_PROJECTS_MAX
from memory.cache.state import Cache
from memory.models import Project
from proxy.auth import Caller
from proxy.errors import DatabaseAway
from proxy.projects import MAKE_S, NamedProjects


def scope_naming(slug: str) -> dict[str, Any]:
    """That of a prompt from this machine."""
    headers = [(b"x-festinger-project", slug.encode())]
    return {"headers": headers, "client": ("127.0.0.1", 50_000), "http_version": "1.1"}


def name_at_once(places: list[NamedProjects], slugs: list[str]) -> list[Caller]:
    async def name_all() -> list[Caller]:
        return await asyncio.gather(*(place.identify_sender(scope_naming(slug)) for place in places for slug in slugs))

    return asyncio.run(name_all())


def test_processes_that_name_the_same_at_once_get_the_same_project(dsn: str) -> None:
    places = [NamedProjects(Cache(loaded_at=1.0), dsn) for _ in range(3)]

    callers = name_at_once(places, ["p05"] * 4)

    made = Project.objects.get()
    assert (made.slug, made.name, made.is_open) == ("p05", "p05", True)
    assert {(caller.project, caller.is_astray) for caller in callers} == {(made.pk, False)}


def test_processes_that_name_others_at_once_stay_within_the_limit(dsn: str) -> None:
    Project.objects.bulk_create(
        Project(slug=f"filler-{number}", name="F") for number in range(1, NAMED_PROJECTS_MAX)
    )  # one less than that
    places = [NamedProjects(Cache(loaded_at=1.0), dsn) for _ in range(3)]

    callers = name_at_once(places, ["p05", "p06", "p07"])

    (made,) = Project.objects.exclude(slug__startswith="filler")
    assert Project.objects.count() == NAMED_PROJECTS_MAX
    assert {caller.project for caller in callers if caller.named_project == made.slug} == {made.pk}
    assert all(caller.is_astray for caller in callers if caller.named_project != made.slug)


@pytest.fixture(params=["refuses", "is silent"])
def lost_dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if request.param == "is silent":
            server.listen()
        yield f"postgresql://u:p@127.0.0.1:{server.getsockname()[1]}/none"


def test_without_postgres_a_prompt_goes_on_and_a_write_is_told(lost_dsn: str) -> None:
    projects = NamedProjects(Cache(loaded_at=1.0), lost_dsn)
    started = time.monotonic()

    (caller,) = name_at_once([projects], ["p05"])

    assert time.monotonic() - started < MAKE_S + 1
    assert (caller.is_astray, caller.scope_for({})) == (True, None)
    with pytest.raises(DatabaseAway):
        asyncio.run(projects.make_for_write(caller))
