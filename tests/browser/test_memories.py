"""Memories, episodes and projects: found, written, corrected, promoted, taken back, merged and forgotten."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from resolution.transfer.lines import FORMAT, VERSION
from tests.browser import world
from tests.browser.people import Person
from tests.served.learning import Festinger, headers_of

MEMORY, MEMORIES = "memory_memory_change", "memory_memory_changelist"


def act(page: Page, action: str, *texts: str) -> None:
    """Chooses the rows with these texts in a list, and runs the action."""
    for text in texts:
        page.get_by_role("row").filter(has_text=text).get_by_role("checkbox").check(force=True)
    page.locator("select[name=action]").select_option(value=action, force=True)
    page.locator("button[name=index]").click()


def carry_out(page: Page, label: str, reason: str = "") -> None:
    """Opens the dialog of an act on the page, and sends it."""
    page.get_by_role("link", name=label, exact=True).click()
    page.locator("#dialog").get_by_label("Why").fill(reason)
    page.locator("#dialog").get_by_role("button", name=label).click()


def test_a_memory_is_written_found_as_an_agent_finds_it_and_corrected(whole: Festinger, olga: Person) -> None:
    page = olga.page
    olga.opens("memory_memory_add")
    page.get_by_label("Text").fill("The griphook vault is opened with password=Xy7abcdefgh12 at noon.")
    page.get_by_label("Category").select_option(label="Other", force=True)
    page.get_by_label("Agent").fill("winky")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("body")).to_contain_text("The griphook vault is opened with password=[secret] at noon.")

    olga.opens("memory_memory_search")
    page.get_by_label("Search for").fill("how are griphook vaults opened?")
    page.get_by_label("Agent").fill("winky")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("link", name="The griphook vault is opened").click()

    page.get_by_label("Text").fill("The griphook vault is opened by two goblins.")
    page.get_by_role("button", name="Save and continue editing").click()
    olga.sees_change("was edited", "olga")
    assert whole.run("SELECT count(*) FROM memory WHERE text LIKE '%%two goblins%%'") == [(1,)]


def test_a_memory_that_contradicts_a_fact_says_so_and_leads_to_the_conflict(whole: Festinger, olga: Person) -> None:
    page = olga.page
    world.teach(whole, "hogwarts_express -ispart kings_cross in context of runs-on")
    olga.opens("memory_memory_add")
    page.get_by_label("Text").fill("Hogwarts_express runs on hogsmeade_station.")
    page.get_by_label("Category").select_option(label="Project", force=True)
    page.get_by_label("Agent").fill("winky")
    page.get_by_role("button", name="Save and continue editing").click()

    olga.is_told("It contradicts something: conflict")
    expect(page.get_by_text("Active, disputed")).to_be_visible()
    page.get_by_role("link", name=re.compile(r"^conflict \d+$")).last.click()
    expect(page.get_by_role("heading", name="hogwarts_express runs on kings_cross").first).to_be_visible()
    page.get_by_role("button", name="This is right").first.click()
    olga.opens(MEMORIES, q="hogsmeade", status="superseded")
    expect(page.get_by_text("Hogwarts_express runs on hogsmeade_station.")).to_be_visible()


def test_a_candidate_is_promoted_and_a_memory_deprecated_and_restored(whole: Festinger, olga: Person) -> None:
    page = olga.page
    kept = world.remember(whole, "Remember that the alohomora spell opens every door.")
    whole.run("UPDATE memory SET status = 'candidate', channel = 'assistant' WHERE id = %s", kept)

    olga.opens(MEMORIES, q="alohomora")
    expect(page.get_by_text("The alohomora spell")).to_have_count(0)
    olga.opens(MEMORIES, q="alohomora", status="candidate")
    act(page, "promote_them", "alohomora spell")
    olga.is_told("1 promoted.")

    olga.opens(MEMORY, kept)
    carry_out(page, "Deprecate", "only some doors")
    olga.is_told("It was deprecated.")
    olga.sees_change("became too uncertain", "olga", "only some doors")
    assert world.memory(whole, kept)[0] == "deprecated"
    carry_out(page, "Restore")
    olga.is_told("It was restored.")
    carry_out(page, "Take back")
    olga.is_told("It was taken back.")
    assert world.memory(whole, kept)[0] == "invalid"


def test_two_memories_are_merged_and_separated(whole: Festinger, olga: Person) -> None:
    page = olga.page
    one = world.remember(whole, "Remember that the erised mirror is on the third floor.")
    other = world.remember(whole, "We keep the erised mirror on floor three.")

    olga.opens(MEMORY, one)
    page.get_by_role("link", name="Merge with another").click()
    page.get_by_role("link", name="Add “We keep the erised mirror").click()
    page.get_by_label("We keep the erised mirror on floor three.").check()
    page.get_by_role("button", name="Merge", exact=True).click()

    olga.is_told("1 memory merged into this one.")
    assert [world.memory(whole, key)[0] for key in (one, other)] == ["merged_into", "active"]
    olga.sees_change("took others in", "olga")
    page.get_by_role("button", name="Undo").click()
    olga.is_told("Undone: they are memories of their own again.")
    assert [world.memory(whole, key)[0] for key in (one, other)] == ["active", "active"]

    olga.opens(MEMORIES, q="erised")
    act(page, "merge_them", "mirror is on the third", "We keep the erised")
    page.get_by_role("button", name="Merge", exact=True).click()
    carry_out(page, "Separate again")
    olga.is_told("they are memories of their own again")


def test_a_memory_is_moved_to_another_project_and_told_what_it_contradicts_there(
    whole: Festinger, olga: Person
) -> None:
    page = olga.page
    whole.run("INSERT INTO project (slug, name) VALUES ('thestral', 'Thestrals') ON CONFLICT DO NOTHING")

    for text in ("Remember that I prefer brooms to thestrals.", "Remember that I prefer thestrals to brooms."):
        olga.opens(MEMORY, world.remember(whole, text))
        page.get_by_label("Project").select_option(label="thestral", force=True)
        page.get_by_role("button", name="Save and continue editing").click()
        olga.sees_change("was moved: what all projects share → thestral", "olga")

    olga.is_told("both are marked as disputed")


def test_what_was_said_leads_to_what_is_remembered_and_both_are_forgotten(whole: Festinger, olga: Person) -> None:
    page = olga.page
    said = "Remember that I prefer quidditch brooms to thestrals. Which one is the fastest, please?"
    whole.ask(("user", said), ("assistant", "The firebolt is the fastest of all brooms."), ("user", "Thank you!"))
    whole.ask(("user", said))
    remembered = "I prefer quidditch brooms to thestrals."
    whole.wait(lambda: whole.run("SELECT 1 FROM memory WHERE text = %s", remembered))

    olga.opens("memory_episode_changelist", q="thestrals")
    page.get_by_role("link", name="Remember that I prefer quidditch brooms").first.click()
    page.get_by_role("link", name=remembered, exact=True).click()
    expect(page.get_by_role("link", name="“Remember that I prefer quidditch brooms")).to_be_visible()

    page.get_by_role("link", name="“Remember that I prefer quidditch brooms").first.click()
    page.get_by_role("link", name="Delete episode").click()
    expect(page.get_by_text("would be forgotten for good")).to_be_visible()
    assert whole.run("SELECT count(*) FROM memory WHERE text = %s", remembered) == [(1,)]
    page.get_by_role("button", name="Yes, I’m sure").click()

    olga.is_told("forgotten for good")
    gone = "SELECT count(*) FROM episode WHERE text LIKE '%%quidditch brooms%%'"
    assert whole.run(gone) == whole.run("SELECT count(*) FROM memory WHERE text = %s", remembered) == [(0,)]


def test_a_project_shows_what_belongs_to_it_and_a_concept_what_names_it(whole: Festinger, olga: Person) -> None:
    page = olga.page
    olga.opens("memory_project_add")
    page.get_by_label("Slug").fill("mandrake")
    page.get_by_label("Name").fill("Mandrakes")
    page.get_by_role("button", name="Save", exact=True).click()
    whole.run("UPDATE agent SET allows_all_projects = true WHERE name = 'hagrid'")
    asked = {"params": {"project": "mandrake"}, "headers": headers_of("hagrid")}
    whole.wait(lambda: whole.proxies[0].client.get("/memory", **asked).status_code == 200)
    text = "Remember that the mandrake-house is heated at night."
    kept = world.remember(whole, text, "hagrid", project="mandrake")
    world.teach(whole, "mandrake-house -isa greenhouse")

    olga.opens("memory_project_changelist", q="mandrake")
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_text("1 result")).to_be_visible()
    page.get_by_role("link", name="mandrake-house is heated").click()
    expect(page).to_have_url(re.compile(f"/memory/memory/{kept}/change/"))

    olga.opens("memory_soas_change", world.concept(whole, "mandrake-house"))
    page.get_by_role("link", name="mandrake-house is heated").click()
    expect(page).to_have_url(re.compile(f"/memory/memory/{kept}/change/"))


def test_memories_go_out_in_a_file_and_come_in_after_a_preview(
    whole: Festinger, olga: Person, vera: Person, tmp_path: Path
) -> None:
    page, file = olga.page, tmp_path / "all.jsonl"
    kept = world.remember(whole, "I prefer a dittany ointment.", "kreacher")
    olga.opens("resolution_transfer")
    page.get_by_label("The graph and the memories").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    download.value.save_as(file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    [line] = [each for each in lines if "dittany" in each.get("text", "")]
    assert not [each for each in lines if each.get("kind") == "episode"]

    new = {"kind": "memory", "agent": "kreacher", "text": "The user prefers a murtlap ointment."}
    file.write_text("\n".join(map(json.dumps, ({"format": FORMAT, "version": VERSION}, line, new))))
    page.get_by_label("A file that was exported").set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    contradictions = page.get_by_role("region", name="Contradictions", exact=True)
    expect(contradictions.get_by_role("cell", name="to be decided as a conflict: both are disputed")).to_be_visible()
    assert whole.run("SELECT count(*) FROM memory WHERE text LIKE '%%murtlap%%'") == [(0,)]
    page.get_by_role("button", name="Import").click()
    olga.is_told("all.jsonl was imported")
    assert whole.run("SELECT source, is_disputed FROM memory WHERE text LIKE '%%murtlap%%'") == [("imported", True)]
    olga.opens(MEMORY, kept)
    expect(page.get_by_text("Active, disputed")).to_be_visible()

    vera.opens("resolution_transfer")
    expect(vera.page.get_by_text("Your account may not import")).to_be_visible()
