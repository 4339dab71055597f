"""Every constraint, tried with the bad row in plain SQL."""

import pytest
from django.db import IntegrityError, connection

from memory.store import constraint_of

pytestmark = pytest.mark.django_db

ASKED: dict[str, object] = {"request": "0" * 16, "agent": "dobby", "model": "m", "wire": "chat"}
ROWS: dict[str, dict[str, object]] = {
    "recollection_event": {**ASKED, "block": "", "reasons": "{}", "enrich_ms": 1.0},
    "loop_event": {**ASKED, "kind": "same", "count": 3, "steps": ["note"], "repeated": ["look()"]},
}


def insert(table: str = "recollection_event", **columns: object) -> None:
    row = {**ROWS[table], **columns}
    marks = ", ".join(["%s"] * len(row))
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def violated(table: str = "recollection_event", **columns: object) -> str | None:
    """The constraint that refuses the row."""
    with pytest.raises(IntegrityError) as caught:
        insert(table, **columns)
    return constraint_of(caught.value)


@pytest.mark.parametrize("column", ["enrich_ms", "reasons_left_out", "unread_characters"])
def test_amounts_are_not_negative(column: str) -> None:
    assert violated(**{column: -1}) == "recollection_event_amounts_are_not_negative"


@pytest.mark.parametrize("table", ROWS)
@pytest.mark.parametrize("request_id", ["", "0" * 15, "A" * 16, "x" * 16, "0" * 15 + "\n"])
def test_a_request_has_an_id_of_16_hexadecimal_digits(table: str, request_id: str) -> None:
    assert violated(table, request=request_id) == f"{table}_request_is_an_id"


def test_a_request_is_told_of_once() -> None:
    insert()

    assert violated() == "recollection_event_pkey"


def test_a_loop_of_a_request_is_told_of_once_and_the_tail_of_its_answer_beside_it() -> None:
    insert("loop_event")
    insert("loop_event", kind="tail", steps=["stop"])

    assert violated("loop_event") == "loop_event_is_told_once"


@pytest.mark.parametrize("kind", ["same", "near", "cycle", "complaint", "tail"])
def test_a_loop_is_of_a_kind_that_is_known(kind: str) -> None:
    insert("loop_event", kind=kind)

    assert violated("loop_event", kind=kind.upper()) == "loop_event_kind_is_known"


@pytest.mark.parametrize("column", ["count", "period"])
def test_a_loop_repeats_something(column: str) -> None:
    assert violated("loop_event", **{column: 0}) == "loop_event_repeats_something"


@pytest.mark.parametrize("steps", [[], ["pray"], ["note", "pray"]])
def test_what_was_done_about_a_loop_is_known(steps: list[str]) -> None:
    insert("loop_event", steps=["note", "temperature", "truncate", "break", "stop"])

    assert violated("loop_event", request="1" * 16, steps=steps) == "loop_event_steps_are_known"
