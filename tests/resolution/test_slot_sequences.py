"""Random sequences of statements in all layers, decisions and undos about one slot, in a real database."""

from collections.abc import Callable
from contextlib import suppress
from itertools import combinations, count
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory.english.claims import same_value
from memory.memories.scope import Scope, Speaker
from memory.models import Edge, Memory, Project, ProjectState
from resolution.conflicts.decide import decide
from resolution.conflicts.members import read_rows
from resolution.conflicts.opening import Member, find_kept_pairs, list_open_of
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import MemberKey, Verdict
from resolution.errors import DecisionError
from resolution.memories.project_state import settle
from resolution.models import Claim, Conflict, DecidedTriple, Decision
from tests.arrange import OPERATOR, decide_claim, say
from tests.resolution.test_memories import tell

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

VALUES = ("PEEK", "Invar", "Kevlar")
numbers = count(1)  # each example has a project of its own
values, speakers = st.sampled_from(VALUES), st.sampled_from(("sam", "kim"))
steps = st.one_of(
    st.tuples(st.just("fact"), values, speakers),
    st.tuples(st.just("memory"), values, speakers),
    st.tuples(st.just("state"), values, speakers),
    st.tuples(st.just("accept"), st.integers(0, 5), st.booleans()),
    st.tuples(st.just("keep"), st.sampled_from(("no_action", "dismiss")), st.booleans()),
    st.tuples(st.just("claim"), st.sampled_from(("update", "dismiss")), st.booleans()),
    st.tuples(st.just("undo"), st.integers(0, 3), st.booleans()),
)


class Slot:
    """The material of a mount, in a project of its own."""

    def __init__(self) -> None:
        self.project = Project.objects.create(slug=f"q{next(numbers)}x", name="q")
        self.concept = f"{self.project.slug}.mount"

    def fact(self, value: str, speaker: str) -> None:
        say(f"{self.concept} isa {value.lower()} material", speaker)

    def memory(self, value: str, speaker: str) -> None:
        tell(f"The mount material is {value}.", Scope(Speaker("dobby", speaker), self.project.pk))

    def state(self, value: str, speaker: str) -> None:
        settle(self.project, "mount", "material", value, OPERATOR)

    def accept(self, number: int, is_taken_back: bool) -> None:
        if (conflict := self.find_open()) is not None:
            rows = [one for one in read_rows(list(conflict.members.all())) if one.is_current or one.is_open_claim]
            winner = rows[number % len(rows)].member
            key = MemberKey(winner.object_id, winner.kind)
            self.decide(lambda: decide(conflict.pk, Verdict("supersede_others", "", key), OPERATOR), is_taken_back)

    def keep(self, action: Any, is_taken_back: bool) -> None:
        if (conflict := self.find_open()) is not None:
            self.decide(lambda: decide(conflict.pk, Verdict(action), OPERATOR), is_taken_back)

    def claim(self, kind: Any, is_taken_back: bool) -> None:
        claim = Claim.objects.filter(concept__token=self.concept, status="pending").first()
        if claim is not None:
            self.decide(lambda: decide_claim(claim.pk, OPERATOR, Verdict(kind, "")), is_taken_back)

    def undo(self, number: int, _: bool) -> None:
        if done := self.list_decisions():
            with suppress(DecisionError):  # something is in the way by now
                undo(done[number % len(done)].pk, OPERATOR)

    def decide(self, decide: Callable[[], Decision], is_taken_back: bool) -> None:
        before, open_before = self.picture(), self.find_open()
        try:
            decision = decide()
        except DecisionError:
            assert self.picture() == before
            return
        self.check()
        if is_taken_back:
            undo(decision.pk, OPERATOR)
            assert self.picture() == before
            assert self.find_open() == open_before

    def find_open(self) -> Conflict | None:
        return Conflict.objects.filter(project=self.project.slug, status="open").first()

    def list_decisions(self) -> list[Decision]:
        own = Conflict.objects.filter(project=self.project.slug)
        rows = Decision.objects.filter(conflict__in=own) | Decision.objects.filter(claim__conflict__in=own)
        return list(rows.filter(undone_by=None).exclude(kind="undo").order_by("-pk"))

    def list_in_force(self) -> list[tuple[Member, str, bool]]:
        """The rows in force, what they say, and whether they are marked as disputed."""
        found = []
        for edge in Edge.objects.filter(concept__token=self.concept).exclude(parent=None).select_related("parent"):
            member = Member("edge", edge.pk, str(edge))
            found.append((member, edge.parent.token, bool(list_open_of("edge", [edge.pk]))))
        for memory in Memory.objects.filter(project=self.project, status="active"):
            value = memory.text.removesuffix(".").rpartition(" ")[2]
            found.append((Member("memory", memory.pk, memory.text), value, memory.is_disputed))
        states = ProjectState.objects.filter(project=self.project, status="active")
        return found + [
            (Member("project_state", state.pk, str(state)), state.value, state.is_disputed) for state in states
        ]

    def check(self) -> None:
        assert Conflict.objects.filter(project=self.project.slug, status="open").count() <= 1
        for (one, said, is_marked), (other, told, is_other_marked) in combinations(self.list_in_force(), 2):
            if same_value(said, told) or find_kept_pairs(one, {other[:2]: other.text}):
                continue
            assert (is_marked, is_other_marked) == (True, True), (one, other)
        for conflict in Conflict.objects.filter(project=self.project.slug, status="open"):
            assert sum(one.is_current or one.is_open_claim for one in read_rows(list(conflict.members.all()))) > 1

    def picture(self) -> Any:
        """All that an undo has to put back; facts without their keys."""
        own = {
            "claims": (Claim.objects.filter(concept__token=self.concept), "status"),
            "memories": (Memory.objects.filter(project=self.project), "status", "is_disputed"),
            "states": (ProjectState.objects.filter(project=self.project), "status", "is_disputed"),
        }
        rulings = DecidedTriple.objects.filter(concept__token=self.concept).order_by("parent")
        return {
            "facts": sorted(map(str, Edge.objects.filter(concept__token=self.concept))),
            "rulings": list(rulings.values_list("parent", "kind")),
            **{name: list(rows.order_by("pk").values_list("pk", *columns)) for name, (rows, *columns) in own.items()},
        }


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=3, max_size=10))
@example(  # the fact that a claim makes contradicts the memory only while that decision holds
    [
        ("fact", "Invar", "sam"),
        ("state", "PEEK", "sam"),
        ("state", "Kevlar", "sam"),
        ("memory", "Invar", "sam"),
        ("accept", 1, False),
        ("fact", "Kevlar", "kim"),
        ("fact", "PEEK", "sam"),
        ("keep", "no_action", True),
        ("claim", "update", True),
    ]
)
def test_no_two_values_are_in_force_unmarked_and_undo_is_exact(done: list[tuple[str, Any, Any]]) -> None:
    slot = Slot()
    for name, *arguments in done:
        getattr(slot, name)(*arguments)
        slot.check()
