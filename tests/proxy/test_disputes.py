"""How many queries it takes to tell of many conflicts."""

import pytest
from django.db.models import Q
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.domain.types import Triple
from memory.graph.store import Attribution
from memory.models import Source
from proxy.api import serializers
from proxy.api.conflicts import ConflictQuery, find_conflicts
from resolution.actors import Actor
from resolution.intake.assertions import assert_fact
from resolution.models import Claim, Run
from resolution.views.conflict_facts import RING_MAX
from tests.resolution.deciding import dismiss

pytestmark = pytest.mark.django_db

OPERATOR = Actor("hermione", Source.OPERATOR)


def state(concept: str, parent: str) -> Claim | None:
    said = Attribution("dobby", Source.GUTASK, 1.0, timezone.now())
    return assert_fact(Triple(concept, parent, "membership", False), said).claim


def dispute(concept: str) -> Claim:
    state(concept, "hogwarts")
    claim = state(concept, "durmstrang")
    assert claim is not None
    return claim


def test_a_page_takes_the_same_few_queries_however_long_it_is(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(8):
        claim = dispute(f"pupil{number}")
        if number % 2:
            dismiss(claim.pk, OPERATOR, "no")

    with django_assert_max_num_queries(10):
        page = find_conflicts(ConflictQuery(status="all", limit=50), Q(pk=None))

    assert (page.count, len(page.items), len((page.items[-1].members[-1].model_extra or {})["decisions"])) == (8, 8, 1)


def test_one_conflict_takes_few_queries_however_long_its_ring_is(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(RING_MAX + 10):
        state(f"link{number}", f"link{number + 1}")
    claim = state(f"link{RING_MAX + 10}", "link0")
    assert claim is not None

    with django_assert_max_num_queries(12):
        told = serializers.surroundings_out(claim.conflict_id or 0)

    assert told is not None
    assert [fact.concept for fact in told.ring] == [f"link{number}" for number in range(RING_MAX)]


def test_a_run_takes_two_queries_however_much_it_decided(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    run = Run.objects.create(trigger="api", mode="auto")
    for number in range(5):
        dismiss(dispute(f"pupil{number}").pk, Actor("resolver", Source.OPERATOR, run), "no")

    with django_assert_max_num_queries(1):
        told = serializers.run_with_decisions_out(run)

    assert [decision.kind for decision in told.decisions] == ["dismiss"] * 5
