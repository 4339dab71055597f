"""A world of the size that Festinger is meant for, made with SQL in a database of its own."""

from pathlib import Path

import psycopg

from benchmarks.database import fresh

# As a replica it runs no triggers: the ring check, row by row, would be most of the time, and nobody listens.
AS_REPLICA = "SET session_replication_role = replica"

# Words of 3 to 21 characters, some of them compounds; the number at the end makes each different. How often each
# was met follows Zipf's law: most once or twice.
TOKENS = """
    WITH word AS (
        SELECT n, md5(n::text) AS dice, floor(least(random() ^ -1.1, 100000))::int AS met
        FROM generate_series(1, %(tokens)s) AS n
    )
    INSERT INTO soas (token, encounter_count, saliency, novelty, last_seen)
    SELECT translate(left(dice, 2 + n %% 12), '0123456789', 'aeioulnrst')
           || (ARRAY['', '', '_', '-', '.'])[1 + n %% 5] || n,
           met, log(met), (n > %(parents)s AND n <= %(parents)s + (%(edges)s + 1) / 2)::int,
           now() - random() * interval '90 days'
    FROM word
"""
# Two facts about each concept, in two of the dimensions. A parent was there before its concepts, so there is no
# ring; most have few concepts, some have thousands.
EDGES = """
    WITH word AS (
        SELECT id, row_number() OVER (ORDER BY id) AS n FROM soas WHERE id > %(before)s
    ), kind AS (
        SELECT id, is_isa, row_number() OVER (ORDER BY id) - 1 AS n, count(*) OVER () AS kinds FROM dimension
        WHERE NOT is_additive
    ), fact AS (
        SELECT %(parents)s + 1 + e / 2 AS subject, e / 2 + e %% 2 AS kind,
               1 + floor(random() ^ 3 * (%(parents)s + e / 2))::int AS parent
        FROM generate_series(0, %(edges)s - 1) AS e
    )
    INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source, last_confirmed)
    SELECT concept.id, parent.id, kind.id, kind.is_isa, 0.6 + 0.4 * random(),
           (ARRAY['cloud_llm', 'inferred', 'festinger', 'gutask', 'operator'])[1 + floor(random() * 5)::int],
           now() - random() * interval '120 days'
    FROM fact
    JOIN word AS concept ON concept.n = fact.subject
    JOIN word AS parent ON parent.n = fact.parent
    JOIN kind ON kind.n = fact.kind %% kind.kinds
"""


def large_world(home: Path, *, tokens: int, edges: int) -> str:
    """The address of a fresh database that has so many more tokens and edges."""
    database = fresh(home)
    with psycopg.connect(database, autocommit=True) as connection:
        fill(connection, tokens=tokens, edges=edges)
        connection.execute("VACUUM ANALYZE soas, urd")
    return database


def fill(connection: psycopg.Connection, *, tokens: int, edges: int) -> None:
    """Some 20 s for a million tokens."""
    with connection.transaction():
        connection.execute(AS_REPLICA)
        before = connection.execute("SELECT max(id) FROM soas").fetchone()
        size = {"tokens": tokens, "edges": edges, "parents": tokens // 10, "before": before[0] if before else 0}
        connection.execute(TOKENS, size)
        connection.execute(EDGES, size)
