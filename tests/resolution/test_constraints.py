"""Every constraint of the resolution queue, tried with the bad row in plain SQL."""

import pytest
from django.db import IntegrityError, connection

from memory.db.transactions import constraint_of

pytestmark = pytest.mark.django_db

GOOD = {
    "concept_id": "a",
    "dim_id": "d",
    "existing_parent_id": "b",
    "incoming_parent_id": "c",
    "incoming_is_isa": True,
    "incoming_confidence": 0.9,
    "incoming_source": "gutask",
    "collision_type": "isa_isa",
    "status": "pending",
}


def insert(**changes: object) -> None:
    row = GOOD | changes
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO soas (token) VALUES ('a'), ('b'), ('c'), ('d') ON CONFLICT DO NOTHING")
        cursor.execute("SELECT token, id FROM soas WHERE token IN ('a', 'b', 'c', 'd')")
        ids = dict(cursor.fetchall())
        values = [ids.get(value, value) if isinstance(value, str) else value for value in row.values()]
        cursor.execute(
            f"INSERT INTO resolution_queue ({', '.join(row)}) VALUES ({', '.join(['%s'] * len(row))})", values
        )


def violated(**changes: object) -> str | None:
    with pytest.raises(IntegrityError) as caught:
        insert(**changes)
    return constraint_of(caught.value)


def test_a_conflict_is_open_once() -> None:
    insert()

    assert violated(status="proposed") == "conflict_open_once"


def test_a_decided_conflict_may_come_again() -> None:
    insert(status="resolved")
    insert(status="dismissed")
    insert()

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM resolution_queue")
        assert cursor.fetchone() == (3,)


@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"collision_type": "odd"}, "conflict_type_is_known"),
        ({"status": "lost"}, "conflict_status_is_known"),
        ({"existing_parent_id": None}, "conflict_has_an_existing_parent"),
        ({"existing_parent_id": "c"}, "conflict_has_two_sides"),
        ({"incoming_confidence": 1.5}, "conflict_confidence_is_in_range"),
        ({"incoming_source": "manual"}, "conflict_source_is_known"),
    ],
)
def test_a_bad_row_is_refused(changes: dict[str, object], constraint: str) -> None:
    assert violated(**changes) == constraint


def test_a_ring_has_no_existing_parent() -> None:
    insert(collision_type="cycle", existing_parent_id=None)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM resolution_queue WHERE existing_parent_id IS NULL")
        assert cursor.fetchone() == (1,)
