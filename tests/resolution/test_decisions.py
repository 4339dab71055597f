"""The four decisions, against a real graph."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.graph import store
from memory.models import Dimension, Edge, EdgeHistory, Soas, Source
from resolution.actors import Actor
from resolution.conflicts.decide import find_claim
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import KINDS, Verdict, VerdictMistake
from resolution.errors import DecisionError
from resolution.models import Claim, DecidedTriple, Decision, Run
from tests.arrange import (
    OPERATOR,
    decide_claim,
    decompose,
    dismiss,
    dispute,
    dump,
    facts,
    relocate,
    say,
    seen_of,
    status,
    update,
)

pytestmark = pytest.mark.django_db

RESOLVER = Actor("festinger", Source.FESTINGER)


@pytest.fixture
def claim() -> Claim:
    return dispute("gnommoweb isa repo type", "gnommoweb isa container type", evidence="gnommoweb is a container")


def split(claim: Claim, actor: Actor = OPERATOR, **names: str) -> Decision:
    return decompose(
        claim.pk,
        actor,
        "both",
        **({"existing_dimension": "artifact-type", "new_dimension": "deployment-type"} | names),
    )


def edge(concept: str, dimension: str) -> Edge:
    return Edge.objects.select_related("parent").get(concept__token=concept, dim__token=dimension)


def decided(dimension: str = "type") -> dict[str, tuple[str, str | None, list[str]]]:
    rows = DecidedTriple.objects.filter(dim__token=dimension).select_related("parent", "moved_to")
    return {row.parent.token: (row.kind, row.moved_to and row.moved_to.token, row.agents) for row in rows}


# --- decompose ---


def test_a_decomposition_gives_each_fact_a_dimension_of_its_own(claim: Claim) -> None:
    split(claim)

    assert facts() == {"gnommoweb isa repo artifact-type", "gnommoweb isa container deployment-type"}
    assert status(claim) == "resolved"


def test_new_dimensions_have_roots_and_know_what_they_were_split_from(claim: Claim) -> None:
    split(claim)

    for name in ("artifact-type", "deployment-type"):
        dimension = Dimension.objects.get(soas__token=name)
        assert (dimension.is_isa, dimension.split_from.soas.token) == (True, "type")  # type: ignore[union-attr]
        assert Edge.objects.get(concept=dimension.soas_id).is_root


def test_the_standing_edge_moves_with_all_that_is_known_about_it(claim: Claim) -> None:
    before = edge("gnommoweb", "type")

    split(claim)

    after = edge("gnommoweb", "artifact-type")
    for name in ("parent_id", "confidence", "source", "agent", "said_at", "last_confirmed"):
        assert getattr(after, name) == getattr(before, name)


def test_the_newcomer_is_stored_as_it_was_said(claim: Claim) -> None:
    split(claim)

    new = edge("gnommoweb", "deployment-type")
    assert (new.agent, new.source, new.confidence, new.said_at) == ("winky", "inferred", 0.8, claim.said_at)


def test_facts_of_other_concepts_stay_in_the_old_dimension(claim: Claim) -> None:
    say("kvasir isa service type")

    split(claim)

    assert "kvasir isa service type" in facts()


def test_a_dimension_that_exists_keeps_its_lineage(claim: Claim) -> None:
    say("kvasir isa image deployment-type")

    split(claim)

    assert Dimension.objects.get(soas__token="deployment-type").split_from is None
    assert "gnommoweb isa container deployment-type" in facts()


def test_the_standing_fact_may_keep_its_dimension(claim: Claim) -> None:
    split(claim, existing_dimension="type")

    assert facts() == {"gnommoweb isa repo type", "gnommoweb isa container deployment-type"}
    assert decided() == {"container": ("decomposed", "deployment-type", ["winky"])}


def test_a_fact_that_its_new_dimension_has_in_a_split_stands_once(claim: Claim) -> None:
    say("gnommoweb isa repo membership")
    split(claim, existing_dimension="role", new_dimension="membership")  # role is split from type
    second = Claim.objects.get(status="pending")

    split(second, existing_dimension="type", new_dimension="use")

    assert facts() == {"gnommoweb isa repo role", "gnommoweb isa container use"}
    assert decided("membership")["repo"] == ("decomposed", "role", ["dobby"])


def test_the_newcomer_may_take_the_dimension(claim: Claim) -> None:
    split(claim, new_dimension="type")

    assert facts() == {"gnommoweb isa repo artifact-type", "gnommoweb isa container type"}
    assert decided() == {"repo": ("decomposed", "artifact-type", ["dobby"])}


def test_both_triples_are_decided_with_who_had_said_them(claim: Claim) -> None:
    say("gnommoweb isa repo type", "kreacher")

    decision = split(claim)

    assert decided() == {
        "repo": ("decomposed", "artifact-type", ["dobby", "kreacher"]),
        "container": ("decomposed", "deployment-type", ["winky"]),
    }
    assert set(DecidedTriple.objects.values_list("decision", flat=True)) == {decision.pk}


def test_the_old_sentences_said_again_bring_nothing_back(claim: Claim) -> None:
    split(claim)
    before = facts()

    outcomes = [say("gnommoweb isa repo type", "dobby"), say("gnommoweb isa container type", "winky")]

    assert [outcome.status for outcome in outcomes] == ["confirmed", "confirmed"]
    assert facts() == before
    assert not Claim.objects.filter(status="pending").exists()


def test_the_new_slot_of_the_newcomer_may_be_taken_and_that_is_a_collision_there(claim: Claim) -> None:
    say("gnommoweb isa image deployment-type")

    split(claim)

    new = Claim.objects.get(status="pending")
    assert (new.dim.token, new.existing_parent.token, new.incoming_parent.token) == (  # type: ignore[union-attr]
        "deployment-type",
        "image",
        "container",
    )
    assert (new.agent, new.evidence, new.collision_type) == ("winky", "gnommoweb is a container", "isa_isa")
    assert facts() == {"gnommoweb isa repo artifact-type", "gnommoweb isa image deployment-type"}


def test_a_standing_fact_whose_new_slot_is_taken_stays_until_that_is_decided(claim: Claim) -> None:
    say("gnommoweb isa program artifact-type")

    split(claim)

    new = Claim.objects.get(status="pending")
    assert (new.dim.token, new.incoming_parent.token, new.agent) == ("artifact-type", "repo", "dobby")
    assert facts() == {
        "gnommoweb isa repo type",
        "gnommoweb isa program artifact-type",
        "gnommoweb isa container deployment-type",
    }
    assert "repo" not in decided()


@pytest.mark.parametrize("dimension", ["artifact-type", "deployment-type"])
def test_no_other_fact_is_lost_to_a_decomposition_where_the_newer_wins(dimension: str) -> None:
    say(f"gnommoweb isa program {dimension}", at=timezone.now() - timedelta(days=3))
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    Dimension.objects.filter(soas__token=dimension).update(on_collision="supersede")
    before = dump()

    with pytest.raises(DecisionError, match=r"taken: .*program"):
        split(claim)

    assert dump() == before


def test_a_fact_that_stands_in_its_new_slot_is_confirmed_there(claim: Claim) -> None:
    say("gnommoweb isa repo artifact-type", "kreacher", confidence=0.5)
    say("gnommoweb isa container deployment-type", "kreacher", confidence=0.5)

    split(claim)

    assert facts() == {"gnommoweb isa repo artifact-type", "gnommoweb isa container deployment-type"}
    assert edge("gnommoweb", "artifact-type").confidence == pytest.approx(0.71)
    assert edge("gnommoweb", "deployment-type").confidence == pytest.approx(0.8)


def test_a_ring_in_a_new_slot_is_refused_and_nothing_changes(claim: Claim) -> None:
    say("container isa gnommoweb deployment-type")
    before = dump()

    with pytest.raises(DecisionError, match=r"cycle: container .*gnommoweb"):
        split(claim)

    assert dump() == before


def test_a_ring_for_the_standing_fact_is_refused_and_nothing_changes(claim: Claim) -> None:
    say("repo isa gnommoweb artifact-type")
    before = dump()

    with pytest.raises(DecisionError, match="cycle"):
        split(claim)

    assert dump() == before


@pytest.mark.parametrize("name", ["gnommoweb", "repo", "container", "2024", "", "a/b"])
def test_a_name_that_cannot_be_a_dimension_is_refused(claim: Claim, name: str) -> None:
    before = dump()

    with pytest.raises((DecisionError, VerdictMistake)):
        split(claim, new_dimension=name)

    assert dump() == before


def test_names_are_read_as_people_write_them(claim: Claim) -> None:
    split(claim, existing_dimension="Artifact Type", new_dimension="deployment type")

    assert facts() == {"gnommoweb isa repo artifact_type", "gnommoweb isa container deployment-type"}


def test_what_else_waited_for_the_slot_waits_on_when_both_have_left(claim: Claim) -> None:
    other = say("gnommoweb isa service type", "kreacher").claim
    assert other is not None

    split(claim)

    assert facts() == {"gnommoweb isa container deployment-type", "gnommoweb isa repo artifact-type"}
    assert status(other) == "pending"

    update(other.pk, OPERATOR, "a service")

    assert "gnommoweb isa service type" in facts()


def test_the_fact_that_closes_a_ring_can_be_moved_out_of_its_dimension() -> None:
    say("b ispart c membership")
    claim = say("c ispart b membership").claim
    assert claim is not None

    split(claim, existing_dimension="area", new_dimension="membership")

    assert facts() == {"b ispart c area", "c ispart b membership"}


# --- update ---


def test_an_update_retires_the_old_fact_and_stores_the_newcomer(claim: Claim) -> None:
    update(claim.pk, OPERATOR, "it was packed")

    assert facts() == {"gnommoweb isa container type"}
    new = edge("gnommoweb", "type")
    assert (new.agent, new.source, new.confidence, new.said_at) == ("winky", "inferred", 0.8, claim.said_at)
    assert decided() == {"repo": ("retired", None, ["dobby"])}
    assert status(claim) == "resolved"


def test_the_retired_fact_is_in_the_history(claim: Claim) -> None:
    update(claim.pk, OPERATOR, "it was packed")

    row = EdgeHistory.objects.get(action="retire")
    assert (row.actor, row.source, row.reason) == ("hermione", "operator", "it was packed")
    assert row.before["parent_id"] == Soas.objects.get(token="repo").pk


def test_the_other_claims_of_the_slot_are_decided_against_and_said_again_they_change_nothing(claim: Claim) -> None:
    other = say("gnommoweb isa service type", "kreacher").claim
    assert other is not None

    decision = update(claim.pk, OPERATOR, "")

    assert (status(other), decision.arguments["dismissed"][0]["id"]) == ("dismissed", other.pk)
    assert decided()["service"] == ("dismissed", None, ["kreacher"])
    assert say("gnommoweb isa service type", "kreacher").status == "decided"
    assert facts() == {"gnommoweb isa container type"}


def test_what_an_operator_did_not_see_and_what_a_model_was_not_asked_stays_open(claim: Claim) -> None:
    seen = seen_of(claim.conflict)
    other = say("gnommoweb isa service type", "kreacher").claim
    assert other is not None

    undo(update(claim.pk, OPERATOR, "", seen=seen).pk, OPERATOR)
    assert (status(claim), status(other)) == ("pending", "pending")
    decide_claim(claim.pk, RESOLVER, verdict("update"), seen=seen_of(claim))

    assert (status(claim), status(other)) == ("resolved", "pending")


def test_claims_that_join_later_are_put_against_the_new_fact(claim: Claim) -> None:
    seen = seen_of(claim.conflict)
    other = say("gnommoweb ispart docker type", "kreacher").claim
    assert other is not None
    Claim.objects.filter(pk=other.pk).update(status="proposed", proposal={"decision": "dismiss"}, attempts=2)

    update(claim.pk, OPERATOR, "", seen=seen)

    other.refresh_from_db()
    assert (other.existing_parent.token, other.collision_type) == ("container", "misclassification")  # type: ignore[union-attr]
    assert (other.status, other.proposal, other.attempts) == ("pending", None, 0)


def test_an_update_retires_the_edge_that_closes_a_ring() -> None:
    for text in ("aa ispart b membership", "b ispart c membership"):
        say(text)
    claim = say("c ispart aa membership", "winky").claim
    assert claim is not None

    update(claim.pk, OPERATOR, "")

    assert facts() == {"aa ispart b membership", "c ispart aa membership"}
    triple = DecidedTriple.objects.select_related("concept", "parent").get()
    assert (triple.concept.token, triple.parent.token, triple.kind) == ("b", "c", "retired")


def test_an_open_ring_of_the_slot_becomes_a_plain_collision_once_the_slot_is_filled() -> None:
    say("aa ispart b membership")
    first = say("b ispart aa membership").claim
    assert first is not None
    seen = seen_of(first.conflict)
    say("c ispart b membership")
    second = say("b ispart c membership").claim
    assert second is not None
    assert second.collision_type == "cycle"

    update(first.pk, OPERATOR, "", seen=seen)

    second.refresh_from_db()
    assert (second.collision_type, second.blocking_concept) == ("ispart_ispart", None)
    assert second.existing_parent.token == "aa"  # type: ignore[union-attr]


def test_an_update_that_would_close_a_ring_is_refused() -> None:
    say("aa isa b type")
    claim = dispute("b isa c type", "b isa aa type")
    before = dump()

    with pytest.raises(DecisionError, match=r"cycle: aa is a b \[type\]"):
        update(claim.pk, OPERATOR, "")

    assert dump() == before


def test_an_update_fills_a_slot_that_was_emptied_meanwhile(claim: Claim) -> None:
    store.retire(edge("gnommoweb", "type"), OPERATOR.attribute(""))

    update(claim.pk, OPERATOR, "")

    assert facts() == {"gnommoweb isa container type"}
    assert decided() == {}


def test_an_update_fills_a_slot_whose_ring_was_broken_meanwhile() -> None:
    say("aa ispart b membership")
    claim = say("b ispart aa membership").claim
    assert claim is not None
    store.retire(edge("aa", "membership"), OPERATOR.attribute(""))

    update(claim.pk, OPERATOR, "")

    assert facts() == {"b ispart aa membership"}


# --- relocate ---


def test_a_relocation_stores_the_newcomer_elsewhere_and_the_standing_fact_stays() -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb ispart docker type")

    relocate(claim.pk, OPERATOR, "it runs there", dimension="runs-on")

    assert facts() == {"gnommoweb isa repo type", "gnommoweb ispart docker runs-on"}
    dimension = Dimension.objects.get(soas__token="runs-on")
    assert (dimension.is_isa, dimension.split_from) == (False, None)
    assert decided() == {"docker": ("relocated", "runs-on", ["winky"])}


def test_a_relocation_may_change_a_kind_to_a_place(claim: Claim) -> None:
    relocate(claim.pk, OPERATOR, "", dimension="runs-on", is_isa=False)

    assert "gnommoweb ispart container runs-on" in facts()


def test_a_relocation_to_a_taken_slot_says_what_is_there(claim: Claim) -> None:
    say("gnommoweb ispart docker runs-on")

    with pytest.raises(DecisionError, match=r"taken: gnommoweb runs on docker"):
        relocate(claim.pk, OPERATOR, "", dimension="runs-on")

    assert status(claim) == "pending"


def test_a_relocation_to_where_it_stands_confirms_it(claim: Claim) -> None:
    say("gnommoweb isa container runs-on", "kreacher", confidence=0.3)

    relocate(claim.pk, OPERATOR, "", dimension="runs-on")

    assert edge("gnommoweb", "runs-on").confidence == pytest.approx(0.8)


def test_a_relocation_to_where_it_collided_is_refused(claim: Claim) -> None:
    with pytest.raises(DecisionError, match="another dimension"):
        relocate(claim.pk, OPERATOR, "", dimension="type")


def test_a_ring_can_be_relocated() -> None:
    say("aa ispart b membership")
    claim = say("b ispart aa membership").claim
    assert claim is not None

    relocate(claim.pk, OPERATOR, "", dimension="owned-by")

    assert facts() == {"aa ispart b membership", "b ispart aa owned-by"}


# --- dismiss ---


def test_a_dismissal_changes_nothing_but_the_queue(claim: Claim) -> None:
    before = dump()

    dismiss(claim.pk, OPERATOR, "hearsay")

    after = dump()
    assert (after["edges"], after["dimensions"]) == (before["edges"], before["dimensions"])
    assert status(claim) == "dismissed"
    assert decided() == {"container": ("dismissed", None, ["winky"])}


def test_a_dismissed_sentence_said_again_is_not_queued_again(claim: Claim) -> None:
    dismiss(claim.pk, OPERATOR, "hearsay")

    assert say("gnommoweb isa container type", "winky").status == "decided"
    assert not Claim.objects.filter(status="pending").exists()


def test_who_had_said_it_is_kept_over_several_decisions(claim: Claim) -> None:
    dismiss(claim.pk, OPERATOR, "")
    again = say("gnommoweb isa container type", "kreacher").claim
    assert again is not None
    DecidedTriple.objects.create(
        concept=again.concept, dim=again.dim, parent=again.incoming_parent, kind="dismissed", agents=["winky"]
    )

    dismiss(again.pk, OPERATOR, "")

    assert decided() == {"container": ("dismissed", None, ["kreacher", "winky"])}


def test_agents_whose_sentence_was_dismissed_do_not_reopen_it_in_turns(claim: Claim) -> None:
    dismiss(claim.pk, OPERATOR, "noise")
    reopened = say("gnommoweb isa container type", agent="kreacher").claim
    assert reopened is not None
    dismiss(reopened.pk, OPERATOR, "noise again")

    outcomes = [say("gnommoweb isa container type", agent=agent) for agent in (claim.agent, "kreacher")]

    assert [outcome.status for outcome in outcomes] == ["decided", "decided"]


def test_a_conflict_whose_slot_was_emptied_can_be_dismissed(claim: Claim) -> None:
    store.retire(edge("gnommoweb", "type"), OPERATOR.attribute(""))

    dismiss(claim.pk, OPERATOR, "")

    assert facts() == set()
    assert decided() == {"container": ("dismissed", None, ["winky"])}


def test_where_the_newer_wins_no_triple_is_decided_for_good(claim: Claim) -> None:
    Dimension.objects.filter(soas__token="type").update(on_collision="supersede")

    dismiss(claim.pk, OPERATOR, "")

    assert decided() == {}


# --- all of them ---


def verdict(kind: str) -> Verdict:
    return Verdict(
        kind,  # type: ignore[arg-type]
        "because",
        existing_dimension="artifact-type",
        new_dimension="deployment-type",
        dimension="runs-on",
    )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_verdict_is_done(claim: Claim, kind: str) -> None:
    decision = decide_claim(claim.pk, OPERATOR, verdict(kind))

    claim.refresh_from_db()
    assert (decision.kind, decision.actor, decision.source, decision.reason) == (
        kind,
        "hermione",
        "operator",
        "because",
    )
    assert claim.resolution is not None
    assert (claim.resolution["decision"], claim.resolution["kind"]) == (decision.pk, kind)
    assert (claim.resolution["actor"], claim.resolution["reason"]) == ("hermione", "because")
    assert claim.resolved_at is not None


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_conflict_is_decided_once(claim: Claim, kind: str) -> None:
    dismiss(claim.pk, Actor("ron", Source.OPERATOR), "")
    before = dump()

    with pytest.raises(DecisionError, match="already decided by ron: existing fact kept"):
        decide_claim(claim.pk, OPERATOR, verdict(kind))

    assert dump() == before


def test_a_proposed_conflict_can_be_decided(claim: Claim) -> None:
    Claim.objects.filter(pk=claim.pk).update(status="proposed")

    dismiss(claim.pk, OPERATOR, "")

    assert status(claim) == "dismissed"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_slot_that_holds_another_fact_meanwhile_is_not_decided_about_unseen(claim: Claim, kind: str) -> None:
    store.retire(edge("gnommoweb", "type"), OPERATOR.attribute(""))
    say("gnommoweb isa library type", "kreacher")

    with pytest.raises(DecisionError, match=r"the graph now says gnommoweb is a library \[type\]"):
        decide_claim(claim.pk, OPERATOR, verdict(kind))

    assert status(claim) == "pending"
    assert claim.existing_parent.token == "library"  # type: ignore[union-attr]
    assert decide_claim(claim.pk, OPERATOR, verdict(kind)).kind == kind


@pytest.mark.parametrize("kind", ["decompose", "relocate", "update"])
def test_what_stands_already_can_only_be_dismissed(claim: Claim, kind: str) -> None:
    Edge.objects.filter(concept__token="gnommoweb").update(parent=claim.incoming_parent_id)

    with pytest.raises(DecisionError, match="in the graph already"):
        decide_claim(claim.pk, OPERATOR, verdict(kind))
    dismiss(claim.pk, OPERATOR, "")

    assert decided() == {}


def test_an_emptied_slot_cannot_be_decomposed(claim: Claim) -> None:
    store.retire(edge("gnommoweb", "type"), OPERATOR.attribute(""))

    with pytest.raises(DecisionError, match="an update puts it in the graph"):
        split(claim)


def test_a_ring_that_another_edge_closes_meanwhile_is_not_decided_about_unseen() -> None:
    for text in ("aa ispart b membership", "b ispart c membership"):
        say(text)
    claim = say("c ispart aa membership", "winky").claim
    assert claim is not None
    store.retire(edge("b", "membership"), OPERATOR.attribute(""))
    say("b ispart d membership", "kreacher")
    say("d ispart c membership", "kreacher")

    with pytest.raises(DecisionError, match=r"now d is part of c closes the cycle"):
        update(claim.pk, OPERATOR, "")

    claim.refresh_from_db()
    assert claim.blocking_concept.token == "d"  # type: ignore[union-attr]


def test_a_conflict_that_was_rebased_is_not_decided_as_it_was_seen(claim: Claim) -> None:
    other = say("gnommoweb isa service type", "kreacher").claim
    assert other is not None
    seen = seen_of(other)
    decide_claim(claim.pk, RESOLVER, verdict("update"))

    with pytest.raises(DecisionError, match="has changed meanwhile"):
        decide_claim(other.pk, RESOLVER, verdict("update"), seen=seen)

    assert facts() == {"gnommoweb isa container type"}


def test_the_resolver_may_decide_only_what_the_table_says() -> None:
    claim = dispute("gnommoweb ispart aa membership", "gnommoweb ispart b membership")

    with pytest.raises(DecisionError, match="for an operator"):
        split(claim, RESOLVER)

    assert status(claim) == "pending"
    assert split(claim).kind == "decompose"


def test_a_claim_that_is_not_there_is_refused(claim: Claim) -> None:
    with pytest.raises(DecisionError, match="no claim 4711"):
        find_claim(claim.conflict_id, 4711)


def test_the_run_is_kept_with_its_decisions(claim: Claim) -> None:
    run = Run.objects.create(trigger="command", mode="auto")

    decision = dismiss(claim.pk, Actor("festinger", Source.FESTINGER, run), "")

    claim.refresh_from_db()
    assert (decision.run, claim.run) == (run, run)


def test_a_name_that_is_longer_than_the_records_is_cut(claim: Claim) -> None:
    decision = update(claim.pk, Actor("x" * 150, Source.OPERATOR), "")

    assert decision.actor == "x" * 120


def test_a_fact_that_was_dismissed_where_it_is_put_now_is_no_longer_decided_about(claim: Claim) -> None:
    earlier = dispute("gnommoweb ispart docker runs-on", "gnommoweb ispart container runs-on")
    dismiss(earlier.pk, OPERATOR, "")
    store.retire(edge("gnommoweb", "runs-on"), OPERATOR.attribute(""))

    relocate(claim.pk, OPERATOR, "", dimension="runs-on", is_isa=False)

    assert "gnommoweb ispart container runs-on" in facts()
    assert decided("runs-on") == {}


def test_a_long_decided_fact_is_stored_with_the_time_it_was_said() -> None:
    early = timezone.now() - timedelta(days=1)
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type", at=early)

    update(claim.pk, OPERATOR, "")

    assert edge("gnommoweb", "type").last_confirmed == early
