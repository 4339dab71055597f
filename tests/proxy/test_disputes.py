"""How many queries it takes to tell of many conflicts."""

import pytest
from pytest_django import DjangoAssertNumQueries

from memory.models import Source
from proxy.api import serializers
from proxy.api.conflicts import ConflictQuery, find_conflicts
from proxy.api.serializers import ConflictOut
from resolution.actors import Actor
from resolution.models import Run
from resolution.pages.queries import RING_MAX
from tests.arrange import OPERATOR, claim_of, dismiss, teach, teach_both

pytestmark = pytest.mark.django_db


def test_a_page_takes_the_same_few_queries_however_long_it_is(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(8):
        claim = teach_both(f"pupil{number}")
        if number % 2:
            dismiss(claim.pk, OPERATOR, "no")

    with django_assert_max_num_queries(10):
        items = serializers.conflicts_out(find_conflicts(ConflictQuery(), "all"), ConflictOut)

    assert (len(items), len((items[-1].members[-1].model_extra or {})["decisions"])) == (8, 1)


def test_one_conflict_takes_few_queries_however_long_its_ring_is(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(RING_MAX + 10):
        teach(f"link{number} ispart link{number + 1} membership")
    claim = claim_of(teach(f"link{RING_MAX + 10} ispart link0 membership"))

    with django_assert_max_num_queries(12):
        told = serializers.surroundings_out(claim.conflict_id or 0)

    assert told is not None
    assert [fact.concept for fact in told.ring] == [f"link{number}" for number in range(RING_MAX)]


def test_a_run_takes_two_queries_however_much_it_decided(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    run = Run.objects.create(trigger="api", mode="auto")
    for number in range(5):
        dismiss(teach_both(f"pupil{number}").pk, Actor("resolver", Source.OPERATOR, run), "no")

    with django_assert_max_num_queries(1):
        told = serializers.run_with_decisions_out(run)

    assert [decision.kind for decision in told.decisions] == ["dismiss"] * 5
