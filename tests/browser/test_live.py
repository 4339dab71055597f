"""The live view while prompts come."""

from playwright.sync_api import expect

from tests.browser import world
from tests.browser.people import Person
from tests.served.learning import Festinger


def test_new_prompts_come_on_top_and_what_is_open_and_in_focus_stays_so(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "hoopoe -isa bird")
    whole.ask(("user", "Where does the hoopoe nest?"))
    olga.opens("proxy_live")
    first = olga.page.get_by_role("listitem").filter(has_text="hoopoe").first
    added = first.get_by_text("What was added")
    added.click()
    expect(added).to_be_focused()

    whole.ask(("user", "Does the hoopoe sing at night?"))

    rows = olga.page.get_by_role("listitem").filter(has_text="hoopoe")
    expect(rows).to_have_count(2)
    expect(rows.last.locator("pre")).to_be_visible()
    expect(rows.last.get_by_text("What was added")).to_be_focused()
    expect(rows.first).to_have_class("live-row live-new")
