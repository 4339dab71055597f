"""Import in the admin, used like a person. For the export see ``test_export``."""

import io
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client

from memory.models import Edge, EdgeHistory, Memory
from resolution.admin import transfer as transfer_page
from resolution.models import Claim
from resolution.transfer import uploads
from resolution.transfer.uploads import Upload
from tests.arrange import facts, say
from tests.worlds import Login

pytestmark = pytest.mark.django_db

PAGE = "/admin/transfer/"
NEW = {"kind": "fact", "concept": "kvasir", "parent": "service", "dimension": "type", "is_isa": True}
OTHER = NEW | {"concept": "gnommoweb", "parent": "container"}
POLICY = {"kind": "dimension", "dimension": "host", "is_isa": False, "on_collision": "supersede"}
DECIDED = {
    "kind": "decided",
    "concept": "kvasir",
    "parent": "virus",
    "dimension": "type",
    "decision": "dismissed",
    "decided_at": "2026-03-01T12:30:00Z",
}
WRONG = {"kind": "fact", "concept": "Glitch University"}


@pytest.fixture(scope="module", autouse=True)
def standing(module_db: None) -> None:
    say("gnommoweb isa repo type", confidence=0.7)


def person(name: str, *permissions: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def someone(*permissions: str) -> Client:
    client = Client()
    client.force_login(person("luna", *permissions))
    return client


@pytest.fixture(scope="module")
def operator_login(standing: None) -> Login:
    return Login(person("hermione", "view_edge", "add_edge", "delete_edge", "view_decidedtriple"))


def file_of(*entries: dict[str, Any]) -> io.BytesIO:
    lines = [b'{"format":"festinger","version":2}', *map(orjson.dumps, entries)]
    file = io.BytesIO(b"\n".join(lines))
    file.name = "world.jsonl"
    return file


def upload(client: Client, *entries: dict[str, Any]) -> str:
    """The page that shows what the file would come to."""
    return client.post(f"{PAGE}upload/", {"file": file_of(*entries)}, follow=True).content.decode()


def import_it(client: Client, **fields: str) -> str:
    choice = fields.get("differences", "queue")
    sent = {"key": upload_of(client).key, "differences": choice, "previewed": choice} | fields
    return client.post(f"{PAGE}import/", sent, follow=True).content.decode()


def upload_of(client: Client) -> Upload:
    return Upload(int(client.session["_auth_user_id"]))


def folder() -> Path:
    place: Path = settings.HOME / "uploads"
    return place


def kept() -> list[str]:
    """The uploaded files, without what is noted beside them."""
    return sorted(file.name for file in folder().iterdir() if "." not in file.name)


def make_old(file: Path, age_s: float) -> None:
    os.utime(file, (time.time() - age_s,) * 2)


@pytest.fixture(autouse=True)
def no_uploads() -> None:
    for file in folder().glob("*"):
        file.unlink()


class TestImport:
    def test_shows_what_would_come_and_changes_nothing_until_it_is_confirmed(self, operator: Client) -> None:
        page = upload(operator, NEW, OTHER)

        assert "Nothing has been changed yet" in page
        assert "<b>container</b>" in page
        assert "<b>repo</b>" in page
        assert facts() == {"gnommoweb isa repo type"}

        told = import_it(operator)

        assert "world.jsonl was imported: 1 fact: new; 1 fact: in contradiction to an existing fact" in told
        assert facts() == {"gnommoweb isa repo type", "kvasir isa service type"}
        assert str(Claim.objects.get()) == "gnommoweb [type]: repo or container"
        assert EdgeHistory.objects.get(concept__token="kvasir").actor == "hermione"
        assert kept() == []

    def test_lets_the_file_take_the_place_or_keeps_what_stands(self, operator: Client) -> None:
        upload(operator, OTHER)
        import_it(operator, differences="keep")
        assert facts() == {"gnommoweb isa repo type"}

        upload(operator, OTHER)
        import_it(operator, differences="take")
        assert facts() == {"gnommoweb isa container type"}

    @pytest.mark.parametrize(
        ("choice", "outcome"),
        [
            ("queue", "becomes a conflict"),
            ("keep", "is left out: the existing fact is kept"),
            ("take", "replaces the existing fact"),
            ("nonsense", "becomes a conflict"),
        ],
    )
    def test_shows_what_would_come_the_way_that_is_chosen(self, operator: Client, choice: str, outcome: str) -> None:
        upload(operator, OTHER)

        page = operator.get(PAGE, {"differences": choice}).content.decode()

        assert f">{outcome}</span>" in page
        assert f'value="{choice if choice in transfer_page.CHOICES else "queue"}" checked' in page

    def test_does_nothing_that_was_not_looked_at_first(self, operator: Client) -> None:
        upload(operator, OTHER)

        told = import_it(operator, differences="take", previewed="queue")  # as after going back in a browser

        assert "for what you chose; nothing was imported yet" in told
        assert ">replaces the existing fact</span>" in told
        assert facts() == {"gnommoweb isa repo type"}

    def test_tells_how_far_it_is(self, operator: Client) -> None:
        def how_far() -> str | None:
            return operator.get(f"{PAGE}progress/").json()["progress"]

        assert how_far() is None
        upload(operator, NEW)
        assert how_far() is None

        running = upload_of(operator)
        with running.hold():
            running.report_progress("Placing", 150, 300)
            running.report_progress("Placing", 151, 300)  # at once: told later
            assert how_far() == "Placing: 50%"

        import_it(operator)
        assert how_far() is None
        assert kept() == []

    def test_tells_mistakes_and_leaves_them_out_only_on_request(self, operator: Client) -> None:
        page = upload(operator, NEW, WRONG)
        assert "Glitch University" in page
        assert "must be a name such as glitch_university" in page

        assert "The file has a mistake; nothing was imported." in import_it(operator)
        assert not Edge.objects.filter(concept__token="kvasir").exists()

        import_it(operator, skip_invalid="true")
        assert Edge.objects.filter(concept__token="kvasir").exists()

    def test_says_so_where_all_is_here_already(self, operator: Client) -> None:
        page = upload(operator, OTHER | {"parent": "repo"})

        assert "importing it would change nothing" in page
        assert "Everything in world.jsonl is already here; nothing was changed." in import_it(operator)

    def test_refuses_what_is_not_an_export(self, operator: Client) -> None:
        file = io.BytesIO(b"\x1f\x8b....")
        page = operator.post(f"{PAGE}upload/", {"file": file}, follow=True).content.decode()

        assert "The file is compressed (gzip): unpack it first." in page
        assert "The file is compressed (gzip): unpack it first." in import_it(operator)

    def test_of_another_file_than_was_previewed_is_refused(self, operator: Client) -> None:
        upload(operator, NEW)
        key = upload_of(operator).key
        upload(operator, OTHER)

        told = import_it(operator, key=key)

        assert "Another file was uploaded since" in told
        assert facts() == {"gnommoweb isa repo type"}
        assert kept() == [upload_of(operator).file.name]

    def test_without_a_file_says_what_to_do(self, operator: Client) -> None:
        assert "Choose a file first." in operator.post(f"{PAGE}upload/", follow=True).content.decode()

    def test_is_not_done_twice_at_once(self, operator: Client) -> None:
        upload(operator, NEW)

        with upload_of(operator).hold():
            assert "is being imported" in import_it(operator)

        assert not Edge.objects.filter(concept__token="kvasir").exists()

    def test_is_given_up_and_the_file_goes(self, operator: Client) -> None:
        upload(operator, NEW)

        page = operator.post(f"{PAGE}discard/", follow=True).content.decode()

        assert "was discarded; nothing was imported" in page
        assert kept() == []


class TestUnderWay:
    """An import goes on when whoever began it leaves its page."""

    @pytest.fixture(autouse=True)
    def uploaded(self, operator: Client) -> None:
        upload(operator, NEW)

    def test_the_page_shows_how_far_it_is_and_offers_nothing(self, operator: Client) -> None:
        running = upload_of(operator)
        with running.hold():
            running.report_progress("Placing", 150, 300)
            page = operator.get(PAGE).content.decode()
            state = operator.get(f"{PAGE}progress/").json()

        assert "This file is being imported." in page
        assert "Placing: 50%" in page
        assert "data-transfer-waiting=" in page
        assert not [text for text in ("Nothing has been changed", "Discard", "<form method") if text in main_of(page)]
        assert state == {"progress": "Placing: 50%"}

    def test_its_file_is_not_discarded(self, operator: Client) -> None:
        with upload_of(operator).hold():
            page = operator.post(f"{PAGE}discard/", follow=True).content.decode()

        assert "It cannot be discarded." in page
        assert "nothing was imported" not in page
        assert upload_of(operator).key

    def test_its_file_is_not_replaced_by_another(self, operator: Client) -> None:
        before = upload_of(operator).key

        with upload_of(operator).hold():
            page = upload(operator, OTHER)

        assert "is being imported: wait until that is done" in page
        assert upload_of(operator).key == before

    def test_what_it_came_to_is_told_once_to_who_comes_back(self, operator: Client) -> None:
        operator.post(
            f"{PAGE}import/", {"key": upload_of(operator).key, "previewed": "queue"}
        )  # and its answer is lost

        assert "world.jsonl was imported: 1 fact: new" in operator.get(PAGE).content.decode()
        assert "was imported" not in operator.get(PAGE).content.decode()
        assert kept() == []

    def test_who_discards_it_too_late_is_told_what_it_came_to(self, operator: Client) -> None:
        operator.post(f"{PAGE}import/", {"key": upload_of(operator).key, "previewed": "queue"})

        page = operator.post(f"{PAGE}discard/", follow=True).content.decode()

        assert "world.jsonl was imported: 1 fact: new" in page
        assert "nothing was imported" not in page

    def test_one_that_died_is_not_under_way(self, operator: Client) -> None:
        upload_of(operator).report_progress("Placing", 1, 2)  # by a process that holds nothing any more

        page = operator.get(PAGE).content.decode()

        assert "Nothing has been changed yet" in page
        assert "Discard the file" in page


def main_of(page: str) -> str:
    """Without the menu, which has forms of its own."""
    return page[page.index('class="fst-stack"') :].partition("<script")[0]


class TestPreview:
    def test_is_done_once_until_it_is_asked_for_again(self, operator: Client) -> None:
        upload(operator, NEW)
        say("kvasir isa service type")

        assert "importing it would change nothing" not in operator.get(PAGE).content.decode()

        again = operator.get(PAGE, {"differences": "queue", "again": "1"}, follow=True)
        assert "importing it would change nothing" in again.content.decode()
        assert again.redirect_chain == [(f"{PAGE}?differences=queue", 302)]

    def test_is_done_again_when_it_was_long_ago(self, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        upload(operator, NEW)
        say("kvasir isa service type")
        monkeypatch.setattr(uploads, "PREVIEW_KEPT", timedelta(0))

        assert "importing it would change nothing" in operator.get(PAGE).content.decode()

    def test_says_as_of_when(self, operator: Client) -> None:
        assert 'again=1" data-transfer-again>Preview again</a>' in upload(operator, NEW)
        assert "As of <time" in operator.get(PAGE).content.decode()

    def test_is_done_again_where_the_report_is_of_another_version(self, operator: Client) -> None:
        upload(operator, NEW)
        kept = upload_of(operator).file.with_suffix(".preview-queue")
        kept.write_bytes(b'{"facts":{"new":7},"mood":"good"}')

        assert '<td class="transfer-count">1</td><th scope="row">fact</th>' in operator.get(PAGE).content.decode()


class TestUploads:
    def test_are_for_their_owner_only_and_go_after_a_day(self, operator: Client) -> None:
        upload(operator, NEW)
        old = upload_of(operator).file
        assert (old.stat().st_mode & 0o077, old.parent.stat().st_mode & 0o077) == (0, 0)
        make_old(old, uploads.KEPT_S + 60)

        Upload(0).save([b"x"], "another.jsonl")

        assert kept() == ["0"]
        assert "world.jsonl" not in operator.get(PAGE).content.decode()

    def test_of_an_account_are_nobody_elses(self, operator: Client, client: Client) -> None:
        upload(operator, NEW)
        client.force_login(User.objects.create_superuser("draco"))

        assert "world.jsonl" not in client.get(PAGE).content.decode()

    def test_are_found_again_after_signing_in_anew(self, operator: Client, client: Client) -> None:
        upload(operator, NEW)
        client.force_login(User.objects.get(username="hermione"))

        assert "world.jsonl" in client.get(PAGE).content.decode()


class TestWhoMay:
    def test_a_viewer_exports_and_imports_nothing(self) -> None:
        viewer = someone("view_edge", "view_decidedtriple")
        page = viewer.get(PAGE).content.decode()

        assert 'value="graph" checked' in page
        assert page.count("your account may not view all of it") == 2
        assert viewer.get(f"{PAGE}export/?extent=graph").status_code == 200
        assert "transfer-file" not in page
        assert [viewer.post(f"{PAGE}{what}/").status_code for what in ("upload", "import", "discard")] == [403] * 3
        assert viewer.get(f"{PAGE}progress/").status_code == 403

    def test_who_may_not_see_all_that_is_in_an_export_gets_none(self) -> None:
        client = someone("view_edge", "add_edge")
        page = client.get(PAGE).content.decode()

        assert client.get(f"{PAGE}export/?extent=graph").status_code == 403
        assert "transfer/export" not in page + upload(client, NEW)
        assert "Your account may not export" in page

    @pytest.mark.parametrize(
        ("missing", "got"),
        [("view_episode", [200, 200, 403]), ("view_memory", [200, 403, 403]), ("view_project", [200, 403, 403])],
    )
    def test_memories_and_episodes_are_exported_by_who_may_see_them(self, missing: str, got: list[int]) -> None:
        graph = {"view_edge", "view_decidedtriple"}
        client = someone(*graph | {"view_memory", "view_project", "view_projectstate", "view_episode"} - {missing})

        extents = ("graph", "memories", "episodes")
        assert [client.get(f"{PAGE}export/?extent={extent}").status_code for extent in extents] == got

    def test_who_may_not_see_memories_learns_none_from_a_preview(self) -> None:
        Memory.objects.create(text="The user prefers a rebase workflow.", agent="dobby", source="operator")
        new = {"kind": "memory", "agent": "dobby", "text": "The user prefers a rebase workflow."}

        told = upload(someone("view_edge", "add_edge", "add_memory"), new)

        assert "compared with the memories here" in told
        assert "already here" not in told

    def test_who_may_not_retire_lets_no_file_take_a_place(self) -> None:
        client = someone("view_edge", "add_edge")
        assert "your account may not retire facts" in upload(client, OTHER)

        key = upload_of(client).key
        answer = client.post(f"{PAGE}import/", {"key": key, "differences": "take"})

        assert (answer.status_code, facts()) == (403, {"gnommoweb isa repo type"})

    @pytest.mark.parametrize(
        ("entry", "right", "what"),
        [
            ({"kind": "concept", "concept": "kvasir", "is_muted": True}, "change_soas", "mutes concepts"),
            (POLICY, "change_dimension", "says what a dimension does"),
            (DECIDED, "change_conflict", "has decisions"),
            (NEW | {"agent": "minerva"}, "change_conflict", "statements of operators"),
            (NEW | {"agent": "dobby", "source": "inferred", "channel": "operator"}, "change_conflict", "of operators"),
        ],
    )
    def test_a_file_does_no_more_than_its_importer_may(self, entry: dict[str, Any], right: str, what: str) -> None:
        client = someone("view_edge", "add_edge")
        upload(client, NEW | {"concept": "zwiebel"}, entry)

        said = import_it(client)

        assert what in said
        assert f".{right}). Nothing was imported." in said
        assert facts() == {"gnommoweb isa repo type"}
        User.objects.get(username="luna").user_permissions.add(Permission.objects.get(codename=right))
        import_it(client)
        assert "zwiebel isa service type" in facts()

    def test_what_one_may_state_by_hand_one_may_import(self) -> None:
        client = someone("view_edge", "add_edge")
        upload(client, NEW, NEW | {"concept": "zwiebel", "agent": "luna"}, NEW | {"concept": "aa", "source": "gutask"})

        import_it(client)

        assert len(facts()) == 4

    def test_a_fact_of_a_file_is_shown_as_imported(self, operator: Client) -> None:
        upload(operator, NEW | {"agent": "zero", "source": "gutask"})
        import_it(operator)
        edge = Edge.objects.get(concept__token="kvasir")

        def is_marked() -> bool:
            return ", imported</dd>" in operator.get(f"/admin/memory/edge/{edge.pk}/change/").content.decode()

        assert is_marked()
        Edge.objects.filter(pk=edge.pk).update(agent="winky")  # as where somebody states here what the file only had
        assert not is_marked()

    def test_who_may_not_look_sees_nothing(self) -> None:
        client = someone("view_soas")

        assert [client.get(path).status_code for path in (PAGE, f"{PAGE}export/")] == [403, 403]

    def test_nothing_is_changed_by_looking(self, operator: Client) -> None:
        assert [operator.get(f"{PAGE}{what}/").status_code for what in ("upload", "import", "discard")] == [302] * 3

    def test_the_menu_has_it(self, operator: Client) -> None:
        assert f'href="{PAGE}"' in operator.get(PAGE).content.decode()
