"""Every constraint of conflicts, runs and decisions, tried with the bad row in plain SQL."""

from typing import Any

import pytest
from django.db import connection

from tests.bad_rows import AT_ONCE, A, B, BadRow, C, D, add_words, check_refused, insert

pytestmark = pytest.mark.django_db

CLAIM, DECISION, SLOT = 1_000_001, 1_000_002, 1_000_003
GOOD: dict[str, dict[str, Any]] = {
    "edge_candidate": {
        "concept": "a",
        "parent": "b",
        "dimension": "d",
        "is_isa": True,
        "channel": "quoted",
        "confidence": 0.4,
        "voices": '[["dobby", "quoted"]]',
        "conversations": 1,
        "said_count": 1,
    },
    "resolution_queue": {
        "concept_id": A, "dim_id": D, "existing_parent_id": B, "incoming_parent_id": C, "incoming_is_isa": True,
        "incoming_confidence": 0.9, "incoming_source": "gutask", "collision_type": "isa_isa", "status": "pending",
        "conflict_id": SLOT,
    },
    "conflict": {
        "slot_kind": "edge_slot", "key": "a [d]", "slot_key": '{"concept": "a", "dimension": "d"}',
        "concept_id": A, "dim_id": D,
    },
    "conflict_member": {"conflict_id": SLOT, "kind": "claim", "object_id": 7, "support": "[]"},
    "agent_hour": {"agent": "dobby", "hour": "2026-11-22 10:00+00"},
    "slot_claim": {
        "kind": "memory", "object_id": 7, "owner": "", "key": "number phon", "value": "1234", "words": ["1234"],
        "is_denied": False, "version": 1,
    },
    "run": {"trigger": "schedule", "mode": "auto", "counts": "{}"},
    "decision": {"kind": "update", "claim_id": CLAIM, "actor": "dobby", "source": "operator", "arguments": "{}"},
    "decided_triple": {"concept_id": A, "dim_id": D, "parent_id": B, "kind": "dismissed", "agents": ["dobby"]},
}  # fmt: skip
ASKED = {"is_asked": True}
UNDOING = {"kind": "undo", "undoes_id": DECISION}

