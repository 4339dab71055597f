"""Project state, facts and memories that contradict each other are found wherever one of them is written."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import F

from memory.db.transactions import run_transaction
from memory.memories.scope import Scope
from memory.models import Edge, Memory, Project, ProjectState, Source
from memory.running import bootstrap
from resolution.conflicts import decide as deciding
from resolution.conflicts import detection
from resolution.conflicts.detection import detect_state
from resolution.conflicts.opening import list_open_of
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import MemberKey, Verdict
from resolution.intake.retirement import put_back, retire_one
from resolution.memories import service
from resolution.memories.project_state import settle
from resolution.models import Conflict, Run, SlotClaim
from resolution.nightly.runs import run_now
from resolution.nightly.sweep import sweep_conflicts
from tests.arrange import OPERATOR, say
from tests.resolution.racers import ROUNDS, Racers
from tests.resolution.test_memories import SAM, tell

pytestmark = pytest.mark.django_db(transaction=True)

FACT = "p05.lateral-support isa {} decision.material"


@pytest.fixture
def project() -> Project:
    bootstrap.load_dimensions()
    return Project.objects.create(slug="p05", name="P05")


def decide(project: Project, value: str, key: str = "lateral_support_material", category: str = "decision") -> Any:
    return settle(project, category, key, value, OPERATOR)


def sides(conflict_id: int | None) -> set[tuple[str, str | None]]:
    """Each member that stands or stood, with the kind of what it contradicts."""
    rows = Conflict.objects.get(pk=conflict_id).members.values_list("text", "conflicts_with__kind")
    return set(rows)


def statuses() -> list[str]:
    return list(Conflict.objects.order_by("pk").values_list("status", flat=True))


def test_state_and_a_fact_contradict_each_other_whichever_comes_first(project: Project) -> None:
    told = decide(project, "GF-PTFE")
    assert told.conflict_id is None
    said = say(FACT.format("peek"))

    conflict = Conflict.objects.get()
    assert (said.status, said.conflict_id) == ("inserted", conflict.pk)
    assert (conflict.slot_kind, conflict.project, conflict.slot_key) == (
        "cross_layer",
        "p05",
        {"project": "p05", "category": "decision", "key": "lateral_support_material"},
    )
    assert sides(conflict.pk) == {
        ("decision.lateral_support_material = GF-PTFE", None),
        ("p05.lateral-support has peek as its decision.material", "project_state"),
    }
    assert ProjectState.objects.get().is_disputed

    agreed = decide(project, "PEEK")
    assert agreed.conflict_id is None
    assert statuses() == ["resolved"]
    other = decide(project, "steel")
    assert other.conflict_id == Conflict.objects.get(status="open").pk
    assert say(FACT.format("peek")).conflict_id == other.conflict_id


@pytest.mark.parametrize(
    "fact",
    [
        "p05.lateral-support isa gf_ptfe decision.material",
        "p05.axial-support isa peek decision.material",
        "p06.lateral-support isa peek decision.material",
        "lateral-support isa peek decision.material",
    ],
)
def test_what_says_the_same_or_is_of_something_else_contradicts_nothing(project: Project, fact: str) -> None:
    decide(project, "GF-PTFE")

    assert say(fact).conflict_id is None
    assert not Conflict.objects.exists()


def test_what_was_replaced_contradicts_nothing(project: Project) -> None:
    decide(project, "PEEK")
    decide(project, "GF-PTFE")

    assert say(FACT.format("gf-ptfe")).conflict_id is None
    assert not Conflict.objects.exists()


def test_a_value_that_an_undo_brings_back_is_looked_at(project: Project) -> None:
    state = decide(project, "GF-PTFE").row
    said = say(FACT.format("peek"))
    [edge] = Edge.objects.filter(parent__token="peek")
    winner = Verdict("supersede_others", "", MemberKey(edge.pk, "edge"))
    decision = deciding.decide(said.conflict_id or 0, winner, OPERATOR)
    say("p05.material isa peek decision.lateral-support")
    assert statuses() == ["resolved"]

    undo(decision.pk, OPERATOR)

    assert statuses() == ["open"]
    assert len(sides(said.conflict_id)) == 3
    assert ProjectState.objects.get(pk=state.pk).is_disputed


def test_a_memory_that_an_undo_brings_back_is_looked_at(project: Project) -> None:
    first, second = tell("I am a nurse."), tell("I am a teacher.", minutes=1)
    assert second.memory is not None
    winner = Verdict("supersede_others", "", MemberKey(second.memory.pk))
    decision = deciding.decide(second.conflict_id or 0, winner, OPERATOR)
    later = tell("I am no longer a nurse.", minutes=2)
    assert (later.conflict_id, statuses()) == (None, ["resolved"])

    undo(decision.pk, OPERATOR)

    assert statuses() == ["open"]
    assert first.memory is not None
    [one] = list_open_of("memory", [first.memory.pk])[first.memory.pk]
    assert len(sides(one["id"])) == 3
    assert Memory.objects.filter(is_disputed=True).count() == 3


def test_a_moved_memory_meets_the_other_layers_of_its_new_project_only(project: Project) -> None:
    nest = Project.objects.create(slug="nest", name="nest")
    decide(project, "trunk", "branching", "preference")
    told = tell("I prefer the release branching.", Scope(SAM.speaker, project.pk), category="preference").memory
    assert told is not None
    assert statuses() == ["open"]

    service.move(told.pk, nest, OPERATOR)
    assert statuses() == ["resolved"]
    decide(nest, "trunk", "branching", "preference")
    assert dict(Conflict.objects.values_list("project", "status")) == {"p05": "resolved", "nest": "open"}


def test_facts_that_are_moved_or_put_back_are_looked_at(project: Project) -> None:
    say(FACT.format("peek"))
    row = retire_one(Edge.objects.get(parent__token="peek"), actor="a", reason="")
    assert row is not None
    decide(project, "GF-PTFE")
    assert statuses() == []

    put_back(row.pk, actor="a", reason="")

    assert statuses() == ["open"]
    retire_one(Edge.objects.get(parent__token="peek"), actor="a", reason="")
    assert statuses() == ["resolved"]
    assert not ProjectState.objects.filter(is_disputed=True).exists()


def test_a_memory_contradicts_facts_and_state(project: Project) -> None:
    say("billing isa mysql database")
    told = tell("My billing database is Postgres.")
    assert (told.status, sides(told.conflict_id)) == (
        "created",
        {("My billing database is Postgres.", "edge"), ("billing is a mysql [database]", None)},
    )
    assert told.memory is not None
    assert told.memory.is_disputed

    decide(project, "merge commits", "workflow", "preference")
    scope = SAM._replace(project=project.pk)
    told = tell("The user prefers rebase workflow.", scope, category="preference")
    assert sides(told.conflict_id) == {
        ("The user prefers rebase workflow.", "project_state"),
        ("preference.workflow = merge commits", None),
    }
    assert told.memory is not None
    item = {"kind": "project_state", "id": ProjectState.objects.get().pk}
    assert list_open_of("memory", [told.memory.pk])[told.memory.pk][0]["conflicts_with"] == item
    assert tell("The user prefers merge commits in the workflow.", scope, category="preference").conflict_id is None


def test_a_memory_without_a_slot_contradicts_what_it_plainly_says_otherwise(project: Project) -> None:
    scope = SAM._replace(project=project.pk)
    decide(project, "Thursday", "deployment_day", "schedule")
    say("kvasir ispart turing runs-on")

    for text in ("Kvasir runs on turing.", "The deployment day is near."):
        assert tell(text, scope, category="project").conflict_id is None
    day = tell("The team decided that the deployment day is Friday.", scope, category="project")
    host = tell("Kvasir runs on lovelace.", scope, category="other")

    assert sides(day.conflict_id) == {
        ("schedule.deployment_day = Thursday", None),
        ("The team decided that the deployment day is Friday.", "project_state"),
    }
    assert sides(host.conflict_id) == {("kvasir runs on turing", None), ("Kvasir runs on lovelace.", "edge")}
    assert [told.memory and told.memory.is_disputed for told in (day, host)] == [True, True]
    run_now(Run.Trigger.SWEEP, "", sweep_conflicts)
    assert statuses() == ["open", "open"]
    Memory.objects.filter(text="Kvasir runs on lovelace.").update(text="Kvasir runs on turing.")
    decide(project, "Friday", "deployment_day", "schedule")
    run_now(Run.Trigger.SWEEP, "", sweep_conflicts)
    assert statuses() == ["resolved", "resolved"]


@pytest.mark.parametrize(
    "text",
    [
        "The material of the mount is titanium.",
        "The mount material is titanium.",
        "p05.mount is made of titanium.",
        "The team decided to use titanium for the mount material.",
    ],
)
def test_a_fact_is_contradicted_in_natural_words(project: Project, text: str) -> None:
    say("p05.mount isa peek material")
    told = tell(text, SAM._replace(project=project.pk), category="project")

    assert sides(told.conflict_id) == {("p05.mount has peek as its material", None), (text, "edge")}


def test_what_is_rolled_back_opens_nothing(project: Project) -> None:
    decide(project, "GF-PTFE")

    with transaction.atomic():
        say(FACT.format("peek"))
        transaction.set_rollback(True)

    assert not Conflict.objects.exists()


def test_two_layers_written_at_once_contradict_each_other_in_one_conflict(project: Project, racers: Racers) -> None:
    def saying(number: int) -> Callable[[], object]:
        return lambda: say(f"p05.part{number} isa peek decision.material", source=Source.OPERATOR, role="")

    def deciding(number: int) -> Callable[[], object]:
        return lambda: decide(project, "GF-PTFE", f"part{number}_material")

    rounds = 4 * ROUNDS
    for number in range(rounds):
        racers.at_once(saying(number), deciding(number))

    assert Conflict.objects.filter(status="open", slot_kind="cross_layer").count() == rounds
    assert Conflict.objects.count() == rounds
    assert {conflict.members.count() for conflict in Conflict.objects.all()} == {2}


def test_who_has_a_memory_forgotten_has_its_words_forgotten(project: Project) -> None:
    told = tell("My phone number is 1234.")
    assert SlotClaim.objects.filter(kind="memory").count() == 2
    assert told.memory is not None

    Memory.objects.filter(pk=told.memory.pk).delete()

    assert not SlotClaim.objects.exists()


def test_state_that_is_written_where_nobody_commits_is_looked_at_at_once(project: Project) -> None:
    say(FACT.format("peek"))
    row = ProjectState(project=project, category="decision", key="lateral_support_material", value="GF-PTFE", actor="o")

    def write() -> list[int]:
        row.save()
        detect_state(row)
        return list(Conflict.objects.values_list("pk", flat=True))

    assert run_transaction(write) == [Conflict.objects.get().pk]


@pytest.mark.parametrize(
    "write",
    [
        lambda project: say(FACT.format("peek")),
        lambda project: decide(project, "GF-PTFE"),
        lambda project: tell("My billing database is Postgres.", Scope(SAM.speaker, project.pk)),
    ],
    ids=["fact", "state", "memory"],
)
def test_what_is_committed_stays_so_where_it_cannot_be_looked_at_afterwards(
    project: Project, write: Callable[[Project], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OperationalError("Postgres went away")

    monkeypatch.setattr(detection, "refresh", lambda keys: fail() if not connection.in_atomic_block else None)

    write(project)

    assert (
        Edge.objects.exclude(concept=F("parent")).count() + ProjectState.objects.count() + Memory.objects.count() == 1
    )
