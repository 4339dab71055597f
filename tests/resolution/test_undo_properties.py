"""Random worlds, random decisions, all undone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resolution.conflicts.queue import recheck_claims
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import Verdict
from resolution.errors import DecisionError
from resolution.models import Claim, Decision
from tests.arrange import OPERATOR, decide_claim, dump, graph, rows, say

pytestmark = pytest.mark.django_db

DIMENSIONS = ("type", "membership", "role")

statements = st.lists(
    st.builds(
        "{0} {1} {2} {3}".format,
        st.sampled_from("bcde"),
        st.sampled_from(("isa", "ispart")),
        st.sampled_from("bcdefg"),
        st.sampled_from(DIMENSIONS[:2]),
    ).filter(lambda text: text.split()[0] != text.split()[2]),
    min_size=4,
    max_size=9,
)
dimensions = st.sampled_from((*DIMENSIONS, "form", "use"))
verdicts = st.one_of(
    st.tuples(dimensions, dimensions)
    .filter(lambda names: names[0] != names[1])
    .map(lambda names: Verdict("decompose", "", existing_dimension=names[0], new_dimension=names[1])),
    st.just(Verdict("update", "")),
    st.builds(Verdict, st.just("relocate"), st.just(""), dimension=dimensions, is_isa=st.sampled_from((None, True))),
    st.just(Verdict("dismiss", "")),
)
steps = st.lists(st.tuples(st.integers(0, 20), verdicts), min_size=1, max_size=5)
searching = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@contextmanager
def fresh_world() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def build(texts: list[str]) -> None:
    for i, text in enumerate(texts):
        say(text, ("dobby", "winky", "kreacher")[i % 3])


def decide_some(choices: list[tuple[int, Verdict]], between: Callable[[], Any] = lambda: None) -> list[Decision]:
    """Decides about what is open; what cannot be decided changes nothing."""
    decisions = []
    for number, verdict in choices:
        claims = Claim.objects.filter(status="pending").order_by("id")
        if not claims:
            break
        chosen = claims[number % len(claims)]
        before = dump()
        try:
            decisions.append(decide_claim(chosen.pk, OPERATOR, verdict))
        except DecisionError:
            assert graph() == {part: before[part] for part in ("edges", "dimensions")}
        between()
    return decisions


def settled() -> dict[str, list[tuple[Any, ...]]]:
    """The world once each conflict was looked at: a ring may have become a plain collision, or be closed by another
    edge, without any decision."""
    for slot in Claim.objects.filter(status="pending").values_list("concept_id", "dim_id").distinct():
        recheck_claims(slot, place_first=False)
    return dump()


def check_the_world() -> None:
    """What has to hold after whatever was decided or undone."""
    roots = rows("SELECT dim_id FROM urd WHERE id = dim_id AND parent_id = id ORDER BY 1")
    assert roots == rows("SELECT id FROM dimension ORDER BY 1")
    assert not rows("SELECT 1 FROM urd WHERE dim_id NOT IN (SELECT id FROM dimension)")
    for row in Claim.objects.filter(status="pending"):
        if row.collision_type == "cycle":
            assert row.blocking_concept_id is not None
            assert row.existing_parent_id is None


@given(statements, steps)
@searching
def test_decisions_undone_in_reverse_leave_the_world_as_it_was(
    texts: list[str], choices: list[tuple[int, Verdict]]
) -> None:
    with fresh_world():
        build(texts)
        before = settled()

        for decision in reversed(decide_some(choices, check_the_world)):
            undo(decision.pk, OPERATOR)
            check_the_world()

        after = settled()
        known = {row[0] for row in before["queue"]}
        made = {row[0] for row in after["queue"]} - known
        assert after | {"queue": [row for row in after["queue"] if row[0] in known]} == before
        # A collision that a decision made stays on record if it was decided about itself.
        assert not Claim.objects.filter(id__in=made, status__in=["pending", "proposed"]).exists()


@given(statements, steps, st.randoms(use_true_random=False))
@searching
def test_what_is_undone_in_any_order_leaves_a_sound_world(
    texts: list[str], choices: list[tuple[int, Verdict]], chance: Any
) -> None:
    with fresh_world():
        build(texts)
        before = graph()
        left = decide_some(choices)

        for _ in range(len(left)):
            for decision in chance.sample(left, len(left)):
                try:
                    undo(decision.pk, OPERATOR)
                    left.remove(decision)
                except DecisionError:
                    pass
                check_the_world()

        if not left:
            assert graph() == before
