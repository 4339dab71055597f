"""What ``/iknowthat`` answers, by what became of the fact."""

import psycopg
import pytest

from tests.served.server import Served

STANDING = {"concept": "tumtum", "parent": "tree", "dimension": "flora", "is_isa": True}


def run(database: str, statement: str, *arguments: object) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(statement, arguments)


@pytest.fixture
def superseding(server: Served, database: str) -> str:
    """A dimension in which the newer statement wins."""
    assert server.teach("beamish -isa boy in context of newest").status_code in (200, 201)
    run(
        database,
        "UPDATE dimension SET on_collision = 'supersede' FROM soas WHERE soas.id = dimension.id AND token = 'newest'",
    )
    return "newest"


def test_a_newer_statement_is_told_with_what_it_took_the_place_of(server: Served, superseding: str) -> None:
    server.teach(f"jabberwock -isa beast in context of {superseding}")

    answer = server.teach(f"jabberwock -isa legend in context of {superseding}")

    assert answer.status_code == 201
    told = answer.json()
    assert (told["status"], told["fact"]["parent"], told["existing"]["parent"]) == ("superseded", "legend", "beast")
    block = server.client.post("/recollect", json={"text": "jabberwock"}).json()["block"]
    assert f"jabberwock: [{superseding}] legend\n" in block


def test_an_outdated_statement_is_told_with_what_stands(server: Served, database: str, superseding: str) -> None:
    server.teach(f"bandersnatch -isa beast in context of {superseding}")
    run(
        database,
        "UPDATE urd SET said_at = now() + interval '1 hour' FROM soas"
        " WHERE soas.id = urd.id AND token = 'bandersnatch'",
    )

    answer = server.teach(f"bandersnatch -isa legend in context of {superseding}")

    assert answer.status_code == 200
    told = answer.json()
    assert (told["status"], told["existing"]["parent"]) == ("outdated", "beast")
    assert told["reason"] == "A later statement stands."


def test_a_decided_fact_is_told_with_its_conflict_and_the_reason(server: Served) -> None:
    server.teach("tumtum -isa tree in context of flora")
    conflict = server.teach("tumtum -isa shrub in context of flora").json()
    dismissed = server.client.post(f"/conflicts/{conflict['conflict_id']}/dismiss", json={"reason": "it has a trunk"})
    assert dismissed.status_code == 200

    answer = server.teach("tumtum -isa shrub in context of flora")

    assert answer.status_code == 202
    told = answer.json()
    assert (told["status"], told["conflict_id"], told["existing"]) == ("decided", conflict["conflict_id"], STANDING)
    assert told["reason"].startswith("It was dismissed on ")
    assert told["reason"].endswith(": it has a trunk")


def test_a_conflict_is_told_with_what_stands(server: Served) -> None:
    server.teach("mimsy -isa mood in context of flora")

    told = server.teach("mimsy -isa tree in context of flora").json()

    assert (told["status"], told["collision_type"], told["existing"]["parent"]) == ("conflict", "isa_isa", "mood")
    assert "reason" not in told


def test_the_root_of_a_dimension_cannot_be_claimed(server: Served) -> None:
    answer = server.teach("flora -isa word in context of flora")

    assert answer.status_code == 422
