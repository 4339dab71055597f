"""Who leaves the page of an import and comes back, sees what is being done, and then what it came to."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect

from resolution.transfer.interchange import FORMAT, VERSION
from tests.browser.people import Person
from tests.served.learning import Festinger

FACT = '{"kind":"fact","concept":"keg","parent":"vessel","dimension":"type","is_isa":true}'


@contextmanager
def hold(whole: Festinger) -> Iterator[Path]:
    """The uploaded file, locked as by a process that imports it."""
    (file,) = (each for each in (whole.home / "uploads").iterdir() if "." not in each.name)
    with file.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file.with_suffix(".progress").write_text("Placing: 50%")
        yield file


def test_an_import_that_is_under_way_is_shown_until_it_ends(whole: Festinger, olga: Person, tmp_path: Path) -> None:
    sent = tmp_path / "graph.jsonl"
    sent.write_text(f'{{"format":"{FORMAT}","version":{VERSION}}}\n{FACT}\n')
    olga.opens("resolution_transfer")
    olga.page.get_by_label("A file that was exported").set_input_files(sent)
    olga.page.get_by_role("button", name="Preview").click()
    expect(olga.page.get_by_text("Nothing has been changed yet.")).to_be_visible()

    with hold(whole) as file:
        olga.opens("resolution_transfer")

        expect(olga.page.get_by_text("This file is being imported.")).to_be_visible()
        expect(olga.page.get_by_role("status").filter(has_text="Placing: 50%")).to_be_visible()
        expect(olga.page.get_by_role("button", name="Discard the file")).to_have_count(0)
        file.with_suffix(".progress").write_text("Placing: 75%")
        expect(olga.page.get_by_role("status").filter(has_text="Placing: 75%")).to_be_visible()

    olga.page.get_by_role("link", name="Preview again").click()
    olga.page.get_by_role("button", name="Discard the file").click()
    expect(olga.page.get_by_text("was discarded; nothing was imported")).to_be_visible()
