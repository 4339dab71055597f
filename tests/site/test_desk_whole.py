"""The desk's conflicts between memories, project state and facts, and in stories, used like a person."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from memory.models import Edge, Memory, MemoryLineage, Project
from memory.running import bootstrap
from resolution.models import Conflict, Decision
from tests.arrange import contest, dispute, facts, prefer, remember, settle, stand
from tests.site.test_desk import LIST, TYPE, content, person, press, select_all, text
from tests.worlds import Login

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(person("hermione", "view_conflict", "view_decision", "view_run", "change_conflict"))


@pytest.fixture(scope="module")
def viewer_login(world: None) -> Login:
    return Login(person("luna", "view_conflict"))


def layered(name: str = "mount") -> Conflict:
    state, edge = settle(f"{name}_material", "GF-PTFE"), stand(f"{name} isa peek material")
    conflict = contest("cross_layer", [state, edge])
    Conflict.objects.filter(pk=conflict.pk).update(project="p05")
    return conflict


def asked() -> Conflict:
    settled, edge = settle("api", "graphql"), stand("api isa rest interface")
    return contest("narrative", [settled, edge], question="Is the API still REST?", asked=edge)


def page_of(conflict: Conflict) -> str:
    return f"{LIST}{conflict.pk}/change/"


def decide(client: Client, conflict: Conflict, decision: str, query: str = "", **fields: str) -> Any:
    seen = re.search(r'name="seen" value="([^"]*)"', content(client.get(page_of(conflict))))
    assert seen is not None
    sent = {"seen": unescape(seen[1]), "decision": decision, **fields}
    return client.post(f"{LIST}{conflict.pk}/decide/{query}", sent, follow=True)


def rows_of(client: Client, **filters: str) -> list[str]:
    return re.findall(r'class="fst-link desk-open" href="[^"]*">([^<]*)', content(client.get(LIST, filters)))


def test_all_kinds_are_one_list_in_one_order_and_each_filter_shows_its_own(operator: Client) -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    across, story = layered(), asked()

    titles = rows_of(operator)

    assert titles == [
        "gnommoweb is a repo or container [type]",
        "decision.mount_material = GF-PTFE or mount has peek as its material",
        "Is the API still REST?",
    ]
    assert rows_of(operator, slot_kind__exact="cross_layer") == [titles[1]]
    assert rows_of(operator, slot_kind__exact="edge_slot") == [titles[0]]
    assert rows_of(operator, slot_kind__exact="narrative", q="graphql") == [titles[2]]
    assert rows_of(operator, project="p05") == [titles[1]]
    assert rows_of(operator, **{TYPE: "isa_isa"}) == [titles[0]]
    assert rows_of(operator, q=f"#{across.pk}") == [titles[1]]
    assert rows_of(operator, status="resolved") == []
    # And from each the next one opens, from the last the first.
    order = [f"{claim.conflict_id}/", f"{across.pk}/", f"{story.pk}/"]
    for after, following in ((claim.conflict_id, 1), (across.pk, 2), (story.pk, 0)):
        assert (
            operator.get(f"{LIST}next/", {"after": after})["Location"]
            .split("conflict/")[1]
            .startswith(order[following])
        )


def test_the_page_shows_each_member_with_what_speaks_for_it_and_the_story_around_it(operator: Client) -> None:
    conflict, (rebase, merge) = prefer("Sam prefers the rebase flow.", "Sam prefers the merge-commit flow.")
    MemoryLineage.objects.create(memory=rebase, kind="memory", row=merge.pk)

    shown = text(operator.get(page_of(conflict)))

    assert "memories" in shown
    for words in (rebase.text, merge.text, "dobby (sam)", "This is right", "remembered: Sam prefers the rebase flow."):
        assert words in shown


def test_the_member_that_is_right_takes_the_place_of_the_others_and_undo_opens_it_again(operator: Client) -> None:
    conflict = layered()
    edge = conflict.members.get(kind="edge")

    told = decide(operator, conflict, f"project_state:{conflict.members.get(kind='project_state').object_id}")

    assert "Accepted “decision.mount_material = GF-PTFE”; superseded “mount has peek as its material”" in text(told)
    assert "mount isa peek material" not in facts()
    press(operator, told, "Undo")
    assert "mount isa peek material" in facts()
    conflict.refresh_from_db()
    assert conflict.status == "open"
    assert conflict.members.get(kind="edge") == edge
    assert edge.object_id in Edge.objects.values_list("pk", flat=True)
    decision = Decision.objects.get(kind="supersede")
    page = text(operator.get(f"/admin/resolution/decision/{decision.pk}/change/"))
    assert "accepted: decision.mount_material = GF-PTFE" in page
    assert "superseded: mount has peek as its material" in page
    assert "mount [material]: mount has peek as its material" in page


def test_what_superseded_something_is_found_among_the_decisions(operator: Client) -> None:
    conflict, (_, merge) = prefer("Sam prefers the rebase flow.", "Sam prefers the merge-commit flow.")
    decide(operator, conflict, f"memory:{merge.pk}")
    decide(operator, layered(), "dismiss")
    address = "/admin/resolution/decision/"

    assert "Dismissed, as no conflict" in text(operator.get(address))
    found = text(operator.get(address, {"effect": "superseded"}))

    assert "superseded “Sam prefers the rebase flow”" in found
    assert "Dismissed, as no conflict" not in found
    assert "; superseded" in text(operator.get(address, {"q": "merge-commit"}))
    page = text(operator.get(f"{address}{Decision.objects.get(kind='supersede').pk}/change/"))
    assert "memory “Sam prefers the merge-commit flow.”: Active, 51 %, disputed → Active, 80 %" in page


def test_a_question_is_answered_and_the_next_conflict_opens(operator: Client) -> None:
    story, other = asked(), layered()
    shown = text(operator.get(page_of(story)))
    assert "“api is a rest [interface]” is current; superseded: “decision.api = graphql”." in shown
    assert "“api is a rest [interface]”: superseded." in shown

    told = decide(operator, story, "no", reason="it moved")

    assert told.redirect_chain[-1][0].endswith(page_of(other))
    assert "api isa rest interface" not in facts()
    assert "Answered no: superseded “api is a rest [interface]”" in text(told)


def test_many_are_dismissed_at_once_and_undone_together(operator: Client) -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    conflicts = [layered(name) for name in ("mount", "frame")]
    chosen = select_all(operator)
    remember("nobody looks at this")

    told = operator.post(LIST, {**chosen, "action": "dismiss"}, follow=True)

    assert "3 dismissed." in text(told)
    assert not Conflict.objects.filter(status="open").exists()
    press(operator, told, "Undo all")
    assert Conflict.objects.filter(status="open").count() == 3
    told = operator.post(LIST, {**select_all(operator), "action": "use_newest"}, follow=True)
    assert f"Conflict {conflicts[0].pk} " in text(told)
    claim.refresh_from_db()
    assert claim.status == "resolved"


def test_what_has_changed_since_it_was_shown_is_not_decided(operator: Client) -> None:
    conflict, (rebase, merge) = prefer("Sam prefers the rebase flow.", "Sam prefers the merge-commit flow.")
    seen = re.search(r'name="seen" value="([^"]*)"', content(operator.get(page_of(conflict))))
    assert seen is not None
    Memory.objects.filter(pk=rebase.pk).update(text="Sam prefers the squash flow.")

    sent = {"seen": unescape(seen[1]), "decision": f"memory:{merge.pk}"}
    told = operator.post(f"{LIST}{conflict.pk}/decide/", sent, follow=True)

    assert "has changed meanwhile. Look at it again." in text(told)
    rebase.refresh_from_db()
    assert rebase.status == "active"
    assert "Earlier text: Sam prefers the rebase flow." in text(operator.get(page_of(conflict)))


def test_who_may_only_look_sees_no_button(viewer: Client) -> None:
    conflict = asked()
    shown = content(viewer.get(page_of(conflict)))

    assert "You may look at conflicts, not decide them." in shown
    assert 'name="decision"' not in shown
    assert viewer.post(f"{LIST}{conflict.pk}/decide/", {"decision": "yes"}).status_code == 403
    assert Project.objects.filter(slug="p05").exists()
