"""Every constraint, tried with the bad row in plain SQL."""

from typing import Any

import pytest
from django.db import IntegrityError

from tests.bad_rows import BadRow, check_refused, insert

pytestmark = pytest.mark.django_db

COUNTS = ("requests", "recollections", "loops", "conflicts_opened", "conflicts_closed")
ASKED: dict[str, Any] = {"request": "0" * 16, "agent": "dobby", "model": "m", "wire": "chat"}
GOOD: dict[str, dict[str, Any]] = {
    "recollection_event": {**ASKED, "block": "", "reasons": "{}", "enrich_ms": 1.0},
    "loop_event": {**ASKED, "kind": "same", "count": 3, "steps": ["note"], "repeated": ["look()"]},
    "injection": {"place": bytes(16), "answer": b"", "block": "B", "content": "{}"},
    "idempotent_call": {"call": bytes(32), "request": bytes(32)},
    "login_failures": {"kind": "address", "who": "10.0.0.7", "failures": 1, "last_at": "2026-03-01T12:00Z"},
    "hourly_figures": {"hour": "2026-03-01T12:00Z", "taken_at": "2026-03-01T13:00Z", **dict.fromkeys(COUNTS, 0)},
}
KINDS = ("same", "near", "cycle", "complaint", "tail")

BAD_ROWS = [
    *(
        BadRow("recollection_event_amounts_are_not_negative", "recollection_event", {column: -1})
        for column in ("enrich_ms", "reasons_left_out", "unread_characters", "search_ms")
    ),
    *(
        BadRow(f"{table}_request_is_an_id", table, {"request": request_id})
        for table in ("recollection_event", "loop_event")
        for request_id in ("", "0" * 15, "A" * 16, "x" * 16, "0" * 15 + "\n")
    ),
    BadRow("recollection_event_pkey", "recollection_event", beside={}),
    BadRow("loop_event_is_told_once", "loop_event", {"count": 4}, beside={}),
    *(BadRow("loop_event_kind_is_known", "loop_event", {"kind": kind.upper()}) for kind in KINDS),
    *(BadRow("loop_event_repeats_something", "loop_event", {column: 0}) for column in ("count", "period")),
    *(BadRow("loop_event_steps_are_known", "loop_event", {"steps": s}) for s in ([], ["pray"], ["note", "pray"])),
    *(
        BadRow(f"injection_{column}_is_a_digest", "injection", {column: bytes(n)})
        for column in ("place", "answer")
        for n in (15, 17, 32, 33, 320)
    ),
    BadRow("idempotent_call_pkey", "idempotent_call", beside={}),
    *(BadRow("idempotent_call_has_digests", "idempotent_call", {column: bytes(31)}) for column in ("call", "request")),
    BadRow("login_failures_are_counted_once", "login_failures", {"failures": 2}, beside={}),
    BadRow("login_failures_kind_is_known", "login_failures", {"kind": "Address"}),
    BadRow("login_failures_are_some", "login_failures", {"failures": 0}),
    BadRow("hourly_figures_begin_with_the_hour", "hourly_figures", {"hour": "2026-03-01T12:30Z"}),
    *(BadRow("hourly_figures_are_not_negative", "hourly_figures", {column: -1}) for column in COUNTS),
]


@pytest.mark.parametrize("table", GOOD)
def test_a_good_row_is_accepted(table: str) -> None:
    insert(table, GOOD[table])


@pytest.mark.parametrize("bad", BAD_ROWS, ids=str)
def test_a_bad_row_is_refused(bad: BadRow) -> None:
    check_refused(bad, GOOD)


@pytest.mark.parametrize("kind", KINDS)
def test_loops_of_each_kind_are_told_beside_one_another(kind: str) -> None:
    insert("loop_event", GOOD["loop_event"] | {"kind": kind})
    insert("loop_event", GOOD["loop_event"] | {"kind": "tail" if kind != "tail" else "same", "steps": ["stop"]})


def test_all_steps_against_a_loop_are_known() -> None:
    insert("loop_event", GOOD["loop_event"] | {"steps": ["note", "temperature", "truncate", "break", "stop"]})


@pytest.mark.parametrize("column", ["place", "answer", "block", "content", "at"])
def test_every_column_of_an_injection_is_set(column: str) -> None:
    with pytest.raises(IntegrityError, match=f'null value in column "{column}"'):
        insert("injection", GOOD["injection"] | {column: None})


def test_of_one_place_there_are_as_many_rows_as_there_were_changes() -> None:
    for block in ("B", "", "B"):
        insert("injection", GOOD["injection"] | {"block": block})
