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
from proxy.access.caller import Caller, find_caller
from proxy.access.projects import MAKE_S, NamedProjects
from proxy.errors import DatabaseAway


def name_at_once(processes: int, dsn: str, *slugs: str) -> list[Caller]:
    """Return the callers of prompts from this machine that each of the processes gets at once."""

    async def identify(projects: NamedProjects, cache: Cache, slug: str) -> Caller:
        headers = [(b"x-festinger-project", slug.encode())]
        scope: dict[str, Any] = {"headers": headers, "client": ("127.0.0.1", 50_000), "http_version": "1.1"}
        return await projects.identify_sender(scope | {"caller": find_caller(cache, scope)})

    async def identify_all() -> list[Caller]:
        caches = [Cache(loaded_at=1.0) for _ in range(processes)]
        places = [(NamedProjects(cache, dsn), cache) for cache in caches]
        return await asyncio.gather(*(identify(*place, slug) for place in places for slug in slugs))

    return asyncio.run(identify_all())


def test_processes_that_name_the_same_at_once_get_the_same_project(dsn: str) -> None:
    callers = name_at_once(3, dsn, *["p05"] * 4)

    made = Project.objects.get()
    assert (made.slug, made.name, made.is_open) == ("p05", "p05", True)
    assert {(caller.project, caller.has_no_project_access) for caller in callers} == {(made.pk, False)}


def test_processes_that_name_others_at_once_stay_within_the_limit(dsn: str) -> None:
    Project.objects.bulk_create(
        Project(slug=f"filler-{number}", name="F") for number in range(1, NAMED_PROJECTS_MAX)
    )  # one less than that

    callers = name_at_once(3, dsn, "p05", "p06", "p07")

    (made,) = Project.objects.exclude(slug__startswith="filler")
    assert Project.objects.count() == NAMED_PROJECTS_MAX
    assert {caller.project for caller in callers if caller.named_project == made.slug} == {made.pk}
    assert all(caller.has_no_project_access for caller in callers if caller.named_project != made.slug)


@pytest.fixture(params=["refuses", "is silent"])
def lost_dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if request.param == "is silent":
            server.listen()
        yield f"postgresql://u:p@127.0.0.1:{server.getsockname()[1]}/none"


def test_without_postgres_a_prompt_goes_on_and_a_write_is_told(lost_dsn: str) -> None:
    started = time.monotonic()

    (caller,) = name_at_once(1, lost_dsn, "p05")

    assert time.monotonic() - started < MAKE_S + 1
    assert (caller.has_no_project_access, caller.scope_for({})) == (True, None)
    with pytest.raises(DatabaseAway):
        asyncio.run(NamedProjects(Cache(loaded_at=1.0), lost_dsn).make_for_write(caller))
