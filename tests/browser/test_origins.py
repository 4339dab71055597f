"""From a fact, a conflict, a candidate and an observation to the sentence and the request that it came in."""

import re

from playwright.sync_api import expect

from tests.browser import world
from tests.browser.people import Person, address
from tests.served.learning import Festinger, headers_of


def test_one_gets_from_a_fact_to_its_request_and_back(whole: Festinger, olga: Person) -> None:
    said = "callay-box runs on frabjous-day."
    whole.ask(("user", "Good morning."))
    whole.ask(("user", "Good evening."), ("assistant", "Good evening."), ("user", said))
    whole.wait(lambda: world.facts(whole, "callay-box"))
    [(edge,)] = whole.run("SELECT edge_id FROM urd JOIN soas ON soas.id = urd.id WHERE token = 'callay-box'")

    olga.opens("memory_edge_changelist")
    expect(olga.page.get_by_text(f"“{said}”")).to_be_visible()
    olga.opens("memory_edge_change", edge)
    olga.page.get_by_role("link", name="the request it came in").first.click()

    expect(olga.page).to_have_url(re.compile("recollectionevent/[0-9a-f]{16}/change"))
    expect(olga.page.locator("body")).to_contain_text(f"callay-box runs on frabjous-day, inserted: “{said}”")
    olga.page.get_by_role("link", name="all its requests").click()
    expect(olga.page.locator("body")).to_contain_text(f"“{said}”")
    expect(olga.page.get_by_role("heading", level=2)).to_have_count(1)

    olga.opens("memory_observation_changelist", q="callay-box")
    expect(olga.page.get_by_text(f"“{said}”")).to_be_visible()

    whole.run("DELETE FROM recollection_event")
    olga.opens("memory_edge_change", edge)
    olga.page.get_by_role("link", name="the request it came in").first.click()
    olga.is_told("That request is no longer kept: requests are for 7 days.")
    expect(olga.page.locator("body")).to_contain_text(said)


def test_the_sides_of_a_conflict_and_a_candidate_lead_to_their_requests(whole: Festinger, olga: Person) -> None:
    whole.ask(("user", "jubjub runs on tulgey-1."))
    whole.wait(lambda: world.facts(whole, "jubjub"))
    said = "jubjub runs on tulgey-2.\n> jubjub is owned by bandersnatch"
    last = whole.proxies[0].chat(("user", said), headers=headers_of("dobby")).headers["x-festinger-request"]
    # Written in the order in which they came, and not together with what they taught.
    whole.wait(lambda: whole.run("SELECT 1 FROM recollection_event WHERE request = %s", last))
    whole.wait(lambda: whole.queue() and whole.run("SELECT 1 FROM edge_candidate WHERE concept = 'jubjub'"))
    [(conflict,)] = whole.run("SELECT conflict_id FROM resolution_queue ORDER BY id DESC LIMIT 1")
    [(candidate,)] = whole.run("SELECT id FROM edge_candidate WHERE concept = 'jubjub'")

    olga.opens("resolution_conflict_change", conflict)
    ways = olga.page.get_by_role("link", name="the request it came in")
    expect(ways).to_have_count(2)
    requests = {olga.page.request.get(way.get_attribute("href") or "").url for way in ways.all()}
    olga.opens("resolution_candidate_change", candidate)
    olga.page.get_by_role("link", name="the request it came in").click()

    expect(olga.page).to_have_url(re.compile(re.escape(address("proxy_recollectionevent_changelist"))))
    assert len(requests) == 2
    assert olga.page.url in requests
