"""A database of version 0.1.0 is taken over with all that it holds.

It is made by the initial migrations, which make the schema of 0.1.0: ``schema_0_1_0.txt`` was read from a database that
the migrations of 0.1.0 themselves had made, before they were squashed.
"""

import subprocess
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from festinger_site import adoption
from tests.served.server import make_url, manage

pytestmark = pytest.mark.slow

SCHEMA = Path(__file__).with_name("schema_0_1_0.txt").read_text().splitlines()
# Each line begins with the table or function. NOT NULL is told with the columns: only some Postgres name it besides.
DESCRIBE = """
    WITH own AS (
        SELECT oid, relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
            AND relname !~ '^(auth|django|pgmq)_'
    )
    SELECT concat_ws(' ', relname, 'column', row_number() OVER (PARTITION BY attrelid ORDER BY attnum), attname,
        format_type(atttypid, atttypmod),
        CASE WHEN attnotnull THEN 'NOT NULL' END, nullif(attidentity::text, ''),
        CASE attgenerated WHEN 's' THEN 'GENERATED' ELSE CASE WHEN atthasdef THEN 'DEFAULT' END END,
        pg_get_expr(adbin, adrelid))
    FROM own JOIN pg_attribute ON attrelid = own.oid AND attnum > 0 AND NOT attisdropped
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    UNION ALL
    SELECT concat_ws(' ', relname, 'constraint', conname, pg_get_constraintdef(pg_constraint.oid))
    FROM own JOIN pg_constraint ON conrelid = own.oid WHERE contype <> 'n'
    UNION ALL
    SELECT concat_ws(' ', relname, 'index', pg_get_indexdef(indexrelid)) FROM own JOIN pg_index ON indrelid = own.oid
    UNION ALL
    SELECT concat_ws(' ', relname, 'trigger', pg_get_triggerdef(pg_trigger.oid))
    FROM own JOIN pg_trigger ON tgrelid = own.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT concat_ws(' ', p.oid::regprocedure, 'function', lanname, provolatile, 'md5', md5(prosrc))
    FROM pg_proc AS p JOIN pg_language AS l ON l.oid = prolang WHERE pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')
"""
# A cat that was spoken of and remembered, a fact with its history, a run of a kind that is gone; and three conflicts of
# what serves kvasir, which are one by now: a claim, project state against the fact, a memory against project state.
HELD = """
    INSERT INTO episode (digest, conversation, agent, role, text, lexemes, said_at)
        VALUES (sha256('cat'), substr(sha256('talk'), 1, 16), 'hermione', 'user', 'My cat is called Grimalkin.',
            to_tsvector('english', 'My cat is called Grimalkin.'), '2026-11-20');
    INSERT INTO memory (text, source, agent) VALUES ('The user''s cat is called Grimalkin.', 'stated', 'hermione');
    INSERT INTO soas (token) VALUES ('kvasir'), ('nginx'), ('apache'), ('served-by');  -- 1 to 4
    INSERT INTO dimension (id, is_isa) VALUES (4, false);
    INSERT INTO urd (id, parent_id, dim_id, is_isa, source)
        VALUES (4, 4, 4, false, 'festinger'), (1, 2, 4, false, 'gutask');
    INSERT INTO edge_history (concept_id, dim_id, action, source, actor, after)
        VALUES (1, 4, 'insert', 'gutask', 'hermione', '{"parent_id": 2}');
    INSERT INTO resolution_queue (concept_id, dim_id, existing_parent_id, incoming_parent_id, incoming_is_isa,
        incoming_confidence, incoming_source, channel, collision_type, agent)
        VALUES (1, 4, 2, 3, false, 0.8, 'gutask', 'gutask', 'ispart_ispart', 'dobby');
    INSERT INTO project (slug, name) VALUES ('hive', 'hive');
    INSERT INTO project_state (project_id, category, key, value, actor)
        VALUES (1, 'kvasir', 'served_by', 'caddy', 'ron');
    INSERT INTO memory (text, source, agent, project_id) VALUES ('Kvasir is served by lighttpd.', 'stated', 'dobby', 1);
    INSERT INTO conflict (slot_kind, slot_key, project) VALUES
        ('cross_layer', '{"project": "hive", "words": ["by", "kvasir", "serv"]}', 'hive'),
        ('cross_layer', '{"project": "hive", "words": ["=", "by", "kvasir", "serv"]}', 'hive'),
        ('memory_slot', '{"memories": [1, 2], "project": ""}', '');
    INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support) VALUES
        (2, 'edge', (SELECT edge_id FROM urd WHERE id = 1), 2, '[]'), (2, 'project_state', 1, 3, '[]'),
        (3, 'project_state', 1, 3, '[]'), (3, 'memory', 2, 1, '[]'), (4, 'memory', 1, 1, '[]');
    UPDATE conflict SET status = 'dismissed' WHERE id = 4;
    INSERT INTO run (trigger, mode, status, counts) VALUES ('upgrade', '', 'done', '{}');
"""
UNITED = """
    SELECT conflict.id, status, slot_kind, array_agg(kind ORDER BY kind) FROM conflict
    JOIN conflict_member ON conflict_id = conflict.id GROUP BY conflict.id ORDER BY conflict.id
"""
FIND_HELD = """
    SELECT (SELECT string_agg(text, '') FROM episode), (SELECT string_agg(text, '' ORDER BY id) FROM memory),
        (SELECT string_agg(parent.token, '') FROM urd JOIN soas AS parent ON parent.id = parent_id WHERE urd.id = 1),
        (SELECT count(*) FROM edge_history)
"""


@pytest.fixture(scope="module")
def address() -> str:
    """A database with the tables of version 0.1.0, and its migrations recorded as applied."""
    server = settings.DATABASE_URL
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS festinger_of_0_1_0 WITH (FORCE)")
        admin.execute("CREATE DATABASE festinger_of_0_1_0")
    address = str(make_url(server, "festinger_of_0_1_0"))
    for app in adoption.APPS:
        manage("migrate", app, "0001", DATABASE_URL=address)
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app IN ('memory', 'proxy', 'resolution')")
        record = "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())"
        cursor.executemany(record, adoption.OLD)
    return address


def test_the_initial_migrations_make_the_schema_of_0_1_0(address: str) -> None:
    with psycopg.connect(address) as connection:
        found = sorted(" ".join(line.split()) for (line,) in connection.execute(DESCRIBE))

    assert found == SCHEMA


def test_what_0_1_0_has_stored_is_there_after_the_takeover(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(HELD)
        held = connection.execute(FIND_HELD).fetchall()
        with pytest.raises(subprocess.CalledProcessError) as refused:
            manage("prepare", DATABASE_URL=address)

        told = manage("adopt_0_1_0", DATABASE_URL=address).stdout
        manage("prepare", DATABASE_URL=address)

        assert "let this version take it over, once: manage.py adopt_0_1_0" in refused.value.stderr
        assert "instead of the 78 migrations of version 0.1.0, memory 0001_initial, proxy 0001_initial" in told
        assert connection.execute(FIND_HELD).fetchall() == held
        assert connection.execute("SELECT trigger FROM run ORDER BY id").fetchall() == [("quarantine",), ("upgrade",)]
        memories = "The user's cat is called Grimalkin.Kvasir is served by lighttpd."
        assert held == [("My cat is called Grimalkin.", memories, "nginx", 1)]
        assert connection.execute(UNITED).fetchall() == [
            (1, "open", "cross_layer", ["claim", "edge", "memory", "project_state"]),
            (4, "dismissed", "memory_slot", ["memory"]),
        ]
