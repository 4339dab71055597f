"""What is known of a project, as a page and as Markdown show it."""

import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.models import Edge, Memory, MemoryHistory, Project, Soas, Source
from memory.running import bootstrap
from resolution.actors import Actor
from resolution.conflicts.opening import Member, open_conflict
from resolution.memories.project_state import settle, withdraw
from resolution.models import Claim
from resolution.pages.mirror import Mirror, make_mirror, write_markdown
from tests import arrange
from tests.arrange import remember, update

pytestmark = pytest.mark.django_db

ADA = Actor("ada", Source.OPERATOR)
QUERIES_MAX = 20


@pytest.fixture
def project() -> Project:
    bootstrap.load_dimensions()
    return Project.objects.create(slug="p05", name="Interferometer")


def teach(concept: str, parent: str, dimension: str, *, is_isa: bool = True, conversation: bytes = b"") -> int:
    """The id of the claim that it brought; 0 for none."""
    relation = "isa" if is_isa else "ispart"
    claim = arrange.teach(f"{concept} {relation} {parent} {dimension}", conversation=conversation).claim
    return claim.pk if claim is not None else 0


def concepts_of(mirror: Mirror) -> dict[str, list[str]]:
    return {kind: [entry.concept.token for entry in entries] for kind, entries in mirror.concepts.items()}


def test_concepts_are_those_with_the_project_s_name_their_parts_and_what_was_said_in_it(project: Project) -> None:
    said, elsewhere = b"a" * 16, b"b" * 16
    Memory.objects.create(text="We met.", agent="dobby", source="stated", project=project, conversation=said)
    teach("p05.laser", "p05", "subsystem-of", is_isa=False)
    teach("p05.laser.frame", "p05.laser", "component-of", is_isa=False)
    teach("etalon", "p05.laser", "membership", is_isa=False)
    teach("fringe", "etalon", "membership", is_isa=False)
    teach("kvasir", "service", "type", conversation=said)
    teach("mimir", "service", "type", conversation=elsewhere)
    teach("p051.laser", "p051", "subsystem-of", is_isa=False)

    assert concepts_of(make_mirror(project)) == {
        "Concepts": ["etalon", "fringe", "kvasir", "p05.laser", "p05.laser.frame"]
    }


def test_concepts_stand_by_their_kind_and_facts_by_their_dimension(project: Project) -> None:
    call_command("load_dimensions", "engineering", verbosity=0)
    for part in ("frame", "mount"):
        teach(f"p05.{part}", "p05.laser", "component-of", is_isa=False)
        teach(f"p05.{part}", "invar", "material")
    for drawing in ("drawing-2", "drawing-1"):
        teach("p05.frame", drawing, "artifact")
    for name in ("zeta", "alpha"):
        teach(f"p05.{name}", "service", "type")

    mirror = make_mirror(project)

    assert concepts_of(mirror) == {"component": ["p05.frame", "p05.mount"], "service": ["p05.alpha", "p05.zeta"]}
    answers = {
        dimension.token: [value.row.parent.token for value in values]
        for dimension, values in mirror.concepts["component"][0].facts.items()
    }
    assert answers == {"artifact": ["drawing-1", "drawing-2"], "component-of": ["p05.laser"], "material": ["invar"]}


def test_a_disputed_field_leads_to_its_conflict_until_that_is_decided(project: Project) -> None:
    teach("p05.frame", "invar", "material")
    claim = teach("p05.frame", "steel", "material")
    state = settle(project, "decision", "frame_material", "titanium", ADA).row
    memory = Memory.objects.create(text="The frame is of wood.", agent="dobby", source="stated", project=project)
    sides = [Member("project_state", state.pk, str(state)), Member("memory", memory.pk, memory.text)]
    across = open_conflict("decis frame materi p05", {"key": "frame_material"}, sides, project="p05")

    disputed = make_mirror(project)
    update(claim, ADA, "it was weighed")
    decided = make_mirror(project)

    def marks(mirror: Mirror) -> list[int | None]:
        [[entry]] = mirror.concepts.values()
        [facts] = entry.facts.values()
        return [value.conflict for value in (*mirror.states["decision"], *facts, *mirror.memories["Other"])]

    slot = disputed.questions[1].conflict.pk
    assert marks(disputed) == [across, slot, across]
    assert [question.sides for question in disputed.questions] == [
        ["decision.frame_material = titanium", "The frame is of wood."],
        ["invar", "steel"],
    ]
    assert marks(decided) == [across, None, across]
    assert [question.conflict.pk for question in decided.questions] == [across]
    told = disputed.states["decision"][0].dispute
    assert told == "frame material [decision]: decision.frame_material = titanium or The frame is of wood."
    assert [question.title for question in disputed.questions] == ["frame material [decision]", "p05.frame [material]"]


def test_a_conflict_is_named_by_what_it_is_about(project: Project) -> None:
    one, other = (
        Memory.objects.create(text=text, agent="dobby", source="stated", project=project)
        for text in ("Sam prefers the rebase workflow.", "Sam prefers the merge workflow.")
    )
    sides = [Member("memory", row.pk, row.text) for row in (one, other)]
    slot = {"category": "preference", "slot": "workflow", "agent": "dobby", "user": "sam"}
    open_conflict("preference: workflow", slot, sides, project="p05")
    question = "Is “Sam prefers the rebase workflow” still the case? On 2026-11-01 another was said."
    open_conflict("story", {"rows": []}, sides, project="p05", question=question)

    assert [question.title for question in make_mirror(project).questions] == [
        "Is “Sam prefers the rebase workflow” still the case?",
        "workflow [preference] of sam",
    ]


