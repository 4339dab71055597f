"""The desk with nothing but the keyboard: from the list to an empty one, and back."""

import re

from playwright.sync_api import expect

from tests.browser import world
from tests.browser.people import Person, address
from tests.served.learning import Festinger

LIST = "resolution_conflict_changelist"
CANDIDATES = "resolution_candidate_changelist"
PAGE = "resolution_conflict_change"


def stands_at(olga: Person, conflict: int) -> None:
    expect(olga.page).to_have_url(re.compile(f"{address(PAGE, conflict)}([?#]|$)"))
    expect(olga.page.get_by_role("button", name="Keep existing")).to_be_visible()


def test_the_keyboard_alone_clears_the_desk(whole: Festinger, olga: Person) -> None:
    first, second, third, fourth = (world.dispute(whole, "isa_isa", f"keys-{number}") for number in range(4))
    olga.opens(LIST)

    olga.types("j", "j", "k", "Enter")
    stands_at(olga, first.id)
    olga.types("1", "Enter")  # keep what stands
    stands_at(olga, second.id)
    olga.types("2", "Enter")  # take the new
    stands_at(olga, third.id)
    olga.types("3")  # both are true
    olga.page.keyboard.type("as-was")
    olga.types("Tab")
    olga.page.keyboard.type("as-is")
    olga.types("Enter")
    stands_at(olga, fourth.id)
    olga.types("4")  # other dimension
    olga.page.keyboard.type("elsewhere")
    olga.types("Enter")
    olga.is_told("No conflict is open.")

    statuses = [world.status(whole, dispute.id) for dispute in (first, second, third, fourth)]
    assert statuses == ["dismissed", "resolved", "resolved", "resolved"]
    assert world.facts(whole, third.word) == {f"{third.word} as-was repo", f"{third.word} as-is container"}
    assert world.facts(whole, fourth.word) == {f"{fourth.word} type repo", f"{fourth.word} elsewhere container"}


def test_the_list_is_cleared_without_leaving_it(whole: Festinger, olga: Person) -> None:
    kept, replaced, split = (world.dispute(whole, "isa_isa", f"listed-{number}") for number in range(3))
    olga.opens(LIST)

    olga.types("j", "1", "Enter")
    olga.is_told("Decided. Kept")
    olga.types("u")
    olga.is_told("Undone")
    olga.types("j", "1", "Enter")
    olga.is_told("Decided. Kept")
    olga.types("j", "2", "Enter")
    olga.is_told("Decided. Accepted")
    olga.types("j", "3")
    stands_at(olga, split.id)
    expect(olga.page.get_by_label("Dimension of the current fact")).to_be_focused()

    statuses = [world.status(whole, dispute.id) for dispute in (kept, replaced, split)]
    assert statuses == ["dismissed", "resolved", "pending"]


def test_candidates_have_the_same_keys_in_their_list_and_on_their_page(whole: Festinger, olga: Person) -> None:
    first, second = (world.candidate(whole, f"keys-waits-{number}") for number in range(2))
    olga.opens(CANDIDATES, q="keys-waits")

    olga.types("j", "1", "Enter")
    olga.is_told("Decided. Dismissed")
    olga.types("u")
    olga.is_told("Undone")
    olga.types("j", "Enter")
    expect(olga.page).to_have_url(re.compile(address("resolution_candidate_change", second)))
    olga.types("2", "Enter")
    olga.is_told("Decided. Accepted")

    states = dict(whole.run("SELECT id, state FROM edge_candidate WHERE id = ANY(%s)", [first, second]))
    assert states == {first: "open", second: "promoted"}
    assert world.facts(whole, "keys-waits-1") == {"keys-waits-1 type repo"}
    olga.types("u")
    olga.is_told("Undone")
    assert world.facts(whole, "keys-waits-1") == set()


def test_conflicts_are_searched_selected_and_decided_together(whole: Festinger, olga: Person) -> None:
    disputes = [world.dispute(whole, "isa_isa", f"keys-many-{number}") for number in range(2)]
    aside = world.dispute(whole, "isa_isa", "keys-aside")
    olga.opens(LIST)

    olga.types("/")
    olga.page.keyboard.type("keys-many")
    olga.types("Enter")
    expect(olga.page.locator(".desk-open")).to_have_count(2)
    olga.types("j", "x", "j", "x")
    expect(olga.page.locator("#desk-count")).to_have_text("2 selected")
    tab_to(olga, "Dismiss")
    olga.types("Enter")

    olga.is_told("2 dismissed.")
    assert {world.status(whole, dispute.id) for dispute in disputes} == {"dismissed"}
    assert world.status(whole, aside.id) == "pending"


def test_keys_are_letters_while_one_types_and_can_be_switched_off(whole: Festinger, olga: Person) -> None:
    dispute = world.dispute(whole, "isa_isa", "keys-off")
    olga.opens(PAGE, dispute.id)

    olga.types("3")
    olga.page.keyboard.type("n1u")
    expect(olga.page.get_by_label("Dimension of the current fact")).to_have_value("n1u")
    olga.types("Escape", "?")
    expect(olga.page.get_by_role("dialog")).to_be_visible()
    olga.page.get_by_label("Use these keys on this device").press("Space")
    olga.types("Escape", "2", "Enter")

    expect(olga.page.get_by_role("dialog")).to_be_hidden()
    assert world.status(whole, dispute.id) == "pending"


def tab_to(olga: Person, name: str) -> None:
    """Backwards, until the button of this name has the focus."""
    for _ in range(60):
        if olga.page.evaluate("document.activeElement.textContent.trim()") == name:
            return
        olga.types("Shift+Tab")
    raise AssertionError(f"{name} is not reached with the keyboard")
