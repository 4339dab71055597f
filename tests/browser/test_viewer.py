"""A viewer looks at everything and changes nothing, by page or by POST."""

import re

import pytest

from tests.browser import world
from tests.browser.people import Person, address
from tests.served.learning import Festinger

BUTTONS = re.compile(
    r"\b(Teach|Mute(?! patterns)|Retire|Put it back|Run resolution|Save|Reset(?! filters)|Import|Preview"
    r"|Keep|Take|Undo|Decide|Delete|Add|Promote|Deprecate|Restore|Merge|Separate|Forget)\b"
)


@pytest.mark.parametrize(
    "page", ["index", "memory_config_changelist", "resolution_transfer", "memory_languagemodel_changelist",
             "memory_agent_changelist", "resolution_run_changelist", "memory_edge_changelist",
             "memory_memory_changelist", "memory_episode_changelist", "memory_project_changelist"],
)  # fmt: skip
def test_a_viewer_sees_no_button_that_changes_something(whole: Festinger, vera: Person, page: str) -> None:
    vera.opens(page)

    assert vera.page.locator("h1").count() > 0
    assert buttons(vera) == []


def test_a_viewer_sees_a_concept_without_its_buttons(whole: Festinger, vera: Person) -> None:
    world.teach(whole, "gargoyle -isa statue")

    vera.opens("memory_soas_change", world.concept(whole, "gargoyle"))

    assert "statue" in vera.page.locator("body").inner_text()
    assert buttons(vera) == []


def test_a_viewer_sees_a_memory_and_an_episode_without_their_buttons(whole: Festinger, vera: Person) -> None:
    kept = world.remember(whole, "Remember that the gargoyle sleeps at noon.")
    whole.ask(("user", "Does the gargoyle sleep at noon, or only at night?"))
    whole.wait(lambda: whole.run("SELECT 1 FROM episode WHERE text LIKE '%%gargoyle sleep at%%'"))
    [(said,)] = whole.run("SELECT min(id) FROM episode WHERE text LIKE '%%gargoyle sleep at%%'")

    for page, key in (("memory_memory_change", kept), ("memory_episode_change", said)):
        vera.opens(page, key)
        assert "gargoyle" in vera.page.locator("body").inner_text()
        assert buttons(vera) == []


def buttons(someone: Person) -> list[str]:
    found = someone.page.get_by_role("button", name=BUTTONS).or_(someone.page.get_by_role("link", name=BUTTONS))
    return [text for text in found.all_inner_texts() if BUTTONS.search(text)]


def test_a_viewer_is_refused_what_the_buttons_would_send(whole: Festinger, vera: Person) -> None:
    dispute = world.dispute(whole, "isa_isa", "coveted")
    concept = world.concept(whole, dispute.word)
    [(edge,)] = whole.run("SELECT edge_id FROM urd WHERE id = %s", concept)
    before = whole.edges(), whole.queue(), whole.run("SELECT key, value FROM config ORDER BY key")
    posts: dict[str, dict[str, str]] = {
        address("resolution_conflict_decide", dispute.id): {"decision": "update"},
        address("resolution_conflict_run"): {},
        address("memory_soas_teach", concept): {"statement": "is a statue in context of art"},
        address("memory_soas_marks"): {"mark": "muted", "to": "true", "keys": str(concept)},
        address("memory_edge_retire_one", edge): {"_form_submitted": "true", "reason": "no"},
        address("memory_config_changelist"): {"zero_hit_max": "2"},
        address("resolution_transfer_import"): {},
        address("memory_memory_take_back", 1): {"_form_submitted": "true"},
        address("memory_memory_merge"): {"ids": "1,2", "winner": "1"},
        address("memory_memory_separate", 1): {"_form_submitted": "true", "merge": "1"},
    }
    vera.opens("index")
    [token] = [cookie["value"] for cookie in vera.page.context.cookies() if cookie["name"] == "festinger_csrf"]

    answers = {
        path: vera.page.request.post(path, form={"csrfmiddlewaretoken": token, **fields}).status
        for path, fields in posts.items()
    }

    assert answers == dict.fromkeys(posts, 403)
    assert (whole.edges(), whole.queue(), whole.run("SELECT key, value FROM config ORDER BY key")) == before
    assert whole.run("SELECT is_muted FROM soas WHERE id = %s", concept) == [(False,)]
