"""What corrections, retractions and beliefs do to the graph."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.models import Agent, Edge, EdgeHistory, Observation, Soas, Source
from memory.timing import undate
from resolution.conflicts import undo
from resolution.conflicts.verdict import Verdict
from resolution.errors import DecisionError
from resolution.intake import retirement
from resolution.models import Candidate, Claim, DecidedTriple
from resolution.nightly.resolver import pending
from resolution.observations import settle_due
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
    status,
    update,
)

pytestmark = pytest.mark.django_db


def hear(text: str, says: str = "states", conversation: int = 1, **changes: Any) -> str:
    """What becomes of a statement that was read in a prompt."""
    concept, relation, parent, dimension = text.split()
    count = Observation.objects.count()
    row = Observation.objects.create(
        **{
            "kind": "triple", "digest": bytes([conversation]) * 16 + count.to_bytes(16), "concept": concept,
            "parent": parent, "dimension": dimension, "is_isa": relation == "isa", "confidence": 0.8, "role": "user",
            "agent": "dobby", "said_at": timezone.now(), "says": says,
        }
        | changes
    )  # fmt: skip
    settle_due()
    row.refresh_from_db()
    return row.outcome


def history(concept: str = "skadi") -> list[str]:
    return list(EdgeHistory.objects.filter(concept__token=concept).order_by("pk").values_list("action", flat=True))


def operator_says(text: str) -> None:
    say(text, "hermione", source=Source.OPERATOR, role="")


# --- corrections ---


@pytest.mark.parametrize("says", ["changes", "corrects"])
def test_a_users_correction_replaces_what_they_said(says: str) -> None:
    hear("skadi isa printer type")

    assert hear("skadi isa plotter type", says, 2) == "superseded"

    assert facts() == {"skadi isa plotter type"}
    assert history() == ["insert", "supersede"]
    assert not Claim.objects.exists()
    assert not DecidedTriple.objects.exists()


def test_what_was_replaced_can_be_said_again() -> None:
    hear("skadi isa printer type")
    hear("skadi isa plotter type", "changes")

    assert hear("skadi isa printer type", "corrects", 2) == "superseded"

    assert facts() == {"skadi isa printer type"}


def test_against_an_operators_fact_it_is_a_conflict() -> None:
    operator_says("skadi isa printer type")

    assert hear("skadi isa plotter type", "corrects") == "conflict"

    assert facts() == {"skadi isa printer type"}
    assert Claim.objects.get().incoming_text == "skadi -isa plotter"


def test_after_a_decomposition_it_finds_the_dimension() -> None:
    claim = dispute("skadi isa printer type", "skadi isa device type")
    decompose(claim.pk, OPERATOR, "", existing_dimension="make", new_dimension="role")

    assert hear("skadi isa plotter type", "changes", instead_of="printer") == "superseded"
    assert facts() == {"skadi isa plotter make", "skadi isa device role"}

    assert hear("skadi isa scanner type", "changes", agent="hagrid") == "candidate"  # of which, nobody knows
    assert hear("skadi isa scanner type", "changes") == "superseded"  # of what dobby has said
    assert facts() == {"skadi isa scanner make", "skadi isa device role"}
    assert hear("skadi isa device type", "retracts", agent="winky") == "retired"
    assert hear("skadi isa copier type", "changes") == "superseded"
    assert facts() == {"skadi isa copier make"}


def test_after_a_relocation_it_finds_the_dimension() -> None:
    claim = dispute("skadi isa printer type", "skadi isa oslo type")
    relocate(claim.pk, OPERATOR, "", dimension="site")

    assert hear("skadi isa bergen type", "changes", instead_of="oslo", agent="winky") == "superseded"
    assert facts() == {"skadi isa printer type", "skadi isa bergen site"}

    assert hear("skadi isa bergen type", "retracts", agent="winky") == "retired"
    assert facts() == {"skadi isa printer type"}


def test_other_claims_are_against_the_new_value_then() -> None:
    hear("skadi isa printer type")
    hear("skadi isa plotter type", agent="winky")
    hear("skadi ispart scanner type", agent="kreacher")

    hear("skadi isa plotter type", "corrects")

    assert sorted(Claim.objects.values_list("incoming_parent__token", "status")) == [
        ("plotter", "resolved"), ("scanner", "pending")
    ]  # fmt: skip
    claim = Claim.objects.get(status="pending")
    assert (str(claim.existing_parent), claim.collision_type) == ("plotter", "misclassification")


def test_what_was_dismissed_by_an_operator_no_user_brings_back() -> None:
    claim = dispute("skadi isa printer type", "skadi isa plotter type")
    dismiss(claim.pk, OPERATOR, "no")

    assert hear("skadi isa plotter type", "corrects", agent="winky") == "decided"

    assert facts() == {"skadi isa printer type"}


# --- refinements ---


def test_the_more_specific_parent_takes_the_place_of_the_bare_one() -> None:
    hear("kvasir isa app type")

    assert hear("kvasir isa flask_app type") == "superseded"
    assert hear("kvasir isa app type", conversation=2) == "confirmed"

    assert facts() == {"kvasir isa flask_app type"}


def test_an_operators_bare_word_does_not_vouch_for_the_rest() -> None:
    hear("kvasir isa flask_app type")

    operator_says("kvasir isa app type")

    assert hear("kvasir isa fastapi_app type", "corrects") == "superseded"


# --- retractions ---


def test_a_retraction_takes_a_fact_out_and_saying_it_again_brings_it_back_at_once() -> None:
    hear("skadi isa printer type")

    assert hear("skadi isa printer type", "retracts") == "retired"
    assert (facts(), history()) == (set(), ["insert", "retire"])

    assert hear("skadi isa printer type", conversation=2) == "inserted"
    assert facts() == {"skadi isa printer type"}


def test_what_is_taken_back_makes_room_for_what_was_said_against_it() -> None:
    hear("skadi isa printer type")
    hear("skadi isa plotter type", agent="winky")

    hear("skadi isa printer type", "retracts")

    assert facts() == {"skadi isa plotter type"}
    assert Claim.objects.get().status == "resolved"


def test_whoever_disputes_may_take_that_back() -> None:
    operator_says("skadi isa printer type")
    hear("skadi isa plotter type")

    assert hear("skadi isa plotter type", "retracts") == "retired"

    assert Claim.objects.get().status == "dismissed"


def test_a_retraction_of_what_nobody_knows_adds_nothing() -> None:
    assert hear("grimnir isa flurb colour", "retracts") == "needless"

    assert not Soas.objects.filter(token__in=["grimnir", "flurb", "colour"]).exists()


@pytest.fixture
def retraction() -> Claim:
    operator_says("skadi isa printer type")
    assert hear("skadi isa printer type", "retracts") == "conflict"
    return Claim.objects.get()


def test_what_an_operator_said_only_a_person_takes_out(retraction: Claim) -> None:
    assert (retraction.collision_type, retraction.existing_parent, retraction.status) == (
        "retraction", retraction.incoming_parent, "pending",
    )  # fmt: skip
    assert not pending().exists()  # the nightly job leaves it alone
    for kind in ("decompose", "relocate"):
        verdict = Verdict(kind, "", existing_dimension="make", new_dimension="role", dimension="make")  # type: ignore[arg-type]
        with pytest.raises(DecisionError, match="it is kept"):
            decide_claim(retraction.pk, OPERATOR, verdict)

    before = dump()
    decision = update(retraction.pk, OPERATOR, "right")
    assert (facts(), status(retraction)) == (set(), "resolved")

    undo.undo(decision.pk, OPERATOR)
    assert dump() == before


def test_a_retraction_that_was_dismissed_is_not_opened_by_the_same_again(retraction: Claim) -> None:
    dismiss(retraction.pk, OPERATOR, "it is one")

    assert hear("skadi isa printer type", "retracts") == "decided"
    assert hear("skadi isa printer type", conversation=2) == "confirmed"
    assert facts() == {"skadi isa printer type"}

    Agent.objects.create(name="winky", token_hash="0" * 64)
    assert hear("skadi isa printer type", "retracts", agent="winky") == "conflict"


def test_a_retraction_is_settled_once_its_fact_is_gone(retraction: Claim) -> None:
    retirement.retire(Edge.objects.filter(concept__token="skadi"), actor="hermione", reason="")

    assert status(retraction) == "resolved"


# --- what is only believed ---


def believe(conversation: int, **changes: Any) -> str:
    return hear("skadi isa printer type", conversation=conversation, is_hedged=True, confidence=0.56, **changes)


def test_what_is_only_believed_is_a_candidate_until_the_same_user_says_it_again() -> None:
    assert [believe(1), believe(1)] == ["candidate", "candidate"]
    assert (facts(), Candidate.objects.get().why) == (set(), "only believed")

    assert believe(2) == "inserted"

    assert facts() == {"skadi isa printer type"}
    assert Candidate.objects.get().state == "promoted"


def test_anothers_belief_promotes_nothing() -> None:
    believe(1)

    assert believe(2, agent="winky") == "candidate"


def test_said_for_certain_it_is_a_fact_in_the_same_conversation() -> None:
    believe(1)

    assert hear("skadi isa printer type") == "inserted"
    assert believe(3) == "needless"


def test_what_was_only_believed_can_be_taken_back() -> None:
    believe(1)

    hear("skadi isa printer type", "retracts")

    assert Candidate.objects.get().state == "expired"


# --- conversations that were under way ---


def test_what_was_said_before_anybody_read_it_comes_before_all_that_stands() -> None:
    long_ago = datetime.fromtimestamp(undate(time.time()), UTC)

    assert hear("skadi isa printer type", said_at=long_ago) == "inserted"

    assert facts() == {"skadi isa printer type"}
    edge = Edge.objects.get(concept__token="skadi", dim__token="type")
    assert timezone.now() - edge.last_confirmed < timedelta(minutes=1)
    assert hear("skadi isa plotter type", "corrects") == "superseded"
    assert hear("skadi isa printer type", said_at=long_ago) == "candidate"
    assert not Claim.objects.exists()
