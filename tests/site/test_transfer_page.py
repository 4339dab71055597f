"""Import in the admin, used like a person. For the export see ``test_export``."""

import io
import os
import re
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from memory.models import Edge, EdgeHistory
from memory.running import bootstrap
from resolution.admin.transfer import IMPORT_PERMISSIONS, UPLOAD_KEPT_S, folder
from resolution.models import Claim
from tests.arrange import facts, say
from tests.worlds import Login

pytestmark = pytest.mark.django_db

PAGE = "/admin/transfer/"
NEW = {"kind": "fact", "concept": "kvasir", "parent": "service", "dimension": "type", "is_isa": True}
OTHER = NEW | {"concept": "gnommoweb", "parent": "container"}
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


IMPORTING = tuple(permission.partition(".")[2] for permission in IMPORT_PERMISSIONS)


@pytest.fixture(scope="module")
def operator_login(standing: None) -> Login:
    return Login(person("hermione", *IMPORTING))


def file_of(*entries: dict[str, Any]) -> io.BytesIO:
    lines = [b'{"format":"festinger","version":2}', *map(orjson.dumps, entries)]
    file = io.BytesIO(b"\n".join(lines))
    file.name = "world.jsonl"
    return file


def post(client: Client, **fields: Any) -> str:
    return client.post(f"{PAGE}import/", fields, follow=True).content.decode()


def upload(client: Client, *entries: dict[str, Any]) -> str:
    """The page that shows what the file would come to."""
    return post(client, file=file_of(*entries))


def import_it(client: Client, page: str, **fields: str) -> str:
    """The page after the form of a preview was sent."""
    sent = dict(re.findall(r'type="hidden" name="(upload|name|previewed)" value="(.*?)"', page))
    return post(client, **sent | {"differences": sent["previewed"], "import": "true"} | fields)


def kept() -> list[Path]:
    return list(folder().iterdir())


@pytest.fixture(autouse=True)
def no_uploads() -> None:
    for file in kept():
        file.unlink()


class TestImport:
    def test_shows_what_would_come_and_changes_nothing_until_it_is_confirmed(self, operator: Client) -> None:
        page = upload(operator, NEW, OTHER)

        assert "Nothing has been changed yet" in page
        assert "<td>gnommoweb is a container [type] <span" in page
        assert "<td>gnommoweb is a repo [type] <span" in page
        assert facts() == {"gnommoweb isa repo type"}

        told = import_it(operator, page)

        assert "world.jsonl was imported: 1 fact: new; 1 fact: to be decided as a conflict" in told
        assert facts() == {"gnommoweb isa repo type", "kvasir isa service type"}
        assert str(Claim.objects.get()) == "gnommoweb [type]: repo or container"
        assert EdgeHistory.objects.get(concept__token="kvasir").actor == "hermione"
        assert kept() == []

    @pytest.mark.parametrize(
        ("choice", "outcome", "left"),
        [
            ("queue", "to be decided as a conflict", "repo"),
            ("keep", "left out: what is here is kept", "repo"),
            ("take", "in place of what is here, which goes to the history", "container"),
            ("nonsense", "to be decided as a conflict", "repo"),
        ],
    )
    def test_is_previewed_and_done_the_way_that_is_chosen(
        self, operator: Client, choice: str, outcome: str, left: str
    ) -> None:
        page = import_it(operator, upload(operator, OTHER), differences=choice)

        if choice in ("keep", "take"):  # which was not previewed
            assert "Nothing has been changed yet" in page
            assert f"<td>{outcome}</td>" in page
            assert f'value="{choice}" checked' in page
            assert facts() == {"gnommoweb isa repo type"}
            page = import_it(operator, page)

        assert "To the conflicts" in page or choice in ("keep", "take")
        assert facts() == {f"gnommoweb isa {left} type"}

    def test_is_previewed_again_on_request(self, operator: Client) -> None:
        page = upload(operator, NEW)
        say("kvasir isa service type")
        [key] = re.findall(r'name="upload" value="(\w+)"', page)

        assert "importing it would change nothing" in post(operator, upload=key, name="world.jsonl")

    def test_tells_mistakes_and_leaves_them_out_only_on_request(self, operator: Client) -> None:
        page = upload(operator, NEW, WRONG)
        assert "Glitch University" in page
        assert "must be a name such as glitch_university" in page

        assert "The file has a mistake; nothing was imported." in import_it(operator, page)
        assert not Edge.objects.filter(concept__token="kvasir").exists()

        import_it(operator, upload(operator, NEW, WRONG), skip_invalid="true")
        assert Edge.objects.filter(concept__token="kvasir").exists()

    def test_says_so_where_all_is_here_already(self, operator: Client) -> None:
        page = upload(operator, OTHER | {"parent": "repo"})

        assert "importing it would change nothing" in page
        assert "Everything in world.jsonl is already present; nothing was changed." in import_it(operator, page)

    def test_refuses_what_is_not_an_export(self, operator: Client) -> None:
        assert "The file is compressed (gzip): unpack it first." in post(operator, file=io.BytesIO(b"\x1f\x8b...."))
        assert kept() == []

    @pytest.mark.parametrize("key", ["", "0" * 32, "../uploads", "x" * 9_000])
    def test_without_a_file_says_what_to_do(self, operator: Client, key: str) -> None:
        assert "Choose a file first." in post(operator, upload=key)

    def test_done_twice_is_done_once(self, operator: Client) -> None:
        page = upload(operator, NEW)
        import_it(operator, page)

        assert "Choose a file first." in import_it(operator, page)
        assert EdgeHistory.objects.filter(concept__token="kvasir").count() == 1


