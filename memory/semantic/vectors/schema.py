"""The tables of the vectors, which need the Postgres extension ``vector``: ``prepare`` creates them if it is available.
Without it, episodes and memories are found by their words only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import Error, connection, transaction

from memory.db.connections import fetch_rows, first_line
from memory.models import Embedder

EXTENSION: Final = "vector"
LEAST_VERSION: Final = (0, 8)  # the first whose index scan continues if a filter leaves too little
TABLES: Final = ("memory_vector", "episode_vector")

# The type has no number of dimensions: embedders differ in it. An index has, by a cast.
MAKE_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS memory_vector (
        id bigint PRIMARY KEY REFERENCES memory ON DELETE CASCADE,
        embedder_id bigint NOT NULL REFERENCES embedder,
        vector halfvec NOT NULL
    );
    CREATE TABLE IF NOT EXISTS episode_vector (
        id bigint PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
        embedder_id bigint NOT NULL REFERENCES embedder,
        vector halfvec NOT NULL
    );
    -- Processes hold the vectors of messages (memory/search/held.py).
    CREATE TRIGGER episode_vector_announce_insert AFTER INSERT ON episode_vector REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
    CREATE TRIGGER episode_vector_announce_update AFTER UPDATE ON episode_vector
        REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
    CREATE TRIGGER episode_vector_announce_delete AFTER DELETE ON episode_vector REFERENCING OLD TABLE AS old_rows
        FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
    CREATE TRIGGER episode_vector_announce_truncate AFTER TRUNCATE ON episode_vector
        FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();
"""
VERSIONS: Final = "SELECT installed_version, default_version FROM pg_available_extensions WHERE name = %s"


@dataclass(frozen=True, slots=True)
class Extension:
    """The version of pgvector in this database; empty if it is not installed, or not available."""

    installed: str = ""
    available: str = ""

    @property
    def is_usable(self) -> bool:
        return is_new_enough(self.installed)


def is_new_enough(version: str) -> bool:
    numbers = tuple(int(part) for part in version.split(".") if part.isdecimal())
    return numbers >= LEAST_VERSION


def find_extension() -> Extension:
    with connection.cursor() as cursor:
        cursor.execute(VERSIONS, [EXTENSION])
        installed, available = cursor.fetchone() or ("", "")
    return Extension(installed or "", available or "")


def has_tables() -> bool:
    [(are_there,)] = fetch_rows(
        "SELECT to_regclass('memory_vector') IS NOT NULL AND to_regclass('episode_vector') IS NOT NULL"
    )
    return bool(are_there)


def make_tables() -> str:
    """Install the extension and add the tables; return what is in the way, "" if they exist."""
    if has_tables():
        return ""
    extension = find_extension()
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            if not extension.is_usable:
                if not is_new_enough(extension.available):
                    return describe_lack(extension)
                change = "ALTER EXTENSION vector UPDATE" if extension.installed else "CREATE EXTENSION vector"
                cursor.execute(change)
            cursor.execute(MAKE_TABLES)
            # Texts from before the tables are to be embedded, too: the worker finds no current embedder.
            Embedder.objects.update(is_current=False)
    except Error as error:
        return f"pgvector could not be installed: {first_line(error)}"
    return ""


def describe_lack(extension: Extension) -> str:
    """Return why there are no vectors in this database."""
    least = ".".join(map(str, LEAST_VERSION))
    if not extension.available:
        return "Postgres does not have the extension pgvector"
    if not is_new_enough(extension.available):
        return f"pgvector {extension.available} is older than {least}"
    return "pgvector is not set up"


def add_index(embedder: Embedder) -> None:
    """Add an index for each table, on this embedder's vectors only."""
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS {table}_{embedder.pk} ON {table}"
                f" USING hnsw ((vector::halfvec({embedder.dimensions})) halfvec_cosine_ops)"
                f" WHERE embedder_id = {embedder.pk}"
            )


def write_vector(vector: Sequence[float]) -> str:
    """Write the vector as Postgres writes a halfvec, with the four digits that it keeps."""
    return f"[{','.join([f'{number:.4g}' for number in vector])}]"


def drop_unused() -> None:
    """Drop the indexes and rows of earlier embedders that have no vectors left."""
    for embedder in Embedder.objects.filter(is_current=False):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT EXISTS (SELECT FROM memory_vector WHERE embedder_id = %(id)s)"
                " OR EXISTS (SELECT FROM episode_vector WHERE embedder_id = %(id)s)",
                {"id": embedder.pk},
            )
            if cursor.fetchone() == (False,):
                cursor.execute("".join(f"DROP INDEX IF EXISTS {table}_{embedder.pk};" for table in TABLES))
                embedder.delete()
