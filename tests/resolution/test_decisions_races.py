"""Decisions at the same time, on connections of their own."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from memory.db.transactions import run_transaction
from memory.models import Dimension, Edge, Source
from resolution.actors import Actor
from resolution.conflicts.decide import decide
from resolution.conflicts.opening import Member, open_conflict
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import MemberKey, Verdict
from resolution.errors import DecisionError
from resolution.models import Claim, Decision
from tests.arrange import (
    OPERATOR,
    contest,
    decide_claim,
    decompose,
    dismiss,
    dispute,
    facts,
    graph,
    prefer,
    remember,
    say,
    seen_of,
    settle,
    stand,
    update,
)
from tests.resolution.racers import ROUNDS, Racers

pytestmark = pytest.mark.django_db(transaction=True)

AtOnce = Callable[..., list[Any]]


@pytest.fixture
def at_once(racers: Racers) -> AtOnce:
    """What each work returns, or the DecisionError that it raises."""

    def run(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except DecisionError as error:
            return error

    return lambda *works: racers.at_once(*[partial(run, work) for work in works])


def operator(name: str) -> Actor:
    return Actor(name, Source.OPERATOR)


def errors(outcomes: list[Any]) -> list[str]:
    return [str(outcome) for outcome in outcomes if isinstance(outcome, DecisionError)]


def test_of_two_operators_one_decides(at_once: AtOnce) -> None:
    for i in range(ROUNDS):
        claim = dispute(f"thing{i} isa repo type", f"thing{i} isa container type")
        names = {"existing_dimension": "artifact-type", "new_dimension": "deployment-type"}

        outcomes = at_once(
            partial(decompose, claim.pk, operator("ron"), "", **names),
            partial(update, claim.pk, operator("harry"), ""),
        )

        (decision,) = Decision.objects.filter(claim=claim)
        assert errors(outcomes) == [
            f"Conflict {claim.conflict_id} was already decided by {decision.actor}: {decision.get_kind_display()}."
        ]
        stored = {text for text in facts() if text.startswith(f"thing{i} ")}
        if decision.kind == "update":
            assert stored == {f"thing{i} isa container type"}
        else:
            assert stored == {f"thing{i} isa repo artifact-type", f"thing{i} isa container deployment-type"}


def test_two_decisions_about_what_was_seen_do_not_both_happen(at_once: AtOnce) -> None:
    for i in range(ROUNDS):
        first = dispute(f"thing{i} isa repo type", f"thing{i} isa container type")
        second = say(f"thing{i} isa service type", "kreacher").claim
        assert second is not None
        verdict, seen = Verdict("update", ""), seen_of(first.conflict)

        outcomes = at_once(
            partial(decide_claim, first.pk, operator("ron"), verdict, seen=seen),
            partial(decide_claim, second.pk, operator("harry"), verdict, seen=seen),
        )

        assert len(errors(outcomes)) == 1
        assert Decision.objects.filter(claim__in=[first, second]).count() == 1


def test_decompositions_into_the_same_new_dimensions_do_not_hinder_each_other(at_once: AtOnce) -> None:
    claims = [dispute(f"thing{i} isa repo type", f"thing{i} isa container type") for i in range(6)]
    one = {"existing_dimension": "artifact-type", "new_dimension": "deployment-type"}
    other = {"existing_dimension": "deployment-type", "new_dimension": "artifact-type"}

    outcomes = at_once(
        *(partial(decompose, row.pk, OPERATOR, "", **(one if i % 2 else other)) for i, row in enumerate(claims))
    )

    assert errors(outcomes) == []
    assert Edge.objects.filter(dim__token="artifact-type").count() == 7
    assert Dimension.objects.count() == 3


def test_a_decision_is_undone_by_one_of_two(at_once: AtOnce) -> None:
    for i in range(ROUNDS):
        claim = dispute(f"thing{i} isa repo type", f"thing{i} isa container type")
        before = graph()
        decision = update(claim.pk, OPERATOR, "")

        outcomes = at_once(
            partial(undo, decision.pk, operator("ron")),
            partial(undo, decision.pk, operator("harry")),
        )

        (done,) = Decision.objects.filter(undoes=decision)
        assert errors(outcomes) == [f"Decision {decision.pk} was already undone by {done.actor}."]
        assert graph() == before


def test_statements_and_decisions_at_the_same_time_leave_no_open_conflict_unseen(at_once: AtOnce) -> None:
    for i in range(ROUNDS):
        claim = dispute(f"thing{i} isa repo type", f"thing{i} isa container type")

        at_once(
            partial(update, claim.pk, operator("ron"), ""),
            partial(say, f"thing{i} isa service type", "kreacher"),
            partial(say, f"thing{i} isa repo type", "griphook"),
        )

        edge = Edge.objects.get(concept=claim.concept)
        assert edge.parent.token == "container"
        for row in Claim.objects.filter(concept=claim.concept, status="pending"):
            assert row.existing_parent == edge.parent


def test_a_dimension_that_is_undone_while_a_fact_comes_into_it_stays_whole(at_once: AtOnce) -> None:
    for i in range(ROUNDS):
        claim = dispute(f"thing{i} isa repo type", f"thing{i} isa container type")
        names = {"existing_dimension": "type", "new_dimension": f"form{i}"}
        decision = decompose(claim.pk, OPERATOR, "", **names)

        at_once(partial(undo, decision.pk, OPERATOR), partial(say, f"other{i} isa image form{i}"))

        dimension = Dimension.objects.get(soas__token=f"form{i}")
        assert Edge.objects.get(concept=dimension.soas_id, dim=dimension.soas_id).is_root
        assert f"other{i} isa image form{i}" in facts()


def test_undoing_and_dismissing_at_the_same_time_end(at_once: AtOnce) -> None:
    for i in range(ROUNDS):
        first = dispute(f"thing{i} isa repo type", f"thing{i} isa container type")
        seen = seen_of(first.conflict)
        second = say(f"thing{i} isa service type", "kreacher").claim
        assert second is not None
        decision = update(first.pk, OPERATOR, "", seen=seen)

        outcomes = at_once(
            partial(undo, decision.pk, operator("ron")),
            partial(dismiss, second.pk, operator("harry"), ""),
        )

        assert errors(outcomes) == []
        second.refresh_from_db()
        assert second.status == "dismissed"
        assert f"thing{i} isa repo type" in facts()


def test_of_a_conflict_across_layers_one_operator_decides_and_one_undoes(at_once: AtOnce) -> None:
    for i in range(ROUNDS):
        state, edge = settle(f"thing{i}", "gf-ptfe"), stand(f"thing{i} isa peek material")
        conflict = contest("cross_layer", [state, edge])
        actions = (
            Verdict("supersede_others", member=MemberKey(edge.pk, "edge")),
            Verdict("supersede_others", member=MemberKey(state.pk, "project_state")),
            Verdict("dismiss"),
        )

        outcomes = at_once(*[partial(decide, conflict.pk, action, operator("ron")) for action in actions])

        (decision,) = Decision.objects.filter(conflict=conflict)
        assert len(errors(outcomes)) == 2
        conflict.refresh_from_db()
        assert (conflict.status == "dismissed") == (decision.kind == "dismiss")

        outcomes = at_once(*[partial(undo, decision.pk, operator(name)) for name in ("ron", "harry")])

        assert len(errors(outcomes)) == 1
        state.refresh_from_db()
        conflict.refresh_from_db()
        assert (state.status, conflict.status, f"thing{i} isa peek material" in facts()) == ("active", "open", True)


def test_a_conflict_that_gets_another_member_meanwhile_is_decided_with_it_or_left_with_it(at_once: AtOnce) -> None:
    for i in range(ROUNDS):
        conflict, rows = prefer(f"Sam prefers rebase {i}.", f"Sam prefers merge {i}.")
        newcomer = remember(f"Sam prefers squash {i}.")
        member = Member("memory", newcomer.pk, newcomer.text)
        joins = partial(run_transaction, partial(open_conflict, conflict.key, conflict.slot_key, [member]))
        verdict = Verdict("supersede_others", member=MemberKey(rows[0].pk, "memory"))
        decides = partial(decide, conflict.pk, verdict, OPERATOR)

        _, joined = at_once(decides, joins)

        newcomer.refresh_from_db()
        assert (newcomer.status, joined == conflict.pk) in (("superseded", True), ("active", False))
