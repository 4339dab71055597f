"""What operators do besides deciding conflicts, and what the next prompt is given after it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import world
from tests.browser.people import Person, address
from tests.llm_server import LlmServer
from tests.served.learning import SYSTEM, Festinger

MESSAGES = 20  # that name a word: enough for it to be among the first of the unknown ones
DECOMPOSE = {
    "decision": "decompose",
    "existing_dimension": "artifact-type",
    "new_dimension": "deployment-type",
    "reasoning": "what it is, and how it is run",
}


@pytest.fixture
def llm(llm_server: LlmServer, whole: Festinger) -> Iterator[LlmServer]:
    """Chosen for conflicts."""
    whole.choose(llm_server, "resolve_model_id")
    yield llm_server
    llm_server.answers_by(None)
    whole.run("UPDATE config SET value = '' WHERE key = 'resolve_model_id'")


def next_prompt(whole: Festinger, text: str) -> str:
    """What reaches the model."""
    return "\n".join(message["content"] for message in whole.ask(("system", SYSTEM), ("user", text)))


def meet(whole: Festinger, word: str) -> None:
    """Users keep naming it, and nobody has explained it."""
    whole.ask(*(("user", f"Where is the {word}? ({number})") for number in range(MESSAGES)))
    whole.wait(lambda: whole.run("SELECT 1 FROM soas WHERE token = %s AND saliency > 1", word))


def test_an_unknown_concept_is_taught_from_home_and_the_next_prompt_knows_it(whole: Festinger, olga: Person) -> None:
    meet(whole, "florble")

    olga.opens("index")
    olga.page.get_by_label("florble", exact=True).fill("is a broomstick")
    olga.page.get_by_role("button", name="Teach florble").click()

    olga.is_told("Stored: florble is a broomstick [type].")
    expect(olga.page).to_have_url(re.compile(f"{address('index')}$"))
    expect(olga.page.get_by_label("florble", exact=True)).to_have_count(0)
    assert "\nflorble: [type] broomstick\n" in next_prompt(whole, "Polish the florble.")


def test_enter_in_the_search_of_everything_opens_the_first_result(olga: Person) -> None:
    olga.opens("index")
    olga.types("Control+k")
    search = olga.page.locator("#search-input-command")
    expect(search).to_be_focused()
    search.press_sequentially("zero hit")
    search.press("Enter")  # before there are results
    expect(olga.page.locator("#command-results li").first).to_be_visible()

    search.press("Enter")

    expect(olga.page).not_to_have_url(re.compile(f"{address('index')}$"))


def test_a_search_of_everything_that_finds_nothing_says_so(olga: Person) -> None:
    olga.opens("index")
    olga.types("Control+k")

    olga.page.locator("#search-input-command").press_sequentially("borogove")

    expect(olga.page.get_by_text("No results for “borogove”.")).to_be_visible()


def test_what_cannot_be_read_as_a_fact_is_refused_and_stays_in_its_field(whole: Festinger, olga: Person) -> None:
    meet(whole, "grumplet")

    olga.opens("index")
    olga.page.get_by_label("grumplet", exact=True).fill("well, you know")
    olga.page.get_by_role("button", name="Teach grumplet").click()

    olga.is_told("Nothing was stored.")
    assert world.standing(whole, "grumplet") == []


def test_all_unknown_names_are_muted_at_once_and_come_back(whole: Festinger, olga: Person) -> None:
    meet(whole, "frumple")

    olga.opens("index")
    olga.page.get_by_role("button", name="Mute all of these").click()
    olga.is_told("frumple")
    expect(olga.page.get_by_label("frumple", exact=True)).to_have_count(0)

    olga.page.get_by_role("button", name="Undo").click()
    olga.is_told("no longer muted")
    expect(olga.page.get_by_label("frumple", exact=True)).to_have_count(1)


def test_a_setting_is_obeyed_by_the_next_prompt_until_it_is_reset(whole: Festinger, olga: Person) -> None:
    for word in ("wibblet", "wobblet"):
        world.teach(whole, f"{word} -isa widget")
    both = "Compare wibblet and wobblet"
    field = olga.page.get_by_label("recollection_max_tokens", exact=True)
    assert next_prompt(whole, f"{both}.").count("[type] widget") == 2

    olga.opens("memory_config_changelist")
    olga.page.get_by_label("Search settings").fill("recollection_max")
    field.fill("0")
    olga.page.get_by_role("button", name="Save all changes").click()
    olga.is_told("recollection_max_tokens")
    expect(olga.page.get_by_role("button", name="Reset recollection_max_tokens")).to_be_visible()
    assert next_prompt(whole, f"{both} again.").count("[type] widget") == 0

    olga.page.get_by_role("button", name="Reset recollection_max_tokens").click()
    expect(field).to_have_value("350")
    assert next_prompt(whole, f"{both} once more.").count("[type] widget") == 2
    expect(olga.page.locator("table").filter(has_text="olga").first).to_contain_text("recollection_max_tokens")


def test_a_value_out_of_range_is_refused_beside_its_field(whole: Festinger, olga: Person) -> None:
    olga.opens("memory_config_changelist")
    olga.page.locator("form#settings").evaluate("form => form.noValidate = true")  # as who has an old browser
    olga.page.get_by_label("Search settings").fill("zero_hit_max")
    olga.page.get_by_label("zero_hit_max", exact=True).fill("99")
    olga.page.get_by_role("button", name="Save all changes").click()

    olga.is_told("Nothing was saved: see the errors beside the fields.")
    assert whole.run("SELECT value FROM config WHERE key = 'zero_hit_max'") == [("1",)]


def test_a_run_is_started_from_home_watched_to_its_end_and_undone(
    whole: Festinger, olga: Person, llm: LlmServer
) -> None:
    dispute = world.dispute(whole, "isa_isa", "nightly")
    llm.answers_by(lambda _: DECOMPOSE)

    olga.opens("index")
    olga.page.get_by_role("button", name="Run resolution now").click()
    last = olga.page.locator("section", has=olga.page.get_by_role("heading", name="Last resolution run"))
    expect(last).to_contain_text("1 of 1 conflicts")  # no reload: the page asks by itself

    decided = {"nightly artifact-type repo", "nightly deployment-type container"}
    assert world.facts(whole, dispute.word) == decided

    last.get_by_role("link", name=re.compile("^Run ")).click()
    olga.page.get_by_text("Undo this whole run: 1 decision").click()
    olga.page.get_by_role("button", name="Undo this whole run").click()
    expect(olga.page.get_by_text("Undo this whole run")).to_have_count(0)
    assert world.facts(whole, dispute.word) == {"nightly type repo"}
    assert world.status(whole, dispute.id) == "pending"


def test_a_muted_concept_is_missing_in_the_next_prompt_until_it_is_unmuted(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "chatter -isa noise")
    assert "chatter: [type] noise" in next_prompt(whole, "Is chatter on?")

    olga.opens("memory_soas_change", world.concept(whole, "chatter"))
    olga.page.get_by_role("button", name="Mute", exact=True).click()
    olga.is_told("1 muted")
    assert "chatter: [type] noise" not in next_prompt(whole, "Is chatter off?")

    olga.page.get_by_role("button", name="Unmute", exact=True).click()
    olga.is_told("no longer muted")
    assert "chatter: [type] noise" in next_prompt(whole, "Is chatter on again?")


def test_a_fact_is_retired_on_its_concept_and_put_back(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "teapot -isa vessel")

    olga.opens("memory_soas_change", world.concept(whole, "teapot"))
    olga.page.get_by_text("Retire…").first.click()
    olga.page.get_by_label("Why").fill("it is broken")
    olga.page.get_by_role("button", name="Retire").click()
    expect(olga.page.get_by_text("Nothing yet: teach it above.")).to_be_visible()
    assert world.facts(whole, "teapot") == set()

    olga.page.get_by_role("button", name="Put it back").first.click()
    expect(olga.page.get_by_role("button", name="Put it back")).to_have_count(0)
    assert world.facts(whole, "teapot") == {"teapot type vessel"}


def test_the_picture_of_a_neighbourhood_is_drawn_and_told_as_a_list(whole: Festinger, olga: Person) -> None:
    dispute = world.dispute(whole, "isa_isa", "pictured")

    olga.opens("memory_soas_change", world.concept(whole, dispute.word))

    expect(olga.page.locator("[data-part=graph] canvas").first).to_be_visible()
    olga.page.get_by_text("The same as a list").click()
    expect(olga.page.locator("[data-part=list] li").first).to_contain_text("repo")


def test_one_walks_with_the_keyboard_from_the_picture_to_that_of_a_neighbour(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "griphook -ispart gringotts")
    page = olga.page

    olga.opens("memory_soas_change", world.concept(whole, "griphook"))
    page.get_by_role("button", name="Two steps").click()
    there = f"{address('memory_soas_change', world.concept(whole, 'gringotts'))}?depth=2#fst-picture"
    page.locator(f"nav a[href='{there}']").focus()
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(f"{re.escape(there)}$"))
    expect(page.get_by_role("heading", name="Neighbourhood")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Two steps")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("link", name="griphook", exact=True).and_(page.locator("nav a"))).to_be_in_viewport()


def test_an_export_is_imported_after_a_look_at_what_it_would_change(
    whole: Festinger, olga: Person, tmp_path: Path
) -> None:
    world.teach(whole, "crate -isa box")
    olga.opens("resolution_transfer")
    with olga.page.expect_download() as download:
        olga.page.get_by_role("button", name="Download", exact=True).click()
    first, *lines = download.value.path().read_text().splitlines()
    header = json.dumps({key: value for key, value in json.loads(first).items() if key != "counts"})
    about = [line for line in lines if '"crate"' in line]
    renamed = [line.replace('"crate"', '"barrel"') for line in about]
    contrary = [line.replace('"box"', '"jar"') for line in about]
    file = tmp_path / "world.jsonl"
    file.write_text("\n".join([header, *renamed, *contrary]) + "\n")

    olga.page.get_by_label(re.compile("^A file that was exported")).set_input_files(file)
    olga.page.get_by_role("button", name="Preview").click()

    expect(olga.page.get_by_text("Nothing has been changed yet.")).to_be_visible()
    expect(olga.page.get_by_role("heading", name="Contradictions")).to_contain_text("1")
    outcomes = {
        "replace": "in place of what is here, which goes to the history",
        "become": "to be decided as a conflict",
    }
    for choice, outcome in outcomes.items():
        olga.page.get_by_role("radio", name=re.compile(f"^{choice}")).click()
        contradictions = olga.page.get_by_role("region", name="Contradictions", exact=True)
        expect(contradictions.get_by_role("cell", name=outcome)).to_be_visible()
    assert world.facts(whole, "barrel") == set()

    olga.page.get_by_role("button", name="Import", exact=True).click()

    expect(olga.page.get_by_role("button", name="Download", exact=True)).to_be_visible()
    assert world.facts(whole, "barrel") == {"barrel type box"}
    assert world.facts(whole, "crate") == {"crate type box"}
    assert [row[:4] for row in whole.queue("crate") if row[5] == "pending"] == [("crate", "type", "box", "jar")]


def test_home_says_that_all_is_well_or_what_to_do(whole: Festinger, olga: Person) -> None:
    olga.opens("index")

    health = olga.page.locator("#fst-health")
    expect(health.locator("time")).to_be_visible()
    health.locator("#fst-health-rest-summary").click()
    expect(health).to_contain_text("No language model resolves conflicts")
    expect(health.get_by_role("link", name="Language models")).to_be_visible()


def test_the_stories_of_what_has_changed_are_read_at_once(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "norbert -isa dragon")
    readings = "SELECT count(*) FROM run WHERE trigger = 'detect'"
    [(before,)] = whole.run(readings)

    olga.opens("index")
    olga.page.get_by_role("button", name="Read what has changed now").click()

    olga.is_told("queued. No language model")
    whole.wait(lambda: whole.run(readings)[0][0] > before)
    olga.opens("index")
    expect(olga.page.get_by_role("region", name="Project histories")).to_contain_text("lines read")
