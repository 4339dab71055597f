"""Creates projects, on purpose or because a request names one that does not exist yet."""

import re
from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from memory.db.connections import open_connection
from memory.db.locks import UNTIL_COMMIT, Lock
from memory.db.transactions import constraint_of
from memory.models import Project
from memory.models.operating import SLUG

# Counts all projects, however they were made. It keeps a client that names its projects after its sessions from filling
# the pages of the admin; whoever needs more creates them on purpose.
NAMED_PROJECTS_MAX: Final = 50
CLOSED: Final = "Requests without a token may not name it. To allow that, open it on its page in the admin."
UNIQUE: Final = "project_slug_unique"
# By the constraint's name.
RULES: Final = {each.name: str(each.get_violation_error_message()) for each in Project._meta.constraints}
INSERT: Final = """
    INSERT INTO project (slug, name, is_open)
    SELECT %(slug)s, %(slug)s, %(is_open)s WHERE (SELECT count(*) FROM project) < %(max)s
    ON CONFLICT (slug) DO NOTHING
"""
# A statement of its own, so that it sees what others have committed meanwhile.
FIND: Final = "SELECT id, is_open FROM project WHERE slug = %s"


class ProjectMistake(ValueError):
    """No such project can be created. The message says why."""


class ProjectExists(ProjectMistake):
    """The project exists already."""


class TooManyProjects(ProjectMistake):
    """There are too many projects for a request to create one by naming it."""

    def __init__(self) -> None:
        super().__init__(
            f"there are {NAMED_PROJECTS_MAX} projects or more, so naming one does not make it:"
            f" {settings.MANAGE} create_project SLUG or POST /projects does"
        )


def create(slug: str, name: str = "", description: str = "", *, is_open: bool = False) -> Project:
    """Create a project. Raises ProjectExists, ProjectMistake."""
    project = Project(slug=slug, name=name or slug, description=description, is_open=is_open)
    try:
        project.clean_fields()
        with transaction.atomic():
            project.save(force_insert=True)
            project.refresh_from_db(fields=["created_at"])  # Postgres has set it
    except ValidationError as mistake:
        fields = (f"{field}: {' '.join(messages)}" for field, messages in mistake.message_dict.items())
        raise ProjectMistake(" ".join(fields)) from None
    except IntegrityError as error:
        constraint = constraint_of(error) or ""
        kind = ProjectExists if constraint == UNIQUE else ProjectMistake
        raise kind(RULES[constraint]) from None
    return project


async def make_named(dsn: str, slug: str, *, is_open: bool) -> tuple[int, bool]:
    """Return the project's id and whether it is open; create it with ``is_open`` if it does not exist. If several
    requests name it at the same time, one creates it and all get the same.

    Raises ProjectMistake; psycopg.Error or OSError if Postgres is away."""
    if not re.fullmatch(SLUG, slug):
        raise ProjectMistake(RULES["project_slug_is_plain"])
    async with open_connection(dsn, "projects") as connection, connection.transaction():
        await connection.execute(UNTIL_COMMIT, [Lock.PROJECTS, [0]])
        await connection.execute(INSERT, {"slug": slug, "is_open": is_open, "max": NAMED_PROJECTS_MAX})
        cursor = await connection.execute(FIND, [slug])
        row = await cursor.fetchone()
    if row is None:
        raise TooManyProjects
    project_id, is_open = row
    return project_id, is_open
