"""The log of what decisions change: what is forgotten, and what decisions of earlier versions have stored."""

import json
from importlib import import_module
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from memory.graph.snapshots import EDGE_FIELDS
from memory.memories.forgetting import ForgetScope, forget
from memory.models import Alias, Dimension, Edge, Memory
from resolution.conflicts.change_log import read_changes
from resolution.conflicts.decide import decide
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import MemberKey, Verdict
from resolution.errors import DecisionError
from resolution.models import Candidate, Claim, DecidedTriple, Decision, DecisionChange
from resolution.naming.merging import merge
from resolution.pages import decision_diff
from tests.arrange import OPERATOR, decompose, dispute, dump, prefer, say, update

pytestmark = pytest.mark.django_db

CONVERT = import_module("resolution.migrations.0010_decision_change").CONVERT
# What earlier versions kept of a row, by the part of their snapshots.
PARTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "edges": (Edge, ("edge_id", *EDGE_FIELDS)),
    "dimensions": (Dimension, ("is_isa", "question", "on_collision", "split_from_id")),
    "triples": (DecidedTriple, ("concept_id", "dim_id", "parent_id", "kind", "moved_to_id", "agents", "conversation",
                                "decision_id", "decided_at")),
    "conflicts": (Claim, ("status", "existing_parent_id", "blocking_concept_id", "collision_type", "proposal", "run_id",
                          "resolution", "attempts", "last_error", "next_attempt_at", "resolved_at")),
    "aliases": (Alias, ("concept_id", "channel", "agent", "at")),
    "candidates": (Candidate, ("concept", "parent", "dimension", "state")),
}  # fmt: skip


def keep_as_before(decision: Decision, *, with_keys: bool = True) -> None:
    """Turn the log of a decision into the snapshots of an earlier version, and run the migration on them."""
    sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for part, (model, fields) in PARTS.items():
        changes = read_changes(decision.pk, [model])
        for at, side in enumerate(sides):
            side[part] = {}
            for one in changes:
                row = (one.before, one.after)[at]
                kept = {name: row[name] for name in fields if with_keys or name != "edge_id"} if row else None
                if kept and "conversation" in kept:
                    kept["conversation"] = kept["conversation"].removeprefix("\\x")
                side[part].setdefault(name_of(part, one.key, one.was or one.left), kept)
                if part == "edges" and kept:
                    side[part][name_of(part, one.key, row or {})] = kept
        for key in sides[0][part].keys() | sides[1][part].keys():
            for side in sides:
                side[part].setdefault(key, None)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET LOCAL festinger.redacting = 'on'")
        cursor.execute("ALTER TABLE decision_change DISABLE TRIGGER USER")
        cursor.execute("DELETE FROM decision_change")
        cursor.execute("ALTER TABLE decision_change ENABLE TRIGGER USER")
        cursor.execute("ALTER TABLE decision ADD before jsonb, ADD after jsonb")
        cursor.execute("UPDATE decision SET before = %s, after = %s", [json.dumps(side) for side in sides])
        cursor.execute(CONVERT)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute("ALTER TABLE decision DROP before, DROP after")
        cursor.execute("SET LOCAL festinger.redacting = 'off'")


def name_of(part: str, key: int, row: dict[str, Any]) -> str:
    names = {"edges": ("concept_id", "dim_id"), "triples": ("concept_id", "dim_id", "parent_id")}.get(part)
    return ":".join(str(row[name]) for name in names) if names else str(key)


def decompose_one() -> Decision:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    return decompose(claim.pk, OPERATOR, "", existing_dimension="artifact", new_dimension="deployment")


def test_a_decision_of_an_earlier_version_is_undone_exactly() -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    before = dump()
    decision = decompose(claim.pk, OPERATOR, "", existing_dimension="artifact", new_dimension="deployment")
    shown = decision_diff.changes(decision)

    keep_as_before(decision)

    assert decision_diff.changes(decision) == shown
    undo(decision.pk, OPERATOR)
    assert dump() == before


def test_a_merge_of_an_earlier_version_is_undone_exactly() -> None:
    say("gnommoweb isa repo type")
    say("kvasir ispart gnommoweb runs-on")
    before = dump()
    merge("gnommoweb", "gnommo", OPERATOR)

    keep_as_before(Decision.objects.get())
    undo(Decision.objects.get().pk, OPERATOR)

    assert dump() == before


def test_a_decision_that_kept_too_little_is_refused_with_the_reason() -> None:
    decision = decompose_one()
    before = dump()

    keep_as_before(decision, with_keys=False)

    with pytest.raises(DecisionError, match="not recorded in a form that can be undone"):
        undo(decision.pk, OPERATOR)
    assert dump() == before


def choose(winner: Memory, conflict_id: int) -> Decision:
    return decide(conflict_id, Verdict("supersede_others", "", MemberKey(winner.pk, "memory")), OPERATOR)


def test_the_log_forgets_a_memory_with_it_and_the_undo_says_so() -> None:
    conflict, (first, second) = prefer("Sam prefers tabs to spaces.", "Sam prefers spaces to tabs.")
    decision = choose(second, conflict.pk)
    forget(ForgetScope(kind="memory", ids=(first.pk,)))

    done = undo(decision.pk, OPERATOR)

    assert not DecisionChange.objects.filter(before__text=first.text).exists()
    assert done.arguments == {"forgotten": [f"memory {first.pk}"]}
    told = {line.what: (line.before, line.after) for line in decision_diff.changes(decision)}
    assert told[f"memory {first.pk}"] == ("(forgotten)", "(forgotten)")


def test_the_log_forgets_words_of_memories_that_stay() -> None:
    conflict, (_, second) = prefer("Sam prefers tabs to spaces.", "Sam prefers spaces to tabs.")
    choose(second, conflict.pk)
    Memory.objects.update(text="Sam has no preference.")

    forget(ForgetScope(words="TABS TO spaces"))

    kept = list(DecisionChange.objects.filter(table_name="memory").values_list("before", "after"))
    assert "tabs to spaces" not in json.dumps(kept)


def test_the_log_is_append_only() -> None:
    decompose_one()

    for change in (lambda rows: rows.update(after=None), lambda rows: rows.delete()):
        with pytest.raises(IntegrityError, match="decision_change is append-only"), transaction.atomic():
            change(DecisionChange.objects.all())


def test_only_what_a_decision_changes_is_logged() -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    assert not DecisionChange.objects.exists()
    update(claim.pk, OPERATOR, "")
    count = DecisionChange.objects.count()

    say("kvasir isa relay type")

    assert 0 < count == DecisionChange.objects.count()
