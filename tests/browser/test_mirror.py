"""The mirror of a project with 200 concepts: read, followed to its conflicts, and decided."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import engineering, world
from tests.browser.accessible import violations
from tests.browser.conftest import Cookies
from tests.browser.people import Person, address, person
from tests.served.learning import Festinger

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def described(running: Festinger) -> Festinger:
    engineering.build(running)
    return running


@pytest.fixture(params=["light", "dark", "phone"])
def reader(
    request: pytest.FixtureRequest, described: Festinger, cookies: Cookies, browser: Browser
) -> Iterator[Person]:
    look = {"viewport": PHONE} if request.param == "phone" else {"color_scheme": request.param}
    with person(browser, described.proxies[0].url, cookies("vera"), **look) as vera:
        yield vera


def test_it_is_read_in_light_in_dark_and_on_a_phone(reader: Person) -> None:
    reader.opens("resolution_mirror", engineering.SLUG, since="2026-01-01")

    page = reader.page
    expect(page.locator(".mirror-entry")).to_have_count(200)
    expect(page.get_by_role("heading", name="Component 64")).to_be_attached()
    expect(page.locator(".mirror-fields").first).to_contain_text("GF-PTFE")
    expect(page.get_by_text("The clean room opens at seven.").last).to_be_attached()
    page.get_by_role("navigation", name="On this page").get_by_text("Subsystem").click()
    expect(page.get_by_role("heading", name="Subsystem 8")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []
    assert reader.complaints == []


def test_every_mark_leads_to_its_conflict_and_is_gone_when_that_is_decided(described: Festinger, olga: Person) -> None:
    slot = world.teach(described, "p05.laser.frame -isa steel in context of material", "winky")
    # The state and the fact contradict each other about the support's material.
    layers = "SELECT id FROM conflict WHERE status = 'open' AND slot_kind = 'cross_layer' AND project = %s"
    [(across,)] = described.run(layers, engineering.SLUG)
    olga.opens("resolution_mirror", engineering.SLUG)
    marks = olga.page.get_by_role("link", name="⚠ disputed")
    leads = {mark.get_attribute("href") for mark in marks.all()}

    assert leads == {address("resolution_conflict_change", number) for number in (across, slot)}
    assert marks.count() == 3
    assert {mark.get_attribute("aria-label") for mark in marks.all()} == {
        "⚠ disputed: p05.laser.frame [material]: zerodur or steel",
        "⚠ disputed: lateral support material [decision]: decision.lateral_support_material = GF-PTFE or"
        " p05.lateral-support has peek as its decision.material",
    }
    for lead in leads:
        answer = olga.page.request.get(lead or "")
        assert answer.status == 200

    client = described.proxies[0].client
    assert client.post(f"/conflicts/{slot}/dismiss", json={"reason": "It was weighed."}).status_code == 200
    settled = {"action": "no_action", "resolution_notes": "Both are used."}
    assert client.post(f"/conflicts/{across}/resolve", json=settled).status_code == 200
    olga.page.reload()
    expect(olga.page.locator(".mirror-entry")).to_have_count(200)
    expect(marks).to_have_count(0)


def test_it_is_found_in_the_menu(described: Festinger, olga: Person) -> None:
    olga.opens("index")
    olga.page.locator("details.fst-menu > summary", has_text="Memories").first.click()
    olga.page.get_by_role("link", name="Project overview").first.click()

    expect(olga.page).to_have_url(re.compile("/admin/mirror/"))
    # Where there is but one project, it opens at once; another test may have given this one another name.
    expect(olga.page.get_by_text(re.compile("Interferometer P05|^p05$")).first).to_be_visible()
