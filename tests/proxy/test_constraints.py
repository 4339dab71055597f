"""Every constraint, tried with the bad row in plain SQL."""

import pytest
from django.db import IntegrityError, connection

from memory.store import constraint_of

pytestmark = pytest.mark.django_db

COLUMNS = {"request": "0" * 16, "agent": "dobby", "model": "m", "wire": "chat", "block": "", "reasons": "{}"}


def insert(**columns: object) -> None:
    row = {**COLUMNS, "enrich_ms": 1.0, **columns}
    marks = ", ".join(["%s"] * len(row))
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO recollection_event ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def violated(**columns: object) -> str | None:
    """The constraint that refuses the row."""
    with pytest.raises(IntegrityError) as caught:
        insert(**columns)
    return constraint_of(caught.value)


@pytest.mark.parametrize("column", ["enrich_ms", "reasons_left_out", "unread_characters"])
def test_amounts_are_not_negative(column: str) -> None:
    assert violated(**{column: -1}) == "recollection_event_amounts_are_not_negative"


@pytest.mark.parametrize("request_id", ["", "0" * 15, "A" * 16, "x" * 16, "0" * 15 + "\n"])
def test_a_request_has_an_id_of_16_hexadecimal_digits(request_id: str) -> None:
    assert violated(request=request_id) == "recollection_event_request_is_an_id"


def test_a_request_is_told_of_once() -> None:
    insert()

    assert violated() == "recollection_event_pkey"
