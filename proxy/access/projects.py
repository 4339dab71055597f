"""Makes the projects that prompts and writes name for the first time."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

import psycopg

from memory import bounds
from memory.access.projects import CLOSED, NAMED_PROJECTS_MAX, ProjectMistake, TooManyProjects, make_named
from memory.cache.state import Cache, ProjectRow
from memory.db.connections import first_line
from proxy.access.caller import Caller, find_caller
from proxy.access.scopes import may_make_project, read_slug
from proxy.errors import DatabaseAway, NotAllowed

logger = logging.getLogger(__name__)

# A prompt waits no longer. Connecting and committing take some 10 ms; only the first prompt of a project waits for it.
MAKE_S: Final = 1.0
BOUND = bounds.define(
    "named_projects", f"requests that named an unknown project while there were {NAMED_PROJECTS_MAX}, which made none"
)


class NamedProjects:
    """Makes a project for the first caller who names it and may make it, and puts it into this process's cache; the
    table's trigger tells the others. Everything runs on the event loop, over a connection that does not block it."""

    def __init__(self, cache: Cache, dsn: str) -> None:
        self._cache = cache
        self._dsn = dsn
        self._lock = asyncio.Lock()  # one connection at a time, however many requests name new projects

    async def identify_sender(self, scope: Mapping[str, Any]) -> Caller:
        """Return the caller of a prompt, with access to the project that it names if that can be made; if not, the
        prompt goes on without."""
        caller: Caller = scope["caller"]
        if caller.has_no_project_access and caller.named_project in self._cache.projects:
            return find_caller(self._cache, scope)  # another request has made it since
        if caller.is_temporary or not may_make_project(self._cache, caller, caller.named_project):
            return caller
        try:
            await self._make(caller, caller.named_project)
        except ProjectMistake:
            return caller
        except Exception as error:  # no error here may fail the prompt
            is_unexpected = not isinstance(error, (psycopg.Error, OSError))
            logger.warning("project.not_made", exc_info=is_unexpected, extra={"error": first_line(error)})
            return caller
        return find_caller(self._cache, scope)

    async def make_for_write(self, caller: Caller, project: str = "") -> str:
        """Make the project that a call to Festinger's own endpoint names in its body or else its header, if there is
        none and the caller may make it. Returns a note for the caller if the new project is closed, else "". Raises
        NotAllowed, DatabaseAway."""
        slug = read_slug(caller, project)
        if not may_make_project(self._cache, caller, slug):
            return ""
        try:
            await self._make(caller, slug)
        except ProjectMistake as mistake:
            raise NotAllowed(str(mistake), status=403) from mistake
        except (psycopg.Error, OSError) as error:
            logger.warning("project.not_made", extra={"error": first_line(error)})
            raise DatabaseAway from error
        return "" if self._cache.projects[slug].is_open else CLOSED

    async def _make(self, caller: Caller, slug: str) -> None:
        """Raises ProjectMistake; TimeoutError, psycopg.Error or OSError if Postgres is away."""
        async with asyncio.timeout(MAKE_S), self._lock:
            if slug in self._cache.projects:  # another request has made it meanwhile
                return
            try:
                if len(self._cache.projects) >= NAMED_PROJECTS_MAX:
                    raise TooManyProjects
                # If the caller has no token, the project has to be open: nobody could name it again otherwise.
                project_id, is_open = await make_named(self._dsn, slug, is_open=caller.token is None)
            except TooManyProjects:
                BOUND.count_hit(projects=len(self._cache.projects))
                raise
            self._cache.projects[slug] = ProjectRow(project_id, is_open)
        logger.info("project.made", extra={"project": slug, "agent": caller.name})
