"""Asserting facts against a real graph."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.models import Dimension, Edge, EdgeHistory, Soas, Source
from resolution.models import Claim
from tests.arrange import fact, say, teach

pytestmark = pytest.mark.django_db


def test_a_new_fact_brings_its_words_its_dimension_and_its_root() -> None:
    outcome = teach("gnommoweb isa repo glitch_university")

    assert outcome.status == "inserted"
    edge = Edge.objects.get(concept__token="gnommoweb")
    assert (edge.parent.token, edge.dim.token, edge.confidence, edge.source) == (
        "repo",
        "glitch_university",
        1.0,
        "gutask",
    )
    dimension = Dimension.objects.get(soas__token="glitch_university")
    assert (dimension.is_isa, dimension.on_collision) == (True, "queue")
    assert Edge.objects.get(concept=dimension.soas_id).is_root


def test_a_new_fact_has_the_time_at_which_it_was_said() -> None:
    at = timezone.now() - timedelta(days=3)

    teach("gnommoweb isa repo type", at=at)

    edge = Edge.objects.get(concept__token="gnommoweb")
    assert (edge.said_at, edge.last_confirmed) == (at, at)


def test_the_subject_of_a_new_fact_becomes_novel_and_its_parent_does_not() -> None:
    teach("gnommoweb isa repo type")

    assert dict(Soas.objects.values_list("token", "novelty")) == {"gnommoweb": 1, "repo": 0, "type": 0}


def test_an_insertion_is_in_the_history() -> None:
    teach("gnommoweb isa repo type", evidence="gnommoweb -isa repo")

    row = EdgeHistory.objects.get()
    assert (row.action, row.actor, row.source, row.reason, row.before) == (
        "insert",
        "dobby",
        "gutask",
        "gnommoweb -isa repo",
        None,
    )
    assert row.after["parent_id"] == Soas.objects.get(token="repo").id


def test_the_same_voice_confirms_without_raising_the_confidence() -> None:
    early = timezone.now() - timedelta(days=3)
    teach("gnommoweb isa repo type", confidence=0.8, at=early)

    outcome = teach("gnommoweb isa repo type", confidence=0.8)

    edge = Edge.objects.get(concept__token="gnommoweb")
    assert (outcome.status, edge.confidence) == ("confirmed", 0.8)
    assert edge.last_confirmed > early + timedelta(days=2)


def test_another_voice_raises_the_confidence_a_little() -> None:
    teach("gnommoweb isa repo type", "dobby", confidence=0.8)

    teach("gnommoweb isa repo type", "winky", confidence=0.5)

    assert Edge.objects.get(concept__token="gnommoweb").confidence == pytest.approx(0.81)


def test_a_voice_raises_the_confidence_once() -> None:
    teach("gnommoweb isa repo type", "dobby", confidence=0.48, source=Source.INFERRED)

    for _ in range(5):
        teach("gnommoweb isa repo type", "winky", confidence=0.48, source=Source.INFERRED)

    assert Edge.objects.get(concept__token="gnommoweb").confidence == pytest.approx(0.506)


def test_what_was_read_in_passing_becomes_a_stated_fact_when_someone_states_it() -> None:
    teach("gnommoweb isa repo type", "winky", confidence=0.8, source=Source.INFERRED)

    teach("gnommoweb isa repo type", "dobby", confidence=1.0, source=Source.GUTASK)

    edge = Edge.objects.get(concept__token="gnommoweb")
    assert (edge.source, edge.agent, edge.confidence) == ("gutask", "dobby", 1.0)


def test_a_confirmation_is_noted_once_per_agent_and_day() -> None:
    teach("gnommoweb isa repo type", "dobby")

    for agent in ("winky", "winky", "kreacher"):
        teach("gnommoweb isa repo type", agent)

    assert list(EdgeHistory.objects.filter(action="confirm").order_by("id").values_list("actor", flat=True)) == [
        "winky",
        "kreacher",
    ]


@pytest.mark.parametrize(
    ("first", "second", "collision_type"),
    [
        ("gnommoweb isa repo type", "gnommoweb isa container type", "isa_isa"),
        ("gnommoweb ispart aa membership", "gnommoweb ispart b membership", "ispart_ispart"),
        ("gnommoweb isa repo type", "gnommoweb ispart docker type", "misclassification"),
    ],
)
def test_another_parent_in_the_slot_is_queued_and_the_world_stays(first: str, second: str, collision_type: str) -> None:
    teach(first)

    outcome = teach(second, "winky", evidence="he said so")

    claim = Claim.objects.get()
    assert (outcome.status, outcome.claim, outcome.existing) == ("conflict", claim, fact(first))
    assert (claim.collision_type, claim.status, claim.agent) == (collision_type, "pending", "winky")
    assert (claim.priority, claim.evidence) == (1, "he said so")
    assert Edge.objects.get(concept__token="gnommoweb").parent.token == fact(first).parent


def test_the_same_collision_is_queued_once() -> None:
    teach("gnommoweb isa repo type")

    first = teach("gnommoweb isa container type")
    again = teach("gnommoweb isa container type", "winky")

    assert first.claim == again.claim
    assert Claim.objects.count() == 1


def test_a_ring_is_queued_with_what_closes_it() -> None:
    teach("aa ispart b membership")
    teach("b ispart c membership")

    outcome = teach("c ispart aa membership")

    claim = Claim.objects.get()
    assert (outcome.status, claim.collision_type) == ("conflict", "cycle")
    assert outcome.existing == fact("b ispart c membership")
    assert claim.blocking_concept is not None
    assert (claim.existing_parent, claim.blocking_concept.token) == (None, "b")
    assert not Edge.objects.filter(concept__token="c").exists()


def test_a_taken_slot_is_a_plain_collision_even_where_its_newcomer_would_close_a_ring() -> None:
    teach("aa isa b type")
    teach("b isa c type")

    teach("b isa aa type")

    assert Claim.objects.get().collision_type == "isa_isa"


def test_the_slot_of_a_root_cannot_be_claimed() -> None:
    teach("gnommoweb isa repo type")

    outcome = teach("type isa word type")

    assert outcome.status == "invalid"
    assert Edge.objects.get(concept__token="type").is_root


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("text", "status", "most"),
    [
        ("gnommoweb isa server type", "inserted", 12),
        ("gnommoweb ispart tyr runs-on", "confirmed", 9),
        ("gnommoweb ispart odin runs-on", "conflict", 14),
    ],
)
def test_a_slot_is_read_once(text: str, status: str, most: int) -> None:
    teach("gnommoweb ispart tyr runs-on")
    teach("tyr isa server type")

    with CaptureQueriesContext(connection) as captured:
        assert say(text, "winky").status == status

    statements = [query["sql"] for query in captured if query["sql"] not in ("BEGIN", "COMMIT")]
    assert len(statements) <= most, statements
