"""Every constraint, tried with the bad row in plain SQL."""

from typing import Any

import pytest
from django.db import IntegrityError, connection

from memory.db.transactions import constraint_of

pytestmark = pytest.mark.django_db

ASKED: dict[str, Any] = {"request": "0" * 16, "agent": "dobby", "model": "m", "wire": "chat"}
ROWS: dict[str, dict[str, Any]] = {
    "recollection_event": {**ASKED, "block": "", "reasons": "{}", "enrich_ms": 1.0},
    "loop_event": {**ASKED, "kind": "same", "count": 3, "steps": ["note"], "repeated": ["look()"]},
    "injection": {"conversation": bytes(16), "keys": bytes(32), "place": b"", "block": "B"},
}


def insert(table: str = "recollection_event", **columns: Any) -> None:
    row = {**ROWS[table], **columns}
    marks = ", ".join(["%s"] * len(row))
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def violated(table: str = "recollection_event", **columns: Any) -> str | None:
    """The constraint that refuses the row."""
    with pytest.raises(IntegrityError) as caught:
        insert(table, **columns)
    return constraint_of(caught.value)


@pytest.mark.parametrize("column", ["enrich_ms", "reasons_left_out", "unread_characters"])
def test_amounts_are_not_negative(column: str) -> None:
    assert violated("recollection_event", **{column: -1}) == "recollection_event_amounts_are_not_negative"


@pytest.mark.parametrize("table", ["recollection_event", "loop_event"])
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


DIGESTS = [b"", bytes(16), bytes(15), bytes(17), bytes(32), bytes(33), bytes(20 * 16)]


@pytest.mark.parametrize("digest", DIGESTS)
def test_a_conversation_is_told_by_a_digest(digest: bytes) -> None:
    if len(digest) == 16:
        insert("injection", conversation=digest)
    else:
        assert violated("injection", conversation=digest) == "injection_conversation_is_a_digest"


@pytest.mark.parametrize("keys", DIGESTS)
def test_it_is_found_under_digests(keys: bytes) -> None:
    if len(keys) % 16 == 0:
        insert("injection", keys=keys)
    else:
        assert violated("injection", keys=keys) == "injection_keys_are_digests"


@pytest.mark.parametrize("place", DIGESTS)
def test_a_block_stands_at_the_top_or_after_what_a_digest_tells(place: bytes) -> None:
    if len(place) in (0, 16):
        insert("injection", place=place)
    else:
        assert violated("injection", place=place) == "injection_place_is_a_digest"


@pytest.mark.parametrize("column", ["conversation", "keys", "place", "block", "at"])
def test_of_an_injection_all_is_told_but_a_system_that_no_modelfile_has(column: str) -> None:
    with pytest.raises(IntegrityError, match=f'null value in column "{column}"'):
        insert("injection", **{column: None})


def test_of_one_place_there_are_as_many_rows_as_there_were_changes() -> None:
    for block in ("B", "", "B"):
        insert("injection", block=block)
