"""axe-core finds nothing on the pages that operators work with, in light and dark."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import world
from tests.browser.accessible import violations
from tests.browser.conftest import Cookies
from tests.browser.people import Person, address, person
from tests.browser.test_desk_whole import asked, layered
from tests.served.learning import Festinger

PAGES = (
    "home", "desk", "conflict", "decided conflict", "conflict of layers", "question", "concepts", "concept", "merge",
    "config", "live", "try", "transfer", "memories", "memory", "merge of memories", "search", "episodes",
    "episode", "projects", "project", "values", "value", "new value", "mirror", "facts", "observations", "candidates",
    "candidate", "fact", "history", "requests", "request", "conversation", "agents", "agent", "person", "forgetting",
    "runs",
)  # fmt: skip


@pytest.fixture(scope="module")
def paths(running: Festinger) -> dict[str, str]:
    """Where the pages are, about a world in which there is something to see."""
    disputes = [world.dispute(running, kind, f"axed-{kind}") for kind in world.KINDS]
    running.proxies[0].client.post(f"/conflicts/{disputes[1].id}/dismiss", json={"reason": "a typo"})
    for number in range(4):
        running.ask(("user", f"Where is zorblax, please? ({number})"))
    running.run("INSERT INTO project (slug, name) VALUES ('axed', 'Axed')")
    kept = world.remember(running, "Remember that the axed-isa tool is in the shed.")
    other = world.remember(running, "We keep the axed-isa tool in the shed.")
    running.ask(("user", "Which axed tools are repaired in the shed today?"))
    find = "SELECT id FROM episode WHERE text LIKE '%%Which axed tools%%'"
    running.wait(lambda: running.run(find))
    [(said,)] = running.run(find)
    [(project,)] = running.run("SELECT id FROM project WHERE slug = 'axed'")
    running.ask(("user", "What does the mail say?\n> axed-kvasir runs on lovelace."))
    waiting = "SELECT id FROM edge_candidate WHERE concept = 'axed-kvasir'"
    running.wait(lambda: running.run(waiting))
    [(request, conversation)] = running.run("SELECT request, conversation FROM recollection_event ORDER BY at LIMIT 1")
    [(agent,)] = running.run("SELECT id FROM agent WHERE name = 'dobby'")
    return {
        "home": address("index"),
        "desk": address("resolution_conflict_changelist") + "?status=all",
        "conflict": address("resolution_conflict_change", disputes[0].id),
        "decided conflict": address("resolution_conflict_change", disputes[1].id),
        "conflict of layers": address("resolution_conflict_change", layered(running, "axed-layers")),
        "question": address("resolution_conflict_change", asked(running, "axed-story")),
        "concepts": address("memory_soas_changelist"),
        "concept": address("memory_soas_change", world.concept(running, disputes[0].word)),
        "merge": address("memory_soas_merge", world.concept(running, disputes[0].word)) + "?into=axed-isa",
        "config": address("memory_config_changelist"),
        "live": address("proxy_live"),
        "try": address("proxy_try"),
        "transfer": address("resolution_transfer"),
        "memories": address("memory_memory_changelist"),
        "memory": address("memory_memory_change", kept),
        "merge of memories": f"{address('memory_memory_merge')}?ids={kept},{other}",
        "search": address("memory_memory_search"),
        "episodes": address("memory_episode_changelist"),
        "episode": address("memory_episode_change", said),
        "projects": address("memory_project_changelist"),
        "project": address("memory_project_change", project),
        "values": address("memory_projectstate_changelist"),
        "value": address("memory_projectstate_change", world.set_state(running, "axed", "day", "Friday")),
        "new value": address("memory_projectstate_add"),
        "mirror": address("resolution_mirror", "axed") + "?since=2026-01-01",
        "facts": address("memory_edge_changelist"),
        "fact": address("memory_edge_change", world.edge(running, disputes[0].word)),
        "history": address("memory_edgehistory_changelist"),
        "observations": address("memory_observation_changelist"),
        "candidates": address("resolution_candidate_changelist"),
        "candidate": address("resolution_candidate_change", running.run(waiting)[0][0]),
        "requests": address("proxy_recollectionevent_changelist"),
        "request": address("proxy_recollectionevent_change", request),
        "conversation": address("proxy_conversation", conversation),
        "agents": address("memory_agent_changelist"),
        "agent": address("memory_agent_change", agent),
        "person": address("memory_agent_speaker") + "?agent=dobby&person=harry",
        "forgetting": address("memory_agent_forget") + "?agent=dobby",
        "runs": address("resolution_run_changelist"),
    }


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_labels_and_contrast_in_light_and_dark(paths: dict[str, str], olga: Person, name: str) -> None:
    olga.page.goto(paths[name])

    check_in_light_and_dark(olga)


def test_what_a_search_found_has_labels_and_contrast(paths: dict[str, str], olga: Person) -> None:
    olga.page.goto(paths["search"])
    olga.page.get_by_label("Search for").fill("where is the axed-isa tool?")
    olga.page.get_by_label("Agent").fill("dobby")
    olga.page.get_by_role("button", name="Search", exact=True).click()
    expect(olga.page.get_by_role("heading", name="Found")).to_be_visible()
    check_in_light_and_dark(olga)


def test_what_would_be_forgotten_has_labels_and_contrast(paths: dict[str, str], olga: Person) -> None:
    olga.page.goto(paths["memory"])
    olga.page.get_by_role("link", name="Delete memory").click()
    expect(olga.page.get_by_text("would be forgotten")).to_be_visible()
    check_in_light_and_dark(olga)


def test_a_dialog_has_labels_and_contrast_and_is_sent_with_the_keyboard(paths: dict[str, str], olga: Person) -> None:
    olga.page.goto(paths["memory"])
    olga.page.get_by_role("link", name="Deprecate").focus()
    olga.types("Enter")
    expect(olga.page.get_by_label("Why")).to_be_focused()
    assert violations(olga.page) == []

    olga.types("Escape", "Control+e", "Control+e")
    expect(olga.page.locator("html")).to_have_class("dark")
    olga.page.get_by_role("link", name="Deprecate").focus()
    olga.types("Enter")
    expect(olga.page.get_by_label("Why")).to_be_focused()
    assert violations(olga.page) == []

    olga.page.keyboard.type("it is gone")
    olga.types("Enter")
    olga.is_told("It was deprecated.")
    olga.sees_change("became too uncertain", "olga", "it is gone")


def check_in_light_and_dark(olga: Person) -> None:
    olga.page.wait_for_load_state("networkidle")

    assert violations(olga.page) == []

    olga.types("Control+e", "Control+e")  # from the device's scheme to light, and to dark
    expect(olga.page.locator("html")).to_have_class("dark")
    assert violations(olga.page) == []


def test_a_device_in_dark_gets_the_dark_pages(running: Festinger, cookies: Cookies, browser: Browser) -> None:
    with person(browser, running.proxies[0].url, cookies("olga"), color_scheme="dark") as olga:
        olga.opens("index")

        expect(olga.page.locator("html")).to_have_class("dark")
        # So that what the browser draws itself, such as boxes to tick, is dark as well.
        assert olga.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_a_setting_that_is_refused_is_not_hidden_by_the_bar(running: Festinger, olga: Person) -> None:
    olga.opens("memory_config_changelist")
    field, bar = olga.page.locator("[name=saliency_read_threshold]"), olga.page.locator(".fst-settings-bar")
    field.fill("99")
    olga.page.get_by_role("heading").last.scroll_into_view_if_needed()

    olga.page.get_by_role("button", name="Save all changes").click()

    expect(field).to_be_focused()
    olga.page.wait_for_function(
        "([field, bar]) => field.getBoundingClientRect().top > bar.getBoundingClientRect().bottom",
        arg=[field.element_handle(), bar.element_handle()],
    )