def test_what_changed_since_a_date_is_told_and_marked(project: Project) -> None:
    teach("p05.frame", "invar", "material")
    settle(project, "decision", "wavelength", "633 nm", ADA)
    settle(project, "milestone", "review", "March", ADA)
    since = timezone.now()
    settle(project, "decision", "wavelength", "1064 nm", ADA, "cheaper")
    withdraw(project, "milestone", "review", ADA, "not planned")
    teach("p05.mount", "steel", "material")
    decided = teach("p05.mount", "wood", "material")

    mirror = make_mirror(project, since)
    update(decided, ADA, "it was weighed")
    [closed, *_] = [change.what for change in make_mirror(project, since).changes if change.kind == "conflict"]

    assert closed == "resolved: p05.mount [material]: p05.mount has steel as its material"
    assert [(change.kind, change.what, change.who) for change in mirror.changes] == [
        ("conflict", "opened: p05.mount [material]: steel or wood", ""),
        ("fact", "stated: p05.mount has steel as its material", "dobby"),
        ("state", "taken back: milestone.review = March: not planned", "ada"),
        ("state", "decision.wavelength = 1064 nm (was: 633 nm): cheaper", "ada"),
    ]
    [[frame, mount]] = mirror.concepts.values()
    facts = [values[0] for entry in (frame, mount) for values in entry.facts.values()]
    assert [fact.is_changed for fact in facts] == [False, True]
    assert [value.is_changed for value in mirror.states["decision"]] == [True]
    assert make_mirror(project, since + timedelta(hours=1)).changes == []


def test_on_the_page_what_is_named_is_a_link_to_its_page(project: Project, admin_client: Client) -> None:
    teach("p05.mount", "steel", "material")
    conflict = Claim.objects.get(pk=teach("p05.mount", "wood", "material")).conflict
    memory = remember("The laser warms up for an hour.")
    Memory.objects.filter(pk=memory.pk).update(project=project, agent="winky", person="harry")
    MemoryHistory.objects.filter(memory=memory).update(actor="winky", channel="user")

    page = admin_client.get("/admin/mirror/p05/", {"since": "2020-01-01"}).content.decode()

    links = set(re.findall(r'href="([^"]*)"[^>]*>([^<]*)</a>', page))
    concepts = {token: key for key, token in Soas.objects.values_list("pk", "token")}
    assert {
        (f"/admin/memory/soas/{concepts['p05.mount']}/change/", "p05.mount"),
        (f"/admin/memory/soas/{concepts['p05.mount']}/change/", "stated: p05.mount has steel as its material"),
        (f"/admin/memory/soas/{concepts['material']}/change/", "material"),
        (f"/admin/memory/memory/{memory.pk}/change/", "was written: The laser warms up for an hour."),
        (f"/admin/resolution/conflict/{conflict.pk}/change/", "opened: p05.mount [material]: steel or wood"),
        ("/admin/memory/agent/speaker/?agent=winky&amp;person=harry", "harry (winky)"),
        ("/admin/memory/agent/speaker/?agent=winky", "winky"),
        ("/admin/memory/agent/speaker/?agent=dobby", "dobby"),
    } - links == set()


def test_the_concepts_of_a_large_project_are_on_several_pages(
    project: Project, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolution.pages.mirror.CONCEPTS_SHOWN", 2)
    for name in ("p05.base", "p05.laser", "p05.mount"):
        teach(name, "invar", "material")

    first, last = (admin_client.get("/admin/mirror/p05/", {"page": page}).content.decode() for page in ("", "2"))

    assert [re.findall(r">(p05\.\w+)</a>", page) for page in (first, last)] == [
        ["p05.base", "p05.laser"],
        ["p05.mount"],
    ]
    assert "3 concepts" in first
    assert 'href="?page=2&amp;since="' in first
    assert concepts_of(make_mirror(project)) == {"material": ["p05.base", "p05.laser", "p05.mount"]}


def test_it_is_read_in_as_many_queries_however_much_there_is(project: Project) -> None:
    counts = []
    for number in (1, 30):
        for each in range(number):
            teach(f"p05.part-{each}", "invar", "material")
            settle(project, "decision", f"key_{each}", "yes", ADA)
        with CaptureQueriesContext(connection) as captured:
            make_mirror(project, timezone.now() - timedelta(days=1))
        counts.append(len(captured))

    assert counts[0] == counts[1] <= QUERIES_MAX


def test_the_command_writes_markdown_in_which_nothing_said_is_syntax(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    teach("p05.frame", "invar", "material")
    conflict = Edge.objects.get(concept__token="p05.frame")
    state = settle(project, "decision", "frame_material", "*wood* [x](http://evil)", ADA).row
    sides = [Member("edge", conflict.pk, "invar"), Member("project_state", state.pk, "wood")]
    number = open_conflict("decis frame materi p05", {"key": "frame_material"}, sides, project="p05")

    call_command("mirror", "p05", "--since", "2020-01-01")

    written = capsys.readouterr().out
    assert written.startswith(
        "# Interferometer\n\n1 value, 1 concept, 0 memories, 1 open question. Slug: p05.\n\n## Changed since"
    )
    disputed = f"**⚠ disputed** (conflict {number})"
    assert f"- **frame material**: \\*wood\\* \\[x\\](http://evil) {disputed} *changed* (ada, " in written
    assert f"- **p05.frame**\n  - material: invar {disputed} *changed*\n" in written
    with pytest.raises(CommandError, match="no project p06"):
        call_command("mirror", "p06")


def test_of_a_project_of_which_nothing_is_known_it_says_so(project: Project) -> None:
    assert not make_mirror(project)
    assert write_markdown(make_mirror(project)).startswith("# Interferometer\n\n0 values, 0 concepts")
