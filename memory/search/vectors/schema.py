"""The tables of the vectors, which need the Postgres extension ``vector``: ``prepare`` creates them if it is available.
Without it, episodes and memories are found by their words only."""

from collections.abc import Sequence
from typing import Final

from django.db import Error, connection, transaction

from memory.db.connections import fetch_rows, first_line
from memory.models import Embedder, TextKind

LEAST_VERSION: Final = (0, 8)  # of pgvector: the first whose index scan continues if a filter leaves too little
TABLES: Final = tuple(f"{kind}_vector" for kind in TextKind)

# The type has no number of dimensions: embedders differ in it. An index has, by a cast.
MAKE_TABLE: Final = """
    CREATE TABLE {kind}_vector (
        id bigint PRIMARY KEY REFERENCES {kind} ON DELETE CASCADE,
        embedder_id bigint NOT NULL REFERENCES embedder,
        vector halfvec NOT NULL
    );
"""
# Processes hold the vectors of messages (memory/search/held.py).
MAKE_TRIGGERS: Final = """
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
VERSIONS: Final = """
    SELECT coalesce(installed_version, ''), coalesce(default_version, '')
    FROM pg_available_extensions WHERE name = 'vector'
"""


def has_tables() -> bool:
    return fetch_rows("SELECT to_regclass('memory_vector') IS NOT NULL") == [(True,)]


def find_lack() -> str:
    """Return why this database has no vectors, "" if it has."""
    return "" if has_tables() else explain_missing_extension(find_versions()[1])


def find_versions() -> tuple[str, str]:
    """Return the installed and the available version of pgvector, "" if there is none."""
    installed, available = next(iter(fetch_rows(VERSIONS)), ("", ""))
    return installed, available


def explain_missing_extension(available: str) -> str:
    """Return why there are no vectors in a database with this version of pgvector available."""
    if not available:
        return "Postgres does not have the extension pgvector"
    if not is_new_enough(available):
        return f"pgvector {available} is older than {'.'.join(map(str, LEAST_VERSION))}"
    return "pgvector is not set up"


def is_new_enough(version: str) -> bool:
    return tuple(int(part) for part in version.split(".") if part.isdecimal()) >= LEAST_VERSION


def make_tables() -> str:
    """Install the extension and add the tables; return what is in the way, "" if they exist."""
    if has_tables():
        return ""
    installed, available = find_versions()
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            if not is_new_enough(installed):
                if not is_new_enough(available):
                    return explain_missing_extension(available)
                cursor.execute("ALTER EXTENSION vector UPDATE" if installed else "CREATE EXTENSION vector")
            cursor.execute("".join(MAKE_TABLE.format(kind=kind) for kind in TextKind) + MAKE_TRIGGERS)
            # Texts from before the tables are to be embedded, too: the worker finds no current embedder.
            Embedder.objects.update(is_current=False)
    except Error as error:
        return f"pgvector could not be installed: {first_line(error)}"
    return ""


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
        if any(fetch_rows(f"SELECT 1 FROM {table} WHERE embedder_id = %s LIMIT 1", [embedder.pk]) for table in TABLES):
            continue
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("".join(f"DROP INDEX IF EXISTS {table}_{embedder.pk};" for table in TABLES))
            embedder.delete()
