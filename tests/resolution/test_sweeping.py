"""What the sweep finds that nobody saw when it was written, and what it closes."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from memory.memories import slots
from memory.models import Edge, Memory, Project, ProjectState, Soas
from memory.running import bootstrap
from resolution import tasks
from resolution.conflicts import keys
from resolution.conflicts.decide import decide
from resolution.conflicts.verdict import Verdict
from resolution.models import Conflict, Run, SlotClaim
from resolution.nightly.runs import run_now
from resolution.nightly.sweep import sweep_conflicts
from resolution.pages.conflicts import load_page
from tests.arrange import OPERATOR, say

pytestmark = pytest.mark.django_db  # nothing is looked at when it is stored: no test commits

KINDS = Conflict.Kind


@pytest.fixture
def project() -> Project:
    bootstrap.load_dimensions()
    return Project.objects.create(slug="p05", name="P05")


def remembered(text: str, **more: Any) -> Memory:
    found = slots.find_slots(text, more.setdefault("category", "preference"))
    more = {"slot": found.slot, "other_slot": found.other, "slot_version": slots.VERSION} | more
    return Memory.objects.create(text=text, agent="dobby", person="sam", source="written", **more)


def settled(project: Project, key: str, value: str) -> ProjectState:
    return ProjectState.objects.create(project=project, category="decision", key=key, value=value, actor="o")


def sweep() -> dict[str, int]:
    run = run_now(Run.Trigger.SWEEP, "", sweep_conflicts)
    assert run.status == "done"
    return dict(run.counts)


def raise_version(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sweep", "detection"):
        monkeypatch.setattr(f"resolution.conflicts.{module}.VERSION", keys.VERSION + 1)


def open_ones() -> list[str]:
    return sorted(Conflict.objects.filter(status="open").values_list("slot_kind", flat=True))


def is_found(conflict: Conflict) -> bool:
    page = load_page(conflict.pk)
    return page is not None and page.is_found


def test_what_slipped_past_is_found_once(project: Project) -> None:
    say("p05.lateral-support isa peek decision.material")
    say("p05.axial-support isa peek decision.material")
    state = settled(project, "lateral_support_material", "GF-PTFE")
    settled(project, "axial_support_material", "PEEK")
    rebase, merge = remembered("The user prefers rebase workflow."), remembered("The user prefers merge workflow.")
    remembered("The user prefers small diffs.")

    assert sweep() == {"opened": 2}
    assert open_ones() == [KINDS.CROSS_LAYER, KINDS.MEMORY_SLOT]
    assert set(Memory.objects.filter(is_disputed=True)) == {rebase, merge}
    assert ProjectState.objects.get(is_disputed=True) == state
    assert sweep() == {}
    assert Run.objects.filter(trigger="sweep", status="done").count() == 2


def test_better_rules_find_what_older_ones_did_not(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {"slot": "", "other_slot": "", "slot_version": 0}
    remembered("The user prefers rebase workflow.", **old)
    remembered("The user prefers merge workflow.", **old)
    named = remembered("The staging server's name is heron.", category="project", slot="server name", slot_version=0)
    SlotClaim.objects.create(
        kind="memory", object_id=named.pk, owner="", key="heron", value="", words=[], is_denied=False, version=0
    )
    assert sweep() == {"opened": 1, "slots": 3}

    assert [change.action for change in Memory.objects.order_by("pk")[0].history.order_by("id")] == ["edit", "dispute"]
    named.refresh_from_db()
    assert (named.slot, named.slot_version) == ("name server stage", slots.VERSION)
    assert set(SlotClaim.objects.filter(object_id=named.pk, kind="memory").values_list("key", flat=True)) == {
        "name server stage",
        "= name server stage",
    }
    raise_version(monkeypatch)
    sweep()
    assert set(SlotClaim.objects.values_list("version", flat=True)) == {keys.VERSION + 1}


def test_slots_of_older_rules_are_found_again_within_a_minute(project: Project) -> None:
    remembered("The user prefers rebase workflow.", slot="workflow of old", slot_version=slots.VERSION - 1)

    for _ in range(2):
        tasks.resolve_due()

    assert list(Run.objects.values_list("trigger", "status")) == [("sweep", "done")]


def test_what_agrees_by_now_is_closed(project: Project) -> None:
    say("p05.lateral-support isa peek decision.material")
    settled(project, "lateral_support_material", "GF-PTFE")
    one, _ = remembered("The user prefers rebase workflow."), remembered("The user prefers merge workflow.")
    sweep()
    Memory.objects.filter(pk=one.pk).update(status="invalid", archived_at="2026-01-01T00:00Z")
    Edge.objects.filter(parent__token="peek").update(concept=Soas.objects.create(token="p05.strut"))

    assert sweep() == {"closed": 2}
    assert not ProjectState.objects.filter(is_disputed=True).exists()
    assert not Memory.objects.filter(is_disputed=True, status="active").exists()


def test_what_the_rules_no_longer_find_stays_open_and_says_so(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(project, "mount_support_material", "GF-PTFE")
    remembered("The mount support material is PEEK.", category="project", project=project)
    remembered("The user prefers rebase workflow.")
    remembered("The user prefers merge workflow.")
    assert sweep() == {"opened": 2}
    assert all(is_found(conflict) for conflict in Conflict.objects.all())

    raise_version(monkeypatch)
    monkeypatch.setattr(slots, "VERSION", slots.VERSION + 1)
    monkeypatch.setattr(slots, "find_slots", lambda text, category: slots.NO_SLOTS)
    monkeypatch.setattr("resolution.conflicts.detection.read_memory", lambda *memory: [])

    assert sweep() == {"slots": 3}
    assert open_ones() == [KINDS.CROSS_LAYER, KINDS.MEMORY_SLOT]
    assert not any(is_found(conflict) for conflict in Conflict.objects.all())


def test_what_people_let_stand_is_found_again_only_when_it_changes(project: Project) -> None:
    say("p05.lateral-support isa peek decision.material")
    state = settled(project, "lateral_support_material", "GF-PTFE")
    sweep()

    decide(Conflict.objects.get().pk, Verdict("no_action", "both are used"), OPERATOR)

    assert sweep() == {}
    ProjectState.objects.filter(pk=state.pk).update(value="steel")
    assert sweep() == {"opened": 1}


def test_the_command_tells_what_it_has_done(project: Project) -> None:
    say("p05.lateral-support isa peek decision.material")
    settled(project, "lateral_support_material", "GF-PTFE")
    told = StringIO()

    call_command("sweep_conflicts", stdout=told)

    assert told.getvalue().endswith("has looked at 1 facts and memories: 1 conflict opened, 0 closed.\n")
