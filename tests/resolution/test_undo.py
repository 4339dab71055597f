"""Undoing decisions puts the world back."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.graph import store
from memory.models import Dimension, Edge, EdgeHistory, Soas, Source
from resolution.actors import Actor
from resolution.conflicts.change_log import read_changes
from resolution.conflicts.undo import undo, undo_run
from resolution.conflicts.verdict import Verdict
from resolution.errors import DecisionError
from resolution.models import Claim, DecidedTriple, Decision, Run
from tests.arrange import (
    OPERATOR,
    configure,
    decide_claim,
    decompose,
    dismiss,
    dispute,
    dump,
    facts,
    graph,
    relocate,
    say,
    seen_of,
    status,
    update,
)

pytestmark = pytest.mark.django_db

DECOMPOSED = {"existing_dimension": "artifact-type", "new_dimension": "deployment-type"}
KINDS = {
    "decompose": Verdict("decompose", "", **DECOMPOSED),  # type: ignore[arg-type]
    "decompose, the old one stays": Verdict(
        "decompose", "", existing_dimension="type", new_dimension="deployment-type"
    ),
    "decompose, the new one takes it": Verdict(
        "decompose", "", existing_dimension="artifact-type", new_dimension="type"
    ),
    "update": Verdict("update", ""),
    "relocate": Verdict("relocate", "", dimension="runs-on", is_isa=False),
    "dismiss": Verdict("dismiss", ""),
}


@pytest.fixture
def claim() -> Claim:
    return dispute("gnommoweb isa repo type", "gnommoweb isa container type")


def edge(concept: str, dimension: str) -> Edge:
    return Edge.objects.get(concept__token=concept, dim__token=dimension)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("siblings", [0, 2])
def test_an_undone_decision_leaves_the_world_as_it_was(claim: Claim, kind: str, siblings: int) -> None:
    for name in ("service", "demo")[:siblings]:
        say(f"gnommoweb isa {name} type", "kreacher")
    Claim.objects.update(status="proposed", proposal={"decision": "dismiss"}, attempts=1, last_error="odd")
    before = dump()

    decision = decide_claim(claim.pk, OPERATOR, KINDS[kind])
    undo(decision.pk, OPERATOR)

    assert dump() == before


@pytest.mark.parametrize("kind", KINDS)
def test_where_new_slots_are_taken_an_undone_decision_leaves_the_world_as_it_was(claim: Claim, kind: str) -> None:
    for text in ("isa program artifact-type", "isa image deployment-type"):
        say(f"gnommoweb {text}", "kreacher")
    before = dump()

    decision = (
        decide_claim(claim.pk, OPERATOR, KINDS[kind]) if "takes it" not in kind else dismiss(claim.pk, OPERATOR, "")
    )
    undo(decision.pk, OPERATOR)

    assert dump() == before


@pytest.mark.parametrize("kind", KINDS)
def test_where_a_fact_stands_in_its_new_slot_an_undone_decision_leaves_the_world_as_it_was(
    claim: Claim, kind: str
) -> None:
    for text in ("isa repo artifact-type", "isa container deployment-type", "isa container runs-on"):
        say(f"gnommoweb {text}", "kreacher", confidence=0.3)
    before = dump()

    undo(decide_claim(claim.pk, OPERATOR, KINDS[kind]).pk, OPERATOR)

    assert dump() == before


@pytest.mark.parametrize("kind", ["update", "relocate", "dismiss", "decompose"])
def test_an_undone_decision_about_a_ring_leaves_the_world_as_it_was(kind: str) -> None:
    for text in ("aa ispart b membership", "b ispart c membership"):
        say(text)
    say("b ispart d membership", "kreacher")
    claim = say("c ispart aa membership", "winky").claim
    assert claim is not None
    before = dump()

    undo(decide_claim(claim.pk, OPERATOR, KINDS[kind]).pk, OPERATOR)

    assert dump() == before


def test_an_undoing_is_a_decision_of_its_own(claim: Claim) -> None:
    decision = update(claim.pk, OPERATOR, "")

    done = undo(decision.pk, Actor("ron", Source.OPERATOR), "too early")

    assert (done.kind, done.undoes, done.claim) == ("undo", decision, claim)
    assert (done.actor, done.source, done.reason) == ("ron", "operator", "too early")
    made, taken_out = (
        {one.key: (one.before, one.after) for one in read_changes(each.pk, [Edge])} for each in (decision, done)
    )
    assert taken_out == {key: (after, before) for key, (before, after) in made.items()}


def test_an_undoing_is_in_the_history_of_its_edges(claim: Claim) -> None:
    undo(update(claim.pk, OPERATOR, "").pk, Actor("ron", Source.OPERATOR), "too early")

    rows = EdgeHistory.objects.filter(action="undo").order_by("id")
    assert [(row.actor, row.reason) for row in rows] == [("ron", "too early")] * 2
    out, back = rows
    assert (out.after, back.before) == (None, None)
    assert (out.before["parent_id"], back.after["parent_id"]) == (
        claim.incoming_parent_id,
        claim.existing_parent_id,
    )


def test_new_words_stay_and_so_does_novelty(claim: Claim) -> None:
    undo(decompose(claim.pk, OPERATOR, "", **DECOMPOSED).pk, OPERATOR)

    assert Soas.objects.get(token="gnommoweb").novelty == 1
    assert not Dimension.objects.filter(soas=Soas.objects.get(token="artifact-type")).exists()


def test_a_decision_is_undone_once(claim: Claim) -> None:
    decision = update(claim.pk, OPERATOR, "")
    undo(decision.pk, OPERATOR)
    before = dump()

    with pytest.raises(DecisionError, match="already undone by hermione"):
        undo(decision.pk, OPERATOR)

    assert dump() == before


def test_an_undoing_is_not_undone(claim: Claim) -> None:
    done = undo(update(claim.pk, OPERATOR, "").pk, OPERATOR)

    with pytest.raises(DecisionError, match="decide the conflict again"):
        undo(done.pk, OPERATOR)


def test_a_decision_that_is_not_there_cannot_be_undone() -> None:
    with pytest.raises(DecisionError, match="no decision 4711"):
        undo(4711, OPERATOR)


def test_an_undone_conflict_can_be_decided_and_undone_again(claim: Claim) -> None:
    before = dump()

    undo(update(claim.pk, OPERATOR, "").pk, OPERATOR)
    decision = decompose(claim.pk, OPERATOR, "", **DECOMPOSED)
    assert facts() == {"gnommoweb isa repo artifact-type", "gnommoweb isa container deployment-type"}
    undo(decision.pk, OPERATOR)

    assert dump() == before


# --- what happened since ---


def test_a_slot_that_holds_another_fact_since_keeps_the_decision(claim: Claim) -> None:
    decision = update(claim.pk, OPERATOR, "")
    store.retire(edge("gnommoweb", "type"), Actor("ron", Source.OPERATOR).attribute(""))
    say("gnommoweb isa library type")
    before = dump()

    with pytest.raises(DecisionError, match=r"gnommoweb \[type\] has changed since: it is now library"):
        undo(decision.pk, OPERATOR)

    assert dump() == before


def test_a_slot_that_was_emptied_since_keeps_the_decision(claim: Claim) -> None:
    decision = relocate(claim.pk, OPERATOR, "", dimension="runs-on")
    store.retire(edge("gnommoweb", "runs-on"), Actor("ron", Source.OPERATOR).attribute(""))

    with pytest.raises(DecisionError, match=r"gnommoweb \[runs-on\] has changed since: it is now empty"):
        undo(decision.pk, OPERATOR)


def test_a_slot_that_was_filled_since_keeps_the_decision(claim: Claim) -> None:
    decision = decompose(claim.pk, OPERATOR, "", **DECOMPOSED)
    say("gnommoweb isa library type", "kreacher")

    with pytest.raises(DecisionError, match=r"gnommoweb \[type\] has changed since: it is now library"):
        undo(decision.pk, OPERATOR)


def test_an_edge_that_would_close_a_ring_by_now_keeps_the_decision(claim: Claim) -> None:
    decision = update(claim.pk, OPERATOR, "")
    say("repo isa gnommoweb type")
    before = dump()

    with pytest.raises(DecisionError, match=r"gnommoweb is a repo \[type\] would now close a cycle"):
        undo(decision.pk, OPERATOR)

    assert dump() == before


def test_confirmations_since_are_no_change_and_are_kept(claim: Claim) -> None:
    decision = decompose(claim.pk, OPERATOR, "", **DECOMPOSED)
    later = timezone.now() + timedelta(hours=1)
    say("gnommoweb isa repo artifact-type", "kreacher", confidence=0.9, at=later)
    say("gnommoweb isa container deployment-type", "kreacher", at=later)

    undo(decision.pk, OPERATOR)

    back = edge("gnommoweb", "type")
    assert (back.parent.token, back.confidence, back.last_confirmed) == ("repo", 0.9, later)
    assert (back.agent, back.source) == ("dobby", "inferred")


def test_a_confirmation_by_the_decision_goes_with_it_and_later_ones_stay(claim: Claim) -> None:
    say("gnommoweb isa container deployment-type", "kreacher", confidence=0.3)
    decision = decompose(claim.pk, OPERATOR, "", **DECOMPOSED)
    later = timezone.now() + timedelta(hours=1)
    say("gnommoweb isa container deployment-type", "kreacher", confidence=0.3, at=later)

    undo(decision.pk, OPERATOR)

    back = edge("gnommoweb", "deployment-type")
    assert (back.confidence, back.last_confirmed) == (0.3, later)


def test_a_conflict_that_came_again_since_is_open_once(claim: Claim) -> None:
    decision = dismiss(claim.pk, OPERATOR, "")
    again = say("gnommoweb isa container type", "kreacher").claim
    assert again is not None
    assert again != claim

    undo(decision.pk, OPERATOR)

    assert (status(claim), status(again)) == ("dismissed", "pending")
    assert not DecidedTriple.objects.exists()


def test_a_triple_that_was_decided_again_since_stays_decided(claim: Claim) -> None:
    first = dismiss(claim.pk, OPERATOR, "")
    again = say("gnommoweb isa container type", "kreacher").claim
    assert again is not None
    second = dismiss(again.pk, OPERATOR, "")

    undo(first.pk, OPERATOR)

    assert DecidedTriple.objects.get().decision == second


def test_a_row_that_was_put_against_the_new_fact_and_decided_since_stays_decided(claim: Claim) -> None:
    seen = seen_of(claim.conflict)
    other = say("gnommoweb isa service type", "kreacher").claim
    assert other is not None
    decision = update(claim.pk, OPERATOR, "", seen=seen)
    dismiss(other.pk, OPERATOR, "")

    undo(decision.pk, OPERATOR)

    assert (status(claim), status(other)) == ("pending", "dismissed")


def test_what_was_queued_since_is_put_against_the_fact_that_is_back(claim: Claim) -> None:
    decision = update(claim.pk, OPERATOR, "")
    since = say("gnommoweb isa service type", "kreacher").claim
    assert since is not None

    undo(decision.pk, OPERATOR)

    since.refresh_from_db()
    assert since.existing_parent.token == "repo"  # type: ignore[union-attr]


def test_a_collision_that_the_decision_made_and_that_was_decided_since_stays_decided(claim: Claim) -> None:
    say("gnommoweb isa image deployment-type")
    decision = decompose(claim.pk, OPERATOR, "", **DECOMPOSED)
    made = Claim.objects.get(status="pending")
    dismiss(made.pk, OPERATOR, "")

    undo(decision.pk, OPERATOR)

    assert (status(made), status(claim)) == ("dismissed", "pending")
    assert facts() == {"gnommoweb isa repo type", "gnommoweb isa image deployment-type"}


def test_a_collision_that_the_decision_made_and_that_is_open_again_is_closed(claim: Claim) -> None:
    say("gnommoweb isa image deployment-type")
    decision = decompose(claim.pk, OPERATOR, "", **DECOMPOSED)
    made = Claim.objects.get(status="pending")
    undo(dismiss(made.pk, OPERATOR, "").pk, OPERATOR)

    undo(decision.pk, OPERATOR)

    assert status(made) == "dismissed"


def test_a_collision_whose_cause_was_undone_is_not_opened_again(claim: Claim) -> None:
    before = graph()
    first = relocate(claim.pk, OPERATOR, "", dimension="nature")
    other = dispute("gnommoweb ispart here membership", "gnommoweb ispart there membership")
    second = decompose(other.pk, OPERATOR, "", existing_dimension="membership", new_dimension="nature")
    made = Claim.objects.get(status="pending")
    third = dismiss(made.pk, OPERATOR, "")

    for decision in (second, third, first):
        undo(decision.pk, OPERATOR)

    assert status(made) == "dismissed"
    assert set(before["dimensions"]) == {row for row in graph()["dimensions"] if row[0] != "membership"}


# --- dimensions that several decisions use ---


@pytest.fixture
def two(claim: Claim) -> list[Decision]:
    other = dispute("kvasir isa service type", "kvasir isa image type")
    return [decompose(row.pk, OPERATOR, "", **DECOMPOSED) for row in (claim, other)]


def test_a_dimension_that_another_decision_uses_stays(two: list[Decision]) -> None:
    undo(two[0].pk, OPERATOR)

    assert Dimension.objects.filter(soas__token="artifact-type").exists()
    assert "kvasir isa service artifact-type" in facts()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_dimension_goes_with_the_last_decision_that_uses_it(two: list[Decision], order: tuple[int, int]) -> None:
    for i in order:
        undo(two[i].pk, OPERATOR)

    assert list(Dimension.objects.values_list("soas__token", flat=True)) == ["type"]
    assert facts() == {"gnommoweb isa repo type", "kvasir isa service type"}


def test_a_dimension_that_other_facts_use_stays(claim: Claim) -> None:
    decision = decompose(claim.pk, OPERATOR, "", **DECOMPOSED)
    say("kvasir isa image deployment-type")

    undo(decision.pk, OPERATOR)

    assert set(Dimension.objects.values_list("soas__token", flat=True)) == {"type", "deployment-type"}


def test_a_dimension_from_which_another_was_split_stays(claim: Claim) -> None:
    decision = relocate(claim.pk, OPERATOR, "", dimension="nature")
    other = dispute("kvasir isa service nature", "kvasir isa image nature")
    later = decompose(other.pk, OPERATOR, "", existing_dimension="purpose", new_dimension="form")
    undo(decision.pk, OPERATOR)
    assert Dimension.objects.filter(soas__token="nature").exists()

    undo(later.pk, OPERATOR)

    assert "kvasir isa service nature" in facts()


# --- runs ---


def world(concepts: int) -> list[Claim]:
    """Conflicts of all types, some several to a slot."""
    claims = []
    for i in range(concepts):
        name = f"thing{i}"
        shape = i % 5
        if shape == 0:
            claims.append(dispute(f"{name} isa repo type", f"{name} isa container type"))
            claims.append(say(f"{name} isa service type", "kreacher").claim)
        elif shape == 1:
            claims.append(dispute(f"{name} ispart here{i} membership", f"{name} ispart there{i} membership"))
            claims.append(say(f"{name} ispart nowhere membership", "kreacher").claim)
        elif shape == 2:
            claims.append(dispute(f"{name} isa repo type", f"{name} ispart docker type"))
        elif shape == 3:
            say(f"{name} ispart ring{i} membership")
            say(f"ring{i} ispart end{i} membership")
            claims.append(say(f"end{i} ispart {name} membership", "winky").claim)
            claims.append(say(f"ring{i} ispart other{i} membership", "kreacher").claim)
        else:
            say(f"{name} isa image deployment-type")
            claims.append(dispute(f"{name} isa repo type", f"{name} isa container type"))
    assert None not in claims
    return claims  # type: ignore[return-value]


VERDICTS = (
    Verdict("decompose", "", **DECOMPOSED),  # type: ignore[arg-type]
    Verdict("decompose", "", existing_dimension="artifact-type", new_dimension="role"),
    Verdict("decompose", "", existing_dimension="type", new_dimension="role"),
    Verdict("update", ""),
    Verdict("update", ""),
    Verdict("relocate", "", dimension="runs-on"),
    Verdict("relocate", "", dimension="place", is_isa=False),
    Verdict("dismiss", ""),
)


def decide_all(claims: list[Claim], actor: Actor, chance: random.Random, limit: int) -> int:
    """Decides at random as long as it can be decided; how many decisions that were."""
    count = 0
    for claim in claims:
        for verdict in chance.sample(VERDICTS, len(VERDICTS)):
            if count == limit or status(claim) not in ("pending", "proposed"):
                break
            try:
                decide_claim(claim.pk, actor, verdict)
                count += 1
            except DecisionError:
                continue
    return count


def test_an_undone_run_of_many_mixed_decisions_restores_the_graph() -> None:
    configure(quota_conflicts_per_hour=100)
    claims = world(16)
    before, everything = graph(), dump()
    run = Run.objects.create(trigger="command", mode="auto")
    chance = random.Random(4)
    chance.shuffle(claims)
    assert decide_all(claims, Actor("hermione", Source.OPERATOR, run), chance, 20) == 20
    made = Decision.objects.filter(run=run)
    assert {decision.kind for decision in made} == {"decompose", "update", "relocate", "dismiss"}
    assert {decision.claim.collision_type for decision in made.select_related("claim")} >= {"cycle", "isa_isa"}
    assert graph() != before

    report = undo_run(run.pk, OPERATOR)

    assert (len(report.undone), report.refused) == (20, [])
    assert graph() == before
    assert dump() == everything


def test_what_cannot_be_undone_is_reported_and_the_rest_is_undone() -> None:
    run = Run.objects.create(trigger="command", mode="auto")
    actor = Actor("festinger", Source.FESTINGER, run)
    stuck = update(dispute("gnommoweb isa repo type", "gnommoweb isa container type").pk, actor, "")
    free = update(dispute("kvasir isa service type", "kvasir isa image type").pk, actor, "")
    store.retire(edge("gnommoweb", "type"), Actor("ron", Source.OPERATOR).attribute(""))

    report = undo_run(run.pk, OPERATOR, "odd run")

    assert [decision.undoes for decision in report.undone] == [free]
    assert [(decision, "it is now empty" in why) for decision, why in report.refused] == [(stuck, True)]
    assert facts() == {"kvasir isa service type"}


def test_what_was_undone_before_the_run_is_undone_is_no_news() -> None:
    run = Run.objects.create(trigger="command", mode="auto")
    decision = update(
        dispute("gnommoweb isa repo type", "gnommoweb isa container type").pk, Actor("x", Source.FESTINGER, run), ""
    )
    undo(decision.pk, OPERATOR)

    report = undo_run(run.pk, OPERATOR)

    assert (report.undone, report.refused) == ([], [])


def test_a_run_that_is_not_there_cannot_be_undone() -> None:
    with pytest.raises(DecisionError, match="no run 4711"):
        undo_run(4711, OPERATOR)
