"""Conflicts between facts, memories and project state: opened once, joined, marked, closed by themselves."""

from functools import partial
from typing import Any

import pytest

from memory.models import Edge, Memory, NotificationDelivery, NotificationTarget, Project, ProjectState
from resolution.conflicts.opening import Member, close_moot_of, list_open_of, open_conflict
from resolution.models import Conflict, ConflictMember
from tests.arrange import dispute, say
from tests.resolution.racers import Racers

pytestmark = pytest.mark.django_db

KEY = "decis materi p05"
ABOUT = {"project": "p05", "category": "decision", "key": "material"}


def remembered(text: str = "The bracket is of PEEK.") -> Memory:
    return Memory.objects.create(text=text, agent="dobby", source="written")


def state(value: str = "GF-PTFE") -> ProjectState:
    project, _ = Project.objects.get_or_create(slug="p05", defaults={"name": "P05"})
    return ProjectState.objects.create(project=project, category="decision", key="material", value=value, actor="o")


def as_member(row: Memory | ProjectState | Edge, *support: tuple[str, str], **more: Any) -> Member:
    kind = {Memory: "memory", ProjectState: "project_state", Edge: "edge"}[type(row)]
    return Member(kind, row.pk, str(row), support, **more)


def disputed(*rows: Memory | ProjectState) -> list[bool]:
    return [type(row).objects.get(pk=row.pk).is_disputed for row in rows]


def status(conflict_id: int) -> str:
    return Conflict.objects.get(pk=conflict_id).status


def test_of_two_that_open_one_at_once_the_second_joins(racers: Racers) -> None:
    memories = [remembered(str(number)) for number in range(4)]
    support = ("dobby", "user"), ("winky", "gutask")

    for number in range(200):
        Conflict.objects.update(status="resolved")
        ids = racers.at_once(
            partial(open_conflict, f"slot {number}", {}, [as_member(row, support[0]) for row in memories[:3]]),
            partial(open_conflict, f"slot {number}", {}, [as_member(row, support[1]) for row in memories[1:]]),
        )

        assert ids[0] == ids[1]
        members = ConflictMember.objects.filter(conflict=ids[0]).order_by("object_id")
        assert [member.object_id for member in members] == [memory.pk for memory in memories]
        assert sorted(members[1].support) == [["dobby", "user"], ["winky", "gutask"]]
    assert Conflict.objects.count() == 200


def test_whoever_wants_to_know_of_conflicts_is_notified_once_of_each() -> None:
    NotificationTarget.objects.create(kind="mail", address="ada@host", events=["conflict.opened"])
    rows = [as_member(remembered()), as_member(state())]

    across = open_conflict(KEY, ABOUT, rows, project="p05")
    open_conflict(KEY, ABOUT, rows, project="p05")
    claim = dispute("dobby isa elf type", "dobby isa servant type")
    say("dobby isa ghost type", "kreacher")
    story = open_conflict("story", {"rows": []}, rows, question="Is the bracket still of PEEK?")

    told = [row.payload for row in NotificationDelivery.objects.order_by("pk")]
    assert [payload["items"] for payload in told] == [
        [{"id": across, "slot": "material", "project": "p05"}],
        [{"id": claim.conflict_id, "slot": "dobby [type]", "project": ""}],
        [{"id": story, "slot": "", "project": ""}],
    ]
    assert "PEEK" not in str(told)


def test_what_is_contested_again_is_another_conflict_and_the_old_one_stays() -> None:
    rows = [as_member(remembered()), as_member(state())]
    first = open_conflict(KEY, ABOUT, rows, project="p05")
    Conflict.objects.update(status="resolved")

    second = open_conflict(KEY, ABOUT, rows, project="p05")

    assert first != second
    assert [status(first), status(second)] == ["resolved", "open"]
    assert ConflictMember.objects.filter(conflict=first).count() == 2