BAD_ROWS = [
    BadRow("conflict_open_once", "resolution_queue", {"status": "proposed"}, beside={}),
    BadRow("conflict_type_is_known", "resolution_queue", {"collision_type": "odd"}),
    BadRow("conflict_status_is_known", "resolution_queue", {"status": "lost"}),
    BadRow("conflict_has_an_existing_parent", "resolution_queue", {"existing_parent_id": None}),
    BadRow("conflict_has_two_sides", "resolution_queue", {"existing_parent_id": C}),
    BadRow("conflict_confidence_is_in_range", "resolution_queue", {"incoming_confidence": 1.5}),
    BadRow("conflict_confidence_is_in_range", "resolution_queue", {"incoming_confidence": -0.1}),
    BadRow("conflict_source_is_known", "resolution_queue", {"incoming_source": "manual"}),
    BadRow("conflict_channel_is_known", "resolution_queue", {"channel": "hearsay"}),
    BadRow("conflict_is_open_once", "conflict", {}, beside={}),
    BadRow("conflict_kind_is_known", "conflict", {"slot_kind": "hunch"}),
    BadRow("conflict_tier_is_known", "conflict", {"tier": "hunch"}),
    BadRow("conflict_of_a_story_asks_something", "conflict", {"slot_kind": "narrative"}),
    BadRow("conflict_state_is_known", "conflict", {"status": "lost"}),
    BadRow("conflict_about_an_edge_has_its_slot", "conflict", {"dim_id": None}),
    BadRow("conflict_member_is_in_it_once", "conflict_member", {}, beside={}),
    BadRow("conflict_member_kind_is_known", "conflict_member", {"kind": "hunch"}),
    BadRow("conflict_asks_about_one_member", "conflict_member", ASKED | {"object_id": 8}, beside=ASKED),
    BadRow("conflict_member_trust_is_a_layer", "conflict_member", {"trust": 4}),
    BadRow("candidate_stands_once", "edge_candidate", {"state": "dismissed"}, beside={}),
    BadRow("candidate_channel_is_known", "edge_candidate", {"channel": "hearsay"}),
    BadRow("candidate_state_is_known", "edge_candidate", {"state": "lost"}),
    *(BadRow("candidate_confidence_is_in_range", "edge_candidate", {"confidence": c}) for c in (-0.1, 1.1)),
    BadRow("agent_hour_is_counted_once", "agent_hour", {"facts": 3}, beside={}),
    *(
        BadRow("agent_hour_counts_are_not_negative", "agent_hour", {name: -1})
        for name in ("facts", "conflicts", "candidates", "memories", "exceeded")
    ),
    BadRow("slot_claim_unique", "slot_claim", {"version": 2}, beside={}),
    BadRow("slot_claim_kind_is_known", "slot_claim", {"kind": "claim"}),
    BadRow("slot_claim_has_a_key", "slot_claim", {"key": ""}),
    BadRow("run_status_is_known", "run", {"status": "lost"}),
    BadRow("run_trigger_is_known", "run", {"trigger": "whim"}),
    BadRow("decision_kind_is_known", "decision", {"kind": "shrug"}),
    BadRow("decision_source_is_known", "decision", {"source": "manual"}),
    BadRow("decision_is_about_something", "decision", {"claim_id": None}),
    *(
        BadRow("decision_is_about_something", "decision", {"kind": kind})
        for kind in ("merge", "delete", "answer", "promote")
    ),
    *(BadRow("decision_is_about_something", "decision", {key: SLOT}) for key in ("conflict_id", "candidate_id")),
    BadRow("decision_undoes_a_decision", "decision", {"kind": "undo"}),
    BadRow("decision_undoes_a_decision", "decision", {"undoes_id": DECISION}),
    BadRow("decision_undoes_id_key", "decision", UNDOING, beside=UNDOING),
    BadRow("decision_is_append_only", "decision", statement="UPDATE decision SET actor = 'winky'"),
    BadRow("decision_is_append_only", "decision", statement="DELETE FROM decision"),
    BadRow("decision_is_append_only", "decision", statement="TRUNCATE decision CASCADE", first=AT_ONCE),
    BadRow("decision_change_is_append_only", "decision_change", statement="TRUNCATE decision_change", first=AT_ONCE),
    BadRow("decided_triple_kind_is_known", "decided_triple", {"kind": "lost"}),
    BadRow("decided_triple_is_decided_once", "decided_triple", {"kind": "retired"}, beside={}),
]


@pytest.fixture(autouse=True)
def decided() -> None:
    """A conflict that was decided about, in the past."""
    add_words()
    insert("conflict", GOOD["conflict"] | {"id": SLOT, "status": "resolved"})
    insert("resolution_queue", GOOD["resolution_queue"] | {"id": CLAIM, "status": "resolved"})
    insert("decision", GOOD["decision"] | {"id": DECISION})


@pytest.mark.parametrize("table", GOOD)
def test_a_good_row_is_accepted(table: str) -> None:
    insert(table, GOOD[table])


@pytest.mark.parametrize("bad", BAD_ROWS, ids=str)
def test_a_bad_row_is_refused(bad: BadRow) -> None:
    check_refused(bad, GOOD)


def test_a_decided_conflict_may_come_again() -> None:
    for status in ("resolved", "dismissed", "pending"):
        insert("resolution_queue", GOOD["resolution_queue"] | {"status": status})

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM resolution_queue WHERE id <> %s", [CLAIM])
        assert cursor.fetchone() == (3,)


def test_a_ring_has_no_existing_parent() -> None:
    insert("resolution_queue", GOOD["resolution_queue"] | {"collision_type": "cycle", "existing_parent_id": None})

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM resolution_queue WHERE existing_parent_id IS NULL")
        assert cursor.fetchone() == (1,)


def test_runs_that_ended_may_be_many() -> None:
    for status in ("done", "failed", "skipped", "done", "running"):
        insert("run", GOOD["run"] | {"status": status})

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM run")
        assert cursor.fetchone() == (5,)
