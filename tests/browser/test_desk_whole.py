"""The desk's conflicts of memories, project state and facts, and of stories, with the mouse and with the keys."""

import re

from playwright.sync_api import expect

from tests.browser import world
from tests.browser.people import Person, address
from tests.served.learning import Festinger

LIST = "resolution_conflict_changelist"
PAGE = "resolution_conflict_change"


def layered(whole: Festinger, word: str) -> int:
    """A value of a project against a fact."""
    world.teach(whole, f"{word} -isa peek in context of material")
    state = world.set_state(whole, "p05", f"{word}_material", "gf-ptfe")
    members = {f"{word}_material = gf-ptfe": ("project_state", state), word: ("edge", world.edge(whole, word))}
    return world.contest(whole, "cross_layer", members, "p05")


def asked(whole: Festinger, word: str) -> int:
    world.teach(whole, f"{word} -isa rest in context of interface")
    state = world.set_state(whole, "p05", f"{word}_interface", "graphql")
    members = {f"{word} graphql": ("project_state", state), word: ("edge", world.edge(whole, word))}
    return world.contest(whole, "narrative", members, "p05", f"Is {word} still REST?")


def test_what_is_right_is_chosen_with_the_mouse_undone_and_chosen_again_by_keys(whole: Festinger, olga: Person) -> None:
    conflict = layered(whole, "mouse-mount")

    olga.opens(LIST)
    olga.page.get_by_role("link", name=re.compile("^Decide ?: ")).click()
    state = olga.page.locator("section", has=olga.page.get_by_role("heading", name="mouse-mount_material"))
    state.get_by_role("button", name="This is right").click()

    olga.is_told("; superseded")
    assert world.status(whole, conflict) == "resolved"
    assert world.standing(whole, "mouse-mount") == []
    olga.page.get_by_role("button", name="Undo").first.click()
    expect(olga.page).to_have_url(re.compile(address(PAGE, conflict)))
    assert world.standing(whole, "mouse-mount") == [("material", "peek")]

    olga.types("2", "Enter")

    olga.is_told("mouse-mount has peek as its material")
    assert [kind for kind, *_ in world.decisions(whole, conflict)] == ["supersede", "undo", "supersede"]
    assert world.standing(whole, "mouse-mount") == [("material", "peek")]
    assert whole.run("SELECT status FROM project_state WHERE key = 'mouse-mount_material'") == [("superseded",)]


def test_questions_are_answered_by_keys_from_the_list_and_the_next_one_opens(whole: Festinger, olga: Person) -> None:
    first, second = asked(whole, "keys-api"), asked(whole, "other-api")
    olga.opens(LIST, slot_kind__exact="narrative")

    olga.types("j", "2")
    expect(olga.page).to_have_url(re.compile(f"{address(PAGE, first)}.*#choose-2$"))
    expect(olga.page.get_by_role("button", name="2 No")).to_be_focused()
    olga.types("Enter")

    expect(olga.page).to_have_url(re.compile(address(PAGE, second)))
    assert world.standing(whole, "keys-api") == []
    assert world.decisions(whole, first) == [("answer", "olga", "")]
    olga.types("d", "Enter")
    olga.is_told("Dismissed, as no conflict")
    assert world.status(whole, second) == "dismissed"
    assert world.standing(whole, "other-api") == [("interface", "rest")]


def test_many_are_dismissed_together_on_a_phone_too(whole: Festinger, olga: Person) -> None:
    conflicts = [layered(whole, f"phone-mount-{number}") for number in range(2)]
    kept = world.dispute(whole, "isa_isa", "phone-fact")
    olga.page.set_viewport_size({"width": 390, "height": 844})
    olga.opens(LIST, project="p05")

    olga.page.get_by_label("All on this page").check()
    expect(olga.page.locator("#desk-count")).to_have_text("2 selected")
    olga.page.locator("#desk-bulk").get_by_role("button", name="Dismiss").click()

    olga.is_told("2 dismissed.")
    assert [world.status(whole, conflict) for conflict in conflicts] == ["dismissed", "dismissed"]
    assert world.status(whole, kept.id) == "pending"
    assert olga.page.evaluate("document.documentElement.scrollWidth") <= 390
