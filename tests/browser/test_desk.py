"""The conflicts desk, with the mouse: every type of conflict, and every way to decide."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser import world
from tests.browser.conftest import As
from tests.browser.people import Person, address
from tests.browser.world import Kind
from tests.served.learning import Festinger

LIST = "resolution_conflict_changelist"
PAGE = "resolution_conflict_change"
Way = Callable[[Page], None]


def keep(page: Page) -> None:
    page.get_by_role("button", name="Keep existing").click()


def take(page: Page) -> None:
    page.get_by_role("button", name="Use new").click()


def both(page: Page) -> None:
    page.get_by_label("Dimension of the current fact").fill("as-was")
    page.get_by_label("Dimension of the new fact").fill("as-is")
    page.get_by_role("button", name="Both are true").click()


def other(page: Page) -> None:
    page.get_by_label("Dimension", exact=True).fill("elsewhere")
    page.get_by_role("button", name="Other dimension").click()


WAYS: dict[str, tuple[Way, str, str]] = {
    "keep": (keep, "dismiss", "dismissed"),
    "take": (take, "supersede", "resolved"),
    "both": (both, "decompose", "resolved"),
    "other": (other, "relocate", "resolved"),
}
# Concept, dimension and parent of what stands afterwards; {} is the word. Each type once and each way once: all
# combinations are decided and undone in tests/site/test_desk.py.
OUTCOMES: dict[tuple[Kind, str], set[str]] = {
    ("isa_isa", "take"): {"{} type container"},
    ("ispart_ispart", "keep"): {"{} membership glitch_university"},
    ("misclassification", "both"): {"{} as-was docker", "{} as-is docker_host"},
    ("cycle", "other"): {"{} membership {}_wing", "{}_wing elsewhere {}"},
}


@pytest.mark.parametrize(("kind", "way"), OUTCOMES)
def test_a_conflict_is_decided_with_a_form_and_undone_with_the_button_in_the_message(
    whole: Festinger, olga: Person, kind: Kind, way: str
) -> None:
    dispute = world.dispute(whole, kind, f"mouse-{kind}-{way}")
    before = world.facts(whole, dispute.word)
    decide, decision, status = WAYS[way]

    olga.opens(LIST)
    olga.page.locator(f"a[href^='{address(PAGE, dispute.id)}']").click()
    olga.page.get_by_label(re.compile("^Reason")).fill("so it is")
    decide(olga.page)

    olga.is_told("No conflict is open.")
    outcome = {line.replace("{}", dispute.word) for line in OUTCOMES[kind, way]}
    assert world.facts(whole, dispute.word) == outcome
    assert world.decisions(whole, dispute.id) == [(decision, "olga", "so it is")]
    assert world.status(whole, dispute.id) == status

    olga.page.get_by_role("button", name="Undo").first.click()

    expect(olga.page).to_have_url(re.compile(address(PAGE, dispute.id)))
    expect(olga.page.get_by_role("button", name="Keep existing")).to_be_visible()
    assert (world.facts(whole, dispute.word), world.status(whole, dispute.id)) == (before, "pending")
    assert [kind for kind, *_ in world.decisions(whole, dispute.id)] == [decision, "undo"]


def test_two_clicks_lead_from_the_list_to_a_decision_or_one_and_the_next_one_opens(
    whole: Festinger, olga: Person
) -> None:
    first, second, third = (world.dispute(whole, "isa_isa", f"clicks-{number}") for number in range(3))

    olga.opens(LIST)
    olga.page.get_by_role("button", name=re.compile(f"^Keep existing ?: {first.word} ")).click()
    expect(olga.page).to_have_url(re.compile(f"{address(LIST)}$"))
    assert world.status(whole, first.id) == "dismissed"

    olga.page.locator(f"a[href^='{address(PAGE, second.id)}']").click()
    olga.page.get_by_role("button", name="Use new").click()
    expect(olga.page).to_have_url(re.compile(f"{address(PAGE, third.id)}$"))
    assert world.status(whole, second.id) == "resolved"


def test_both_claims_stand_side_by_side_with_who_said_them(whole: Festinger, olga: Person) -> None:
    dispute = world.dispute(whole, "isa_isa", "sides")

    olga.opens(PAGE, dispute.id)
    stands = olga.page.locator("section", has=olga.page.get_by_role("heading", name="sides is a repo"))
    new = olga.page.locator("section", has=olga.page.get_by_role("heading", name="sides is a container"))

    expect(stands).to_contain_text("dobby")
    expect(new).to_contain_text("winky")
    left, right = stands.bounding_box(), new.bounding_box()
    assert left is not None
    assert right is not None
    assert (left["y"], left["x"] < right["x"]) == (right["y"], True)


def test_of_two_operators_the_second_is_told_and_nothing_happens_twice(whole: Festinger, as_: As) -> None:
    dispute = world.dispute(whole, "isa_isa", "both-at-it")
    olga, otto = as_("olga"), as_("otto")
    for operator in (olga, otto):
        operator.opens(PAGE, dispute.id)

    take(olga.page)
    olga.is_told("Decided.")
    keep(otto.page)

    otto.is_told("Nothing was decided.")
    expect(otto.page.locator("body")).to_contain_text("olga")
    assert world.facts(whole, dispute.word) == {f"{dispute.word} type container"}
    assert world.decisions(whole, dispute.id) == [("supersede", "olga", "")]


def test_what_another_decided_is_skipped_and_the_rest_is_done(whole: Festinger, as_: As) -> None:
    disputes = [world.dispute(whole, "ispart_ispart", f"bulk-{number}") for number in range(3)]
    olga, otto = as_("olga"), as_("otto")
    olga.opens(LIST)
    otto.opens(PAGE, disputes[0].id)
    take(otto.page)
    otto.is_told("Decided.")

    olga.page.get_by_label("All on this page").check()
    olga.page.get_by_label("Reason for all that are selected").fill("noise")
    olga.page.get_by_role("button", name="Dismiss", exact=True).click()

    olga.is_told("2 dismissed.")
    olga.is_told("1 skipped:")
    assert [world.decisions(whole, dispute.id) for dispute in disputes] == [
        [("supersede", "otto", "")],
        [("dismiss", "olga", "noise")],
        [("dismiss", "olga", "noise")],
    ]


def test_the_list_is_narrowed_by_type_and_agent(whole: Festinger, olga: Person) -> None:
    kinds = {kind: world.dispute(whole, kind, f"narrow-{kind}") for kind in world.KINDS}
    links = olga.page.locator(".desk-open")

    olga.opens(LIST)
    expect(links).to_have_count(4)
    olga.page.get_by_role("button", name="Filters").click()
    olga.page.locator("select[name=claims__collision_type__exact]").select_option("cycle", force=True)
    olga.page.get_by_role("button", name="Apply Filters").click()
    expect(links).to_have_count(1)
    assert str(links.first.get_attribute("href")).startswith(address(PAGE, kinds["cycle"].id))

    olga.opens(LIST, claims__agent__icontains="nobody")
    expect(links).to_have_count(0)


def test_names_that_cannot_be_are_refused_in_words_and_stay_in_their_fields(whole: Festinger, olga: Person) -> None:
    dispute = world.dispute(whole, "isa_isa", "refused")
    olga.opens(PAGE, dispute.id)
    olga.page.get_by_label("Dimension of the current fact").fill("same")
    olga.page.get_by_label("Dimension of the new fact").fill("same")
    olga.page.get_by_role("button", name="Both are true").click()

    olga.is_told("Nothing was decided.")
    expect(olga.page.get_by_label("Dimension of the new fact")).to_have_value("same")
    assert world.decisions(whole, dispute.id) == []


def test_a_viewer_sees_the_desk_without_a_button_that_decides(whole: Festinger, vera: Person) -> None:
    dispute = world.dispute(whole, "isa_isa", "looked-at")
    deciding = vera.page.locator("main form[method=post] button, #content form[method=post] button")

    vera.opens(LIST)
    expect(vera.page.get_by_text("looked-at is a container").first).to_be_visible()
    assert deciding.count() == 0

    vera.opens(PAGE, dispute.id)
    expect(vera.page.get_by_text("looked-at is a container").first).to_be_visible()
    assert deciding.count() == 0
    for name in ("Keep existing", "Use new", "Both are true", "Other dimension", "Undo"):
        assert vera.page.get_by_role("button", name=name).count() == 0
