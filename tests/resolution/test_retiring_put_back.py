"""Facts that were retired, and are put back."""

from datetime import datetime

import pytest
from django.utils import timezone

from memory.graph.store import Attribution
from memory.models import Dimension, Edge, EdgeHistory, Source
from memory.types import Triple
from resolution.errors import CannotPutBack
from resolution.intake import retirement
from resolution.intake.place import Outcome, assert_fact
from resolution.models import Claim, DecidedTriple

pytestmark = pytest.mark.django_db

REPO = Triple("zorblat", "repo", "type", True)
CONTAINER = Triple("zorblat", "container", "type", True)


def say(fact: Triple = REPO, agent: str = "dobby") -> Outcome:
    said = Attribution(agent, Source.INFERRED, 0.8, timezone.now(), role="user", conversation=agent.encode().ljust(16))
    return assert_fact(fact, said)


def edge(fact: Triple = REPO) -> Edge:
    return Edge.objects.select_related("concept", "parent", "dim").get(
        concept__token=fact.concept, dim__token=fact.dimension
    )


def retire(fact: Triple = REPO) -> EdgeHistory:
    row = retirement.retire_one(edge(fact), actor="hermione", reason="wrong")
    assert row is not None
    return row


def test_a_fact_that_is_put_back_is_as_it_was() -> None:
    say()
    say(agent="winky")
    fields = (
        "concept_id",
        "parent_id",
        "dim_id",
        "is_isa",
        "confidence",
        "source",
        "agent",
        "said_at",
        "last_confirmed",
    )
    before = [getattr(edge(), name) for name in fields]
    row = retire()

    retirement.put_back(row.pk, actor="harry", reason="it was right")

    assert [getattr(edge(), name) for name in fields] == before
    history = EdgeHistory.objects.get(action="undo")
    assert (history.actor, history.source, history.reason, history.before) == (
        "harry",
        "operator",
        "it was right",
        None,
    )
    assert (history.before, {"edge_id": edge().pk, **history.after}) == (None, row.before)


def test_the_decision_to_retire_is_forgotten_with_what_is_put_back() -> None:
    say()
    row = retire()
    assert say().status == "decided"

    retirement.put_back(row.pk, actor="harry")

    assert not DecidedTriple.objects.exists()
    assert say().status == "confirmed"


def test_a_retired_fact_is_put_back_once() -> None:
    say()
    row = retire()
    retirement.put_back(row.pk, actor="harry")

    with pytest.raises(CannotPutBack, match="put back already, by harry"):
        retirement.put_back(row.pk, actor="ron")

    assert EdgeHistory.objects.filter(action="undo").count() == 1


def test_when_it_was_put_back_or_came_back_is_told_as_the_pages_tell_it() -> None:
    say()
    row, other = retire(), Triple("kvasir", "repo", "type", True)
    retirement.put_back(row.pk, actor="harry")
    say(other)
    again = retire(other)
    say(other, "kreacher")

    with timezone.override(on_another_day(timezone.now())):
        day = timezone.localtime().date().isoformat()
        with pytest.raises(CannotPutBack, match=f"by harry on {day}"):
            retirement.put_back(row.pk, actor="ron")
        with pytest.raises(CannotPutBack, match=f"stated it again on {day}"):
            retirement.put_back(again.pk, actor="ron")


def on_another_day(now: datetime) -> str:
    """A time zone where it is not the day that it is in UTC."""
    return "Etc/GMT-14" if now.hour >= 12 else "Etc/GMT+12"


def test_one_that_was_retired_again_is_put_back_from_the_newer_row() -> None:
    say()
    first = retire()
    retirement.put_back(first.pk, actor="harry")
    second = retire()

    with pytest.raises(CannotPutBack, match="already"):
        retirement.put_back(first.pk, actor="harry")
    retirement.put_back(second.pk, actor="harry")

    assert edge().parent.token == "repo"


def test_one_that_was_stated_again_meanwhile_stays_as_it_was_stated() -> None:
    say()
    row = retire()
    say(agent="kreacher")

    with pytest.raises(CannotPutBack, match="has come back since: kreacher"):
        retirement.put_back(row.pk, actor="harry")

    assert edge().agent == "kreacher"


def test_a_fact_that_is_put_back_does_not_take_the_place_of_another() -> None:
    say()
    row = retire()
    say(CONTAINER)

    with pytest.raises(CannotPutBack, match=r"its place is taken: zorblat is a container \[type\]"):
        retirement.put_back(row.pk, actor="harry")

    assert edge().parent.token == "container"
    assert DecidedTriple.objects.count() == 1


def test_a_fact_that_is_put_back_closes_no_ring() -> None:
    inner, outer = Triple("inner", "outer", "membership", False), Triple("outer", "inner", "membership", False)
    say(inner)
    row = retire(inner)
    say(outer)

    with pytest.raises(CannotPutBack, match="would close a cycle with outer is part of inner"):
        retirement.put_back(row.pk, actor="harry")

    assert not Edge.objects.filter(concept__token="inner").exists()


def test_what_was_disputed_with_it_is_disputed_again() -> None:
    say()
    claim = say(CONTAINER, "winky").claim
    assert claim is not None
    row = retire()

    retirement.put_back(row.pk, actor="harry")

    claim.refresh_from_db()
    assert (claim.status, claim.existing_parent) == (Claim.Status.PENDING, edge().parent)


def test_a_dimension_that_has_gone_comes_back_with_it() -> None:
    say(Triple("zorblat", "repo", "shelf", False))
    row = retire(Triple("zorblat", "repo", "shelf", False))
    Edge.objects.filter(dim__token="shelf").delete()
    Dimension.objects.filter(soas__token="shelf").delete()

    retirement.put_back(row.pk, actor="harry")

    assert Edge.objects.filter(dim__token="shelf").count() == 2
    assert Dimension.objects.get(soas__token="shelf").is_isa is False


def test_what_was_never_retired_is_not_put_back() -> None:
    say()
    inserted = EdgeHistory.objects.get(action="insert")

    for key in (inserted.pk, inserted.pk + 1_000_000):
        with pytest.raises(CannotPutBack, match="Only a fact that was retired"):
            retirement.put_back(key, actor="harry")


def test_a_fact_that_stands_no_more_is_not_retired_again() -> None:
    say()
    stale = edge()
    retire()

    assert retirement.retire_one(stale, actor="harry", reason="") is None
