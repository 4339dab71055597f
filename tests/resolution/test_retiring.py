"""Facts that are taken back, and said again."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.graph.store import Attribution
from memory.models import Dimension, Edge, EdgeHistory, Source
from memory.types import Triple
from resolution.intake import retirement
from resolution.intake.place import Outcome, assert_fact
from resolution.models import DecidedTriple

pytestmark = pytest.mark.django_db

FACT = Triple("zorblat", "repo", "type", True)


def say(agent: str, fact: Triple = FACT, *, source: Source = Source.INFERRED, days: float = 0) -> Outcome:
    at = timezone.now() + timedelta(days=days)
    return assert_fact(fact, Attribution(agent, source, 0.8, at, role="user", conversation=agent.encode().ljust(16)))


def retire_all() -> int:
    edges = [edge for edge in Edge.objects.filter(concept__token="zorblat") if not edge.is_root]
    return len(retirement.retire(edges, actor="operator", reason="wrong"))


def test_a_retired_fact_is_not_learned_again_from_who_said_it() -> None:
    say("dobby")
    say("winky")

    assert retire_all() == 1

    assert [say(agent).status for agent in ("dobby", "winky")] == ["decided", "decided"]
    assert not Edge.objects.filter(concept__token="zorblat").exists()
    history = EdgeHistory.objects.get(action="retire")
    assert (history.actor, history.source, history.reason) == ("operator", "operator", "wrong")


@pytest.mark.parametrize(
    ("agent", "source", "days"), [("kreacher", Source.INFERRED, 0), ("dobby", Source.INFERRED, 8),
                                  ("dobby", Source.GUTASK, 0), ("dobby", Source.OPERATOR, 0)]
)  # fmt: skip
def test_a_retired_fact_is_learned_again_from_another_agent_or_after_a_week_or_on_purpose(
    agent: str, source: Source, days: float
) -> None:
    say("dobby")
    retire_all()

    assert say(agent, source=source, days=days).status == "inserted"
    assert not DecidedTriple.objects.exists()


def test_another_fact_takes_the_place_of_a_retired_one() -> None:
    say("dobby")
    retire_all()

    assert say("dobby", Triple("zorblat", "container", "type", True)).status == "inserted"


def test_where_the_newer_wins_a_retired_fact_may_come_back() -> None:
    say("dobby")
    Dimension.objects.filter(soas__token="type").update(on_collision=Dimension.OnCollision.SUPERSEDE)
    retire_all()

    assert say("dobby").status == "inserted"


def test_what_was_retired_meanwhile_is_not_counted() -> None:
    say("dobby")
    edges = list(Edge.objects.filter(concept__token="zorblat"))
    retire_all()

    assert retirement.retire(edges, actor="operator", reason="wrong") == []