def test_the_lower_layers_name_what_they_contradict() -> None:
    say("bracket isa peek material")
    memory, edge, old = remembered(), Edge.objects.get(concept__token="bracket"), state()
    above = ("project_state", old.pk)
    sides = [as_member(memory, against=above), as_member(edge, against=above), as_member(old)]
    conflict = open_conflict(KEY, ABOUT, sides, project="p05")

    assert list(Conflict.objects.values_list("slot_kind", "slot_key", "project")) == [("cross_layer", ABOUT, "p05")]
    assert list(ConflictMember.objects.order_by("-trust").values_list("kind", "trust", "conflicts_with__kind")) == [
        ("project_state", 3, None),
        ("edge", 2, "project_state"),
        ("memory", 1, "project_state"),
    ]
    item = {"id": conflict, "kind": "cross_layer", "conflicts_with": {"kind": "project_state", "id": old.pk}}
    assert list_open_of("memory", [memory.pk, 0]) == {memory.pk: [item]}
    open_conflict(KEY, ABOUT, [as_member(memory, against=("edge", edge.pk)), as_member(edge)])
    assert list_open_of("memory", [memory.pk])[memory.pk][0]["conflicts_with"] == {"kind": "edge", "id": edge.pk}


def test_a_fact_tells_of_the_conflict_of_its_slot() -> None:
    claim = dispute("bracket isa peek material", "bracket isa steel material")
    edge = Edge.objects.get(concept__token="bracket")

    item = {"id": claim.conflict_id, "kind": "edge_slot", "conflicts_with": None}
    assert list_open_of("edge", [edge.pk]) == {edge.pk: [item]}


def test_members_are_marked_while_one_of_their_conflicts_is_open() -> None:
    memory, old, other = remembered(), state(), remembered("The bracket is of steel.")
    first = open_conflict(KEY, ABOUT, [as_member(memory), as_member(old)])
    question = "Is the bracket still of PEEK?"
    open_conflict("story", {}, [as_member(memory), as_member(other)], question=question)
    assert disputed(memory, old, other) == [True, True, True]

    Conflict.objects.filter(pk=first).update(status="dismissed")
    assert disputed(memory, old, other) == [True, False, True]
    Conflict.objects.update(status="resolved")
    assert disputed(memory, old, other) == [False, False, False]
    Conflict.objects.filter(pk=first).update(status="open")  # as an undo does
    assert disputed(memory, old, other) == [True, True, False]


def test_a_conflict_of_which_one_side_stands_closes_by_itself() -> None:
    say("bracket isa peek material")
    memory, edge, old = remembered(), Edge.objects.get(concept__token="bracket"), state()
    conflict = open_conflict(KEY, ABOUT, [as_member(row) for row in (memory, edge, old)])

    edge.delete()
    assert status(conflict) == "open"
    Memory.objects.update(status="invalid", archived_at="2026-01-01T00:00Z")
    close_moot_of("memory", [memory.pk])

    assert status(conflict) == "resolved"
    assert (Conflict.objects.get().resolution or {})["decision"] == "moot"
    assert disputed(old) == [False]


def test_a_conflict_ends_with_the_project_state_that_was_contradicted() -> None:
    memory, old = remembered(), state()
    conflict = open_conflict(KEY, ABOUT, [as_member(memory), as_member(old)])

    ProjectState.objects.update(status="superseded", archived_at="2026-01-01T00:00Z", is_disputed=False)

    assert status(conflict) == "resolved"
    assert disputed(memory) == [False]


def test_a_question_ends_with_what_it_is_about() -> None:
    memory, others = remembered(), [remembered(), remembered()]
    members = [as_member(memory, is_asked=True), *map(as_member, others)]
    conflict = open_conflict("story", {}, members, tier="model", question="Is the bracket still of PEEK?")
    assert ConflictMember.objects.get(is_asked=True).object_id == memory.pk

    memory.delete()

    assert status(conflict) == "resolved"
    assert ConflictMember.objects.count() == 2  # who has a memory forgotten has its words forgotten here, too
