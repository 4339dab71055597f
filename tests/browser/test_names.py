"""Concepts and dimensions get other names, with the mouse."""

from playwright.sync_api import Page, expect

from tests.browser import world
from tests.browser.people import Person
from tests.served.learning import Festinger

CONCEPT = "memory_soas_change"


def recalled(whole: Festinger, text: str) -> str:
    return str(whole.proxies[0].client.post("/recollect", json={"text": text}).json()["block"])


def undo(page: Page) -> None:
    page.get_by_text("Undo this whole run: 1 decision").click()
    page.get_by_role("button", name="Undo this whole run").click()
    expect(page.get_by_text("1 decision was undone.")).to_be_visible()


def test_two_concepts_are_merged_and_the_merge_is_undone(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "mouse-kv -isa service in context of mouse-form")
    world.teach(whole, "mouse-kv -ispart tyr in context of runs-on")
    world.teach(whole, "mouse-kvasir -ispart baldur in context of runs-on")
    before = world.facts(whole, "mouse-kv")

    olga.opens(CONCEPT, world.concept(whole, "mouse-kv"))
    page = olga.page
    page.get_by_role("link", name="Rename or merge").click()
    page.get_by_label("New or existing name").fill("mouse-kvasir")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("mouse-kvasir runs on baldur")).to_be_visible()
    expect(page.locator("li", has_text="tyr").get_by_text("conflict", exact=True)).to_be_visible()
    page.get_by_role("button", name="Merge", exact=True).click()

    expect(page.get_by_text("was merged into mouse-kvasir")).to_be_visible()
    assert world.facts(whole, "mouse-kv") == {"mouse-kvasir mouse-form service", "mouse-kvasir runs-on baldur"}
    assert "mouse-kvasir: [mouse-form] service" in recalled(whole, "Restart mouse-kv now")
    undo(page)
    assert world.facts(whole, "mouse-kv") == before


def test_a_dimension_is_renamed_and_one_without_facts_deleted(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "mouse-gw -isa repo in context of mouse-gu")
    dimension = world.concept(whole, "mouse-gu")

    olga.opens("memory_dimension_change", dimension)
    page = olga.page
    page.get_by_role("link", name="Rename, merge or delete").click()
    page.get_by_label("New or existing name").fill("Mouse University")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Rename", exact=True).click()

    expect(page.get_by_text("was renamed to mouse_university")).to_be_visible()
    assert world.facts(whole, "mouse-gw") == {"mouse-gw mouse_university repo"}
    world.teach(whole, "mouse-gx -isa repo in context of mouse-gu")
    assert world.facts(whole, "mouse-gx") == {"mouse-gx mouse_university repo"}
    undo(page)
    assert world.facts(whole, "mouse-gw") == {"mouse-gw mouse-gu repo"}

    whole.run("DELETE FROM urd WHERE dim_id = %s AND id <> dim_id", dimension)
    olga.opens("memory_soas_merge", dimension)
    page = olga.page
    page.get_by_role("button", name="Delete mouse-gu").click()
    expect(page.get_by_text("The dimension mouse-gu was deleted.")).to_be_visible()
    assert whole.run("SELECT FROM dimension WHERE id = %s", dimension) == []


def test_a_concept_gets_another_name_and_loses_it(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "mouse_venn -isa lead in context of mouse-team")

    olga.opens(CONCEPT, world.concept(whole, "mouse_venn"))
    page = olga.page
    page.get_by_label("Also called").fill("mousey")
    page.get_by_role("button", name="Add name").click()
    expect(page.get_by_text("mousey is another name of mouse_venn now.")).to_be_visible()
    assert "mouse_venn: [mouse-team] lead" in recalled(whole, "Ask mousey")

    page.get_by_role("button", name="Remove the name mousey").click()
    expect(page.get_by_text("mousey is a word of its own again")).to_be_visible()
    assert recalled(whole, "Ask mousey") == ""
