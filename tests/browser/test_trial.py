"""*Try a text*: what it foresees is what then happens, and until then nothing does."""

import json

from playwright.sync_api import expect

from tests.browser import world
from tests.browser.people import Person
from tests.served.learning import Festinger


def test_a_text_is_tried_and_nothing_is_stored(whole: Festinger, olga: Person) -> None:
    world.teach(whole, "borogove -isa bird")
    olga.opens("proxy_try")

    olga.page.get_by_label("Text, or the JSON of a request").fill(
        "Borogove is a toad. Borogove runs on wabe. Is borogove a fish?\n> borogove is owned by bandersnatch"
    )
    olga.page.get_by_role("button", name="Try it").click()

    shown = olga.page.locator("main, body").first
    expect(shown).to_contain_text("borogove: [type?] bird")
    expect(shown).to_contain_text("borogove is a toad [type] contradicts: borogove is a bird [type].")
    expect(shown).to_contain_text("borogove runs on wabe new fact.")
    expect(shown).to_contain_text("borogove is owned by bandersnatch becomes a candidate.")
    assert world.facts(whole, "borogove") == {"borogove type bird"}
    assert whole.queue("borogove") == []
    assert "borogove: [type] bird" in "".join(message["content"] for message in whole.ask(("user", "A borogove!")))


def test_a_whole_request_is_tried(whole: Festinger, vera: Person) -> None:
    world.teach(whole, "mome-rath -isa pig")
    body = {
        "model": "m",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "mome-rath"}],
    }
    vera.opens("proxy_try")

    vera.page.get_by_label("Text, or the JSON of a request").fill(json.dumps(body))
    vera.page.get_by_label("It is").select_option(label="the body of a request")
    vera.page.get_by_role("button", name="Try it").click()

    expect(vera.page.locator("#trial-block ~ pre")).to_have_text(
        "<recollection>\nmome-rath: [type] pig\n</recollection>", use_inner_text=True
    )
    vera.page.get_by_text("The request as it would be sent to /v1/messages").click()
    expect(vera.page.locator("details pre")).to_contain_text('"system": "Be brief."')

    vera.page.get_by_label("Text, or the JSON of a request").fill("hello")
    vera.page.get_by_role("button", name="Try it").click()

    vera.is_told("It is not a JSON object")
