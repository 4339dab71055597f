"""What an earlier version has stored is there after the upgrade."""

import psycopg
import pytest
from django.conf import settings

from tests.served.server import manage, new_database

pytestmark = pytest.mark.slow

EARLIER = """
    INSERT INTO soas (token) VALUES ('gnommo-migrated'), ('old1'), ('old2'), ('old3'), ('olddim');
    INSERT INTO resolution_queue (concept_id, dim_id, existing_parent_id, incoming_parent_id, incoming_is_isa,
        incoming_confidence, incoming_source, channel, collision_type, agent, status, priority, resolved_at)
    SELECT c.id, d.id, p1.id, p.id, true, 0.8, 'gutask', 'gutask', 'isa_isa', 'dobby', new.status, new.priority,
           new.resolved_at
    FROM (VALUES ('old2', 'pending', 0, NULL::timestamptz), ('old3', 'proposed', 1, NULL),
                 ('old2', 'resolved', 0, now()),
                 ('old3', 'dismissed', 0, now())) AS new (parent, status, priority, resolved_at)
    JOIN soas c ON c.token = 'gnommo-migrated' JOIN soas d ON d.token = 'olddim' JOIN soas p1 ON p1.token = 'old1'
    JOIN soas p ON p.token = new.parent;
"""


def test_rows_of_the_queue_become_claims_of_conflicts() -> None:
    database = new_database(settings.DATABASE_URL, "festinger_migrated")
    manage("migrate", "resolution", "0010", DATABASE_URL=database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(EARLIER)
        manage("migrate", DATABASE_URL=database)

        found = connection.execute(
            "SELECT conflict.status, conflict.priority, slot_key, count(*), bool_and(jsonb_array_length(support) = 1)"
            " FROM conflict JOIN resolution_queue AS claim ON conflict_id = conflict.id"
            " JOIN conflict_member AS member ON member.conflict_id = conflict.id AND object_id = claim.id"
            " GROUP BY conflict.id ORDER BY conflict.status"
        ).fetchall()

    slot = {"concept": "gnommo-migrated", "dimension": "olddim"}
    assert found == [("dismissed", 0, slot, 1, True), ("open", 1, slot, 2, True), ("resolved", 0, slot, 1, True)]


BEFORE_ADDITIVE = """
    DELETE FROM urd; DELETE FROM dimension; DELETE FROM soas;
    INSERT INTO soas (id, token) VALUES (1, 'kvasir'), (2, 'redis'), (3, 'nginx'), (4, 'uses'), (5, 'nowhere');
    INSERT INTO dimension (id, is_isa) VALUES (4, false);
    INSERT INTO urd (id, parent_id, dim_id, is_isa, source)
        VALUES (4, 4, 4, false, 'festinger'), (1, 2, 4, false, 'gutask'), (1, 3, 5, true, 'gutask');
    INSERT INTO resolution_queue (concept_id, dim_id, existing_parent_id, incoming_parent_id, incoming_is_isa,
        incoming_confidence, incoming_source, channel, collision_type, agent)
        VALUES (1, 4, 2, 3, false, 0.8, 'gutask', 'gutask', 'ispart_ispart', 'dobby');
"""


def test_what_was_disputed_in_uses_stands_there_together() -> None:
    database = new_database(settings.DATABASE_URL, "festinger_additive")
    manage("migrate", "memory", "0030", DATABASE_URL=database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(BEFORE_ADDITIVE)
        manage("prepare", DATABASE_URL=database)

        edges = connection.execute(
            "SELECT parent_id, dim_id, is_additive FROM urd WHERE id = 1 ORDER BY 1, 2"
        ).fetchall()
        roots = connection.execute("SELECT id, is_additive FROM urd WHERE id = parent_id AND id IN (4, 5)").fetchall()
        claims = connection.execute("SELECT status FROM resolution_queue").fetchall()

    assert edges == [(2, 4, True), (3, 4, True), (3, 5, False)]
    assert sorted(roots) == [(4, True), (5, False)]
    assert claims == [("resolved",)]


def test_whoever_upgrades_is_asked_before_anything_that_is_said_is_kept() -> None:
    database = new_database(settings.DATABASE_URL, "festinger_upgraded")
    with psycopg.connect(database, autocommit=True) as connection:
        find = "SELECT value FROM config WHERE key = 'episodes'"
        assert connection.execute(find).fetchall() == [("on",)]  # of a new installation
        manage("migrate", "memory", "0024", DATABASE_URL=database)

        manage("migrate", DATABASE_URL=database)

        assert connection.execute(find).fetchall() == [("ask",)]