class TestUploads:
    def test_are_for_the_server_only_and_go_after_a_day(self, operator: Client) -> None:
        upload(operator, NEW)
        [old] = kept()
        assert (old.stat().st_mode & 0o077, old.parent.stat().st_mode & 0o077) == (0, 0)
        os.utime(old, (time.time() - UPLOAD_KEPT_S - 60,) * 2)

        upload(operator, OTHER)

        assert len(kept()) == 1
        assert not old.exists()

    def test_of_an_account_are_nobody_elses(self, operator: Client, client: Client) -> None:
        page = upload(operator, NEW)
        client.force_login(User.objects.create_superuser("draco"))

        assert "Choose a file first." in import_it(client, page)
        assert not Edge.objects.filter(concept__token="kvasir").exists()


class TestWhoMay:
    def test_a_viewer_exports_and_imports_nothing(self) -> None:
        viewer = someone("view_edge", "view_decidedtriple")
        page = viewer.get(PAGE).content.decode()

        assert 'value="graph" checked' in page
        assert page.count("your account may not view all of it") == 2
        assert viewer.get(f"{PAGE}export/?extent=graph").status_code == 200
        assert "transfer-file" not in page
        assert viewer.post(f"{PAGE}import/").status_code == 403

    def test_who_may_not_see_all_that_is_in_an_export_gets_none(self) -> None:
        client = someone("view_edge", "add_edge")

        assert client.get(f"{PAGE}export/?extent=graph").status_code == 403
        assert "Your account may not export" in client.get(PAGE).content.decode()

    @pytest.mark.parametrize(
        ("missing", "got"),
        [("view_episode", [200, 200, 403]), ("view_memory", [200, 403, 403]), ("view_project", [200, 403, 403])],
    )
    def test_memories_and_episodes_are_exported_by_who_may_see_them(self, missing: str, got: list[int]) -> None:
        graph = {"view_edge", "view_decidedtriple"}
        client = someone(*graph | {"view_memory", "view_project", "view_projectstate", "view_episode"} - {missing})

        extents = ("graph", "memories", "episodes")
        assert [client.get(f"{PAGE}export/?extent={extent}").status_code for extent in extents] == got

    @pytest.mark.parametrize("missing", IMPORTING)
    def test_who_may_not_do_all_that_a_file_can_imports_none(self, missing: str) -> None:
        client = someone(*{*IMPORTING} - {missing})

        assert client.post(f"{PAGE}import/", {"file": file_of(NEW)}).status_code == 403
        assert facts() == {"gnommoweb isa repo type"}

    def test_operators_may_import(self) -> None:
        bootstrap.load_groups()
        user = User.objects.create_user("luna", is_staff=True)
        user.groups.set(Group.objects.filter(name=bootstrap.OPERATORS_GROUP))
        client = Client()
        client.force_login(user)

        import_it(client, upload(client, NEW))

        assert Edge.objects.filter(concept__token="kvasir").exists()

    def test_a_fact_of_a_file_is_shown_as_imported(self, operator: Client) -> None:
        import_it(operator, upload(operator, NEW | {"agent": "zero", "source": "gutask"}))
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
        assert operator.get(f"{PAGE}import/").status_code == 302

    def test_the_menu_has_it(self, operator: Client) -> None:
        assert f'href="{PAGE}"' in operator.get(PAGE).content.decode()
