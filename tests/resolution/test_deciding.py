"""Conflicts between memories, project state and facts, and in stories: decided by people, and taken back."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from memory.channels import Channel
from memory.memories import store
from memory.memories.store import Change
from memory.models import Dimension, Edge, EdgeHistory, Memory, Project, ProjectState, Source
from resolution.actors import Actor
from resolution.conflicts.decide import decide
from resolution.conflicts.memories import dispute_rivals
from resolution.conflicts.opening import Member, open_conflict, unite_conflicts_of
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import MemberKey, Verdict
from resolution.errors import DecisionError, InvalidDecision, UnknownId
from resolution.models import Claim, Conflict, Decision
from tests.arrange import OPERATOR, contest, dispute, dump, facts, forget, prefer, remember, say, seen_of, settle, stand

pytestmark = pytest.mark.django_db

SHOWN = ("text", "status", "is_disputed", "confidence", "evidence_count", "superseded_by_id", "last_updated")


def picture() -> dict[str, Any]:
    """All that a decision may change."""
    return dump() | {
        "memories": list(Memory.objects.order_by("pk").values_list(*SHOWN)),
        "states": list(ProjectState.objects.order_by("pk").values_list("value", "status", "superseded_by_id")),
        "open": list(Conflict.objects.filter(status="open").order_by("pk").values_list("pk", flat=True)),
    }


def supersede(conflict: Conflict, winner: Any, actor: Actor = OPERATOR, **more: Any) -> Decision:
    key = MemberKey(winner.pk) if not isinstance(winner, MemberKey) else winner
    return decide(conflict.pk, Verdict("supersede_others", "so it is", key), actor, **more)


def test_the_winner_takes_the_place_of_another_memory_with_a_pointer_and_a_record() -> None:
    conflict, (rebase, merge) = prefer("Sam prefers the rebase workflow.", "Sam prefers the merge-commit workflow.")
    before = picture()

    decision = supersede(conflict, merge)

    rebase.refresh_from_db()
    merge.refresh_from_db()
    conflict.refresh_from_db()
    assert (rebase.status, rebase.superseded_by_id, merge.status) == ("superseded", merge.pk, "active")
    assert (merge.is_disputed, merge.confidence) == (False, 0.8)
    assert (conflict.status, conflict.resolution["winner"]["id"]) == ("resolved", merge.pk)
    assert [one["id"] for one in decision.arguments["superseded"]] == [rebase.pk]
    assert rebase.history.order_by("pk").last().after["conflict"] == conflict.pk  # type: ignore[union-attr]

    undo(decision.pk, OPERATOR)

    assert picture() == before


@pytest.mark.parametrize("winner", ["state", "edge", "memory"])
def test_across_layers_whichever_member_wins_the_others_go_and_undo_brings_them_back(winner: str) -> None:
    rows = {
        "state": settle("lateral_support_material", "GF-PTFE"),
        "edge": stand("lateral-support isa peek material"),
        "memory": remember("Sam prefers PEEK."),
    }
    conflict = contest("cross_layer", rows.values())
    before = picture()

    decision = supersede(conflict, MemberKey(rows[winner].pk, {"state": "project_state"}.get(winner, winner)))

    standing = {
        "state": ProjectState.objects.filter(status="active").exists(),
        "edge": "lateral-support isa peek material" in facts(),
        "memory": Memory.objects.filter(status="active").exists(),
    }
    assert standing == {name: name == winner for name in rows}
    say("lateral-support isa peek material")  # whoever says it again does not bring it back
    assert ("lateral-support isa peek material" in facts()) == (winner == "edge")
    Claim.objects.all().delete()

    undo(decision.pk, OPERATOR)

    after = picture()
    assert {**after, "queue": ()} == {**before, "queue": ()} if winner != "edge" else after["open"] == before["open"]
    [member] = conflict.members.filter(kind="edge")
    assert member.object_id == Edge.objects.get(concept__token="lateral-support").pk


@pytest.mark.parametrize(
    ("value", "status", "left"),
    [("service", "dismissed", set()), ("container", "resolved", {"gnommoweb isa container type"})],
)
def test_a_claim_is_decided_with_the_other_members_and_placed_only_if_it_says_what_is_right(
    value: str, status: str, left: set[str]
) -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    edge = Edge.objects.get(concept__token="gnommoweb")
    state = settle("gnommoweb_type", value)
    sides = [Member("edge", edge.pk, str(edge)), Member("project_state", state.pk, str(state))]
    assert open_conflict("decision gnommoweb type", {}, sides) == claim.conflict_id
    before = picture()

    decision = supersede(claim.conflict, MemberKey(state.pk, "project_state"))

    claim.refresh_from_db()
    assert (claim.status, facts()) == (status, left)

    undo(decision.pk, OPERATOR)

    assert picture() == before


@pytest.mark.parametrize(("action", "status"), [("no_action", "resolved"), ("dismiss", "dismissed")])
def test_what_is_left_as_it_is_is_no_longer_disputed(action: Any, status: str) -> None:
    conflict, rows = prefer("Sam prefers tea in the morning.", "Sam prefers coffee in the morning.")
    before = picture()

    decision = decide(conflict.pk, Verdict(action, "both, by turns"), OPERATOR)

    conflict.refresh_from_db()
    assert (conflict.status, conflict.resolution["reason"]) == (status, "both, by turns")
    held = Memory.objects.filter(pk__in=[row.pk for row in rows])
    assert set(held.values_list("status", "is_disputed", "confidence")) == {("active", False, 0.8)}

    undo(decision.pk, OPERATOR)

    assert picture() == before


def there_and_back() -> tuple[EdgeHistory, EdgeHistory, Edge]:
    """The API was REST, then GraphQL, and is REST again."""
    say("api isa rest interface")
    Dimension.objects.filter(soas__token="interface").update(on_collision="supersede")
    for api in ("graphql", "rest"):
        say(f"api isa {api} interface")
    first, second, *_ = EdgeHistory.objects.filter(concept__token="api").order_by("pk")
    return first, second, Edge.objects.get(concept__token="api")


@pytest.mark.parametrize("reply", ["yes", "no"])
def test_a_story_is_answered_and_the_answer_is_taken_back(reply: Any) -> None:
    rows = there_and_back()
    conflict = contest("narrative", rows, question="Is the API REST?", asked=rows[2])
    before = picture()

    decision = decide(conflict.pk, Verdict(reply), OPERATOR)

    assert facts() == ({"api isa rest interface"} if reply == "yes" else set())
    assert (decision.kind, decision.arguments["answer"]) == ("answer", reply)
    if reply == "yes":  # an operator is surer than what was read in passing
        assert Edge.objects.get(concept__token="api").confidence == 1.0

    undo(decision.pk, OPERATOR)

    assert picture() == before


def test_no_takes_out_all_that_says_the_same() -> None:
    decided, other, asked = rows = [
        remember("The team decided that the API is REST-based."),
        remember("The API uses GraphQL."),
        remember("The API is REST-based."),
    ]
    conflict = contest("narrative", rows, question="Is the API REST-based?", asked=asked)
    before = picture()

    decision = decide(conflict.pk, Verdict("no"), OPERATOR)

    assert set(Memory.objects.filter(status="active")) == {other}
    decided.refresh_from_db()
    assert (decided.status, decided.superseded_by) == ("superseded", other)

    undo(decision.pk, OPERATOR)

    assert picture() == before


def test_yes_to_what_was_once_so_puts_it_in_the_place_of_what_stands() -> None:
    first, second, edge = there_and_back()
    conflict = contest("narrative", [first, second, edge], question="Is the API GraphQL?", asked=second)
    before = picture()

    decision = decide(conflict.pk, Verdict("yes"), OPERATOR)

    assert facts() == {"api isa graphql interface"}

    undo(decision.pk, OPERATOR)

    assert picture() == before


def test_of_an_edges_slot_the_member_that_is_right_decides_all_claims() -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    say("gnommoweb isa service type", "kreacher")
    edge = Edge.objects.get(concept__token="gnommoweb")

    made = decide(claim.conflict_id or 0, Verdict("supersede_others", "", MemberKey(claim.pk, "claim")), OPERATOR)

    assert (made.kind, [one["text"] for one in made.arguments["dismissed"]]) == (
        "supersede",
        ["gnommoweb is a service [type]"],
    )
    assert facts() == {"gnommoweb isa container type"}
    assert Conflict.objects.get(pk=claim.conflict_id).status == "resolved"

    other = dispute("mimir isa server type", "mimir isa desktop type")
    edge = Edge.objects.get(concept__token="mimir")
    made = decide(other.conflict_id or 0, Verdict("supersede_others", "", MemberKey(edge.pk, "edge")), OPERATOR)

    assert (made.arguments["superseded"], "mimir isa server type" in facts()) == ([], True)


def test_what_cannot_be_decided_is_refused_and_changes_nothing() -> None:
    conflict, (first, second) = prefer("Sam prefers vim over nano.", "Sam prefers nano over vim.")
    resolver = Actor("festinger", Source.FESTINGER)
    before = picture()

    for error, actor, action, key in (
        (DecisionError, resolver, "dismiss", None),  # only people
        (InvalidDecision, OPERATOR, "supersede_others", None),
        (UnknownId, OPERATOR, "supersede_others", MemberKey(first.pk, "edge")),
        (InvalidDecision, OPERATOR, "yes", None),  # it asks nothing
    ):
        with pytest.raises(error):
            decide(conflict.pk, Verdict(action, "", key), actor)  # type: ignore[arg-type]
    with pytest.raises(DecisionError, match="changed meanwhile"):
        supersede(conflict, first, seen="what was there")
    assert picture() == before

    supersede(conflict, first, seen=seen_of(conflict))
    with pytest.raises(DecisionError, match="already decided by hermione"):
        supersede(conflict, second)


def test_a_decision_loses_the_words_of_what_is_forgotten_and_nothing_else() -> None:
    conflict, (vim, emacs) = prefer("The user prefers the vim workflow.", "The user prefers the emacs workflow.")
    decision = supersede(conflict, emacs)

    Memory.objects.filter(pk=vim.pk).delete()

    decision.refresh_from_db()
    conflict.refresh_from_db()
    assert conflict.resolution is not None
    for told in (decision.arguments, conflict.resolution):
        assert told["superseded"] == [{"kind": "memory", "id": vim.pk, "text": "(forgotten)"}]
        assert told["winner"]["text"] == emacs.text
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Decision.objects.update(arguments={})


def test_words_are_gone_from_decisions_of_conflicts_that_were_united_too() -> None:
    nano, pico = (remember(f"The user prefers the {editor} workflow.") for editor in ("nano", "pico"))
    kept = contest("memory_slot", [nano, pico])
    conflict, (vim, emacs) = prefer("The user prefers the vim workflow.", "The user prefers the emacs workflow.")
    seen = seen_of(conflict)
    conflict.members.create(kind="memory", object_id=nano.pk, text=nano.text)
    decision = supersede(conflict, emacs, seen=seen)
    unite_conflicts_of(conflict)
    conflict.refresh_from_db()
    assert conflict.resolution is not None
    assert (conflict.status, conflict.resolution["conflict"]) == ("resolved", kept.pk)

    Memory.objects.filter(pk=vim.pk).delete()

    decision.refresh_from_db()
    assert [one["text"] for one in decision.arguments["superseded"]] == ["(forgotten)"]


def test_what_joined_after_the_decider_had_looked_stays_open_against_the_winner() -> None:
    conflict, (_, emacs) = prefer("The user prefers the vim workflow.", "The user prefers the emacs workflow.")
    seen = seen_of(conflict)
    nano = remember("The user prefers the nano workflow.")
    assert dispute_rivals(nano, Change("dobby", Channel.USER, timezone.now())) == conflict.pk
    before = picture()

    with pytest.raises(DecisionError, match="changed meanwhile"):
        supersede(conflict, nano, seen=seen)
    decision = supersede(conflict, emacs, seen=seen)

    rows = Memory.objects.filter(status="active").order_by("pk").values_list("pk", "is_disputed")
    assert list(rows) == [(emacs.pk, True), (nano.pk, True)]
    conflict.refresh_from_db()
    assert conflict.status == "open"
    undo(decision.pk, OPERATOR)
    assert picture() == before


def test_undo_is_refused_where_a_memory_is_something_else_by_now_and_joins_what_is_contested_again() -> None:
    conflict, (first, second) = prefer("Sam prefers tabs to spaces.", "Sam prefers spaces to tabs.")
    decision = supersede(conflict, second)
    store.restore(first, Change("hermione", Channel.OPERATOR, timezone.now()))
    with pytest.raises(DecisionError, match="has changed since"):
        undo(decision.pk, OPERATOR)
    store.supersede(first, second, Change("hermione", Channel.OPERATOR, timezone.now()))

    again = Conflict.objects.create(key=conflict.key, slot_key=conflict.slot_key)
    undo(decision.pk, OPERATOR)

    conflict.refresh_from_db()
    assert conflict.status == "resolved"
    assert set(again.members.values_list("object_id", flat=True)) == {first.pk, second.pk}


def test_a_decision_for_one_person_takes_nothing_from_another_nor_from_another_project() -> None:
    state = settle("editor", "nano")
    own, others = (remember(f"Sam prefers {editor} as the editor.") for editor in ("vim", "emacs"))
    Memory.objects.filter(pk=others.pk).update(person="kim")
    elsewhere = Memory.objects.create(
        text="The editor is Ed.", agent="dobby", source="written", project=Project.objects.create(slug="q", name="q")
    )
    conflict = contest("cross_layer", [state, own, others, elsewhere])
    Memory.objects.filter(pk=own.pk).update(project=state.project)

    supersede(conflict, own)

    status = dict(Memory.objects.values_list("pk", "status"))
    assert status == {own.pk: "active", others.pk: "active", elsewhere.pk: "active"}
    state.refresh_from_db()
    assert state.status == "superseded"


@pytest.mark.usefixtures("seed_dimensions")
def test_of_two_retractions_where_all_is_kept_each_takes_out_its_own() -> None:
    for parent in ("redis", "kafka", "minio"):
        say(f"shop ispart {parent} uses", "hermione", source=Source.OPERATOR, role="")
    first, second = (forget(f"shop ispart {parent} uses").claim for parent in ("redis", "kafka"))
    assert first is not None
    assert second is not None
    assert first.conflict_id == second.conflict_id

    supersede(first.conflict, MemberKey(first.pk, "claim"))

    second.refresh_from_db()
    assert facts() == {"shop ispart kafka uses", "shop ispart minio uses"}
    assert (second.status, second.conflict.status) == ("pending", "open")
