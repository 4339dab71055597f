"""Export and import in the admin, used like a person."""

import io
import os
import time
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import AsyncClient, Client
from pytest_django import DjangoAssertNumQueries

from memory.models import Edge, EdgeHistory
from resolution import transfer, uploads
from resolution.admin import transfer as transfer_page
from resolution.domain.interchange import header
from resolution.models import Conflict
from tests.resolution.worlds import facts, say
from tests.waiting import eventually

pytestmark = pytest.mark.django_db

PAGE = "/admin/transfer/"
NEW = {"kind": "fact", "concept": "kvasir", "parent": "service", "dimension": "type", "is_isa": True}
OTHER = NEW | {"concept": "gnommoweb", "parent": "container"}
WRONG = {"kind": "fact", "concept": "Glitch University"}


@pytest.fixture(autouse=True)
def standing() -> None:
    say("gnommoweb isa repo type", confidence=0.7)


def someone(*permissions: str) -> Client:
    user = User.objects.create_user("hermione", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator() -> Client:
    return someone("view_edge", "add_edge", "delete_edge")


def file_of(*entries: dict[str, Any]) -> io.BytesIO:
    lines = [b'{"format":"festinger","version":1}', *map(orjson.dumps, entries)]
    file = io.BytesIO(b"\n".join(lines))
    file.name = "world.jsonl"
    return file


def upload(client: Client, *entries: dict[str, Any]) -> str:
    """The page that shows what the file would come to."""
    return client.post(f"{PAGE}upload/", {"file": file_of(*entries)}, follow=True).content.decode()


def import_it(client: Client, **fields: str) -> str:
    key = client.session["transfer"]["key"]
    page = client.post(f"{PAGE}import/", {"key": key, "differences": "queue"} | fields, follow=True)
    return page.content.decode()


def kept() -> list[str]:
    return sorted(file.name for file in (settings.HOME / "uploads").iterdir())


@pytest.fixture(autouse=True)
def no_uploads() -> None:
    for file in (settings.HOME / "uploads").glob("*"):
        file.unlink()


class TestImport:
    def test_shows_what_would_come_and_changes_nothing_until_it_is_confirmed(self, operator: Client) -> None:
        page = upload(operator, NEW, OTHER)

        assert "Nothing has been changed yet" in page
        assert "<b>container</b>" in page
        assert "<b>repo</b>" in page
        assert facts() == {"gnommoweb isa repo type"}

        told = import_it(operator)

        assert "world.jsonl was imported: 1 fact: new; 1 fact: in contradiction to what stands" in told
        assert facts() == {"gnommoweb isa repo type", "kvasir isa service type"}
        assert str(Conflict.objects.get()) == "gnommoweb [type]: repo or container"
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
            ("keep", "is left out: what stands is kept"),
            ("take", "takes the place of what stands"),
            ("nonsense", "becomes a conflict"),
        ],
    )
    def test_shows_what_would_come_the_way_that_is_chosen(self, operator: Client, choice: str, outcome: str) -> None:
        upload(operator, OTHER)

        page = operator.get(PAGE, {"differences": choice}).content.decode()

        assert f">{outcome}</span>" in page
        assert f'value="{choice if choice in transfer_page.CHOICES else "queue"}" checked' in page

    def test_tells_how_far_it_is(self, operator: Client) -> None:
        def how_far() -> str:
            return operator.get(f"{PAGE}progress/").json()["progress"]

        assert how_far() == ""
        upload(operator, NEW)
        key = operator.session["transfer"]["key"]
        assert how_far() == ""

        tell = uploads.Progress(key)
        tell("Placing", 150, 300)
        tell("Placing", 151, 300)  # at once: told later
        assert how_far() == "Placing: 50%"

        import_it(operator)
        assert how_far() == ""
        assert kept() == []

    def test_tells_mistakes_and_leaves_them_out_only_on_request(self, operator: Client) -> None:
        page = upload(operator, NEW, WRONG)
        assert "Glitch University" in page
        assert "is a name such as glitch_university" in page

        assert "The file has a mistake; nothing was imported." in import_it(operator)
        assert not Edge.objects.filter(concept__token="kvasir").exists()

        import_it(operator, skip_invalid="true")
        assert Edge.objects.filter(concept__token="kvasir").exists()

    def test_says_so_where_all_is_here_already(self, operator: Client) -> None:
        page = upload(operator, OTHER | {"parent": "repo"})

        assert "importing it would change nothing" in page
        assert "All of world.jsonl is here already; nothing was changed." in import_it(operator)

    def test_refuses_what_is_no_world(self, operator: Client) -> None:
        file = io.BytesIO(b"\x1f\x8b....")
        page = operator.post(f"{PAGE}upload/", {"file": file}, follow=True).content.decode()

        assert "The file is compressed (gzip): unpack it first." in page
        assert "The file is compressed (gzip): unpack it first." in import_it(operator)

    def test_of_another_file_than_was_looked_at_is_refused(self, operator: Client) -> None:
        upload(operator, NEW)
        key = operator.session["transfer"]["key"]
        upload(operator, OTHER)

        told = operator.post(f"{PAGE}import/", {"key": key}, follow=True).content.decode()

        assert "Another file was uploaded since" in told
        assert facts() == {"gnommoweb isa repo type"}
        assert len(kept()) == 1

    def test_without_a_file_says_what_to_do(self, operator: Client) -> None:
        assert "Choose a file first." in operator.post(f"{PAGE}upload/", follow=True).content.decode()

    def test_is_not_done_twice_at_once(self, operator: Client) -> None:
        upload(operator, NEW)

        with uploads.taken(operator.session["transfer"]["key"]):
            assert "is being imported already" in import_it(operator)

        assert not Edge.objects.filter(concept__token="kvasir").exists()

    def test_is_given_up_and_the_file_goes(self, operator: Client) -> None:
        upload(operator, NEW)

        page = operator.post(f"{PAGE}discard/", follow=True).content.decode()

        assert "was discarded; nothing was imported" in page
        assert kept() == []


class TestUploads:
    def test_come_in_parts(self, operator: Client) -> None:
        content = file_of(NEW).getvalue()
        first = {"file": io.BytesIO(content[:50]), "at": "0", "more": "true", "name": "big.jsonl"}
        key = operator.post(f"{PAGE}upload/", first).json()["key"]

        last = {"file": io.BytesIO(content[50:]), "at": "50", "more": "false", "name": "big.jsonl", "key": key}
        assert operator.post(f"{PAGE}upload/", last).json() == {"key": key}

        assert "big.jsonl" in operator.get(PAGE).content.decode()
        assert "big.jsonl was imported: 1 fact: new" in import_it(operator)

    def test_with_a_part_missing_are_refused(self, operator: Client) -> None:
        key = operator.post(f"{PAGE}upload/", {"file": io.BytesIO(b"x"), "at": "0", "more": "true"}).json()["key"]

        answer = operator.post(f"{PAGE}upload/", {"file": io.BytesIO(b"x"), "at": "7", "key": key})

        assert (answer.status_code, "is missing" in answer.json()["error"]) == (409, True)

    def test_too_large_are_refused_with_the_way_out(self, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(uploads, "BYTES_MAX", 10)

        assert "Larger ones take manage.py import_graph" in upload(operator, NEW)

    @pytest.mark.parametrize("key", ["../secret_key", "x" * 32, "", "a/b"])
    def test_have_keys_that_name_nothing_else(self, key: str) -> None:
        with pytest.raises(uploads.UploadError), uploads.opened(key):
            pass

    def test_are_for_their_owner_only_and_go_after_a_day(self, operator: Client) -> None:
        upload(operator, NEW)
        (old,) = (settings.HOME / "uploads").iterdir()
        assert (old.stat().st_mode & 0o077, old.parent.stat().st_mode & 0o077) == (0, 0)
        os.utime(old, (time.time() - 2 * uploads.KEPT_S,) * 2)

        uploads.begin()

        assert not old.exists()
        assert "no longer here" in operator.get(PAGE).content.decode()

    def test_of_a_session_are_nobody_elses(self, operator: Client, client: Client) -> None:
        upload(operator, NEW)
        client.force_login(User.objects.create_superuser("draco"))

        assert "world.jsonl" not in client.get(PAGE).content.decode()


class TestWhoMay:
    def test_a_viewer_exports_and_imports_nothing(self) -> None:
        viewer = someone("view_edge")
        page = viewer.get(PAGE).content.decode()

        assert "Download the world" in page
        assert "transfer-file" not in page
        assert [viewer.post(f"{PAGE}{what}/").status_code for what in ("upload", "import", "discard")] == [403] * 3
        assert viewer.get(f"{PAGE}progress/").status_code == 403

    def test_who_may_not_retire_lets_no_file_take_a_place(self) -> None:
        client = someone("view_edge", "add_edge")
        assert "your account may not retire facts" in upload(client, OTHER)

        key = client.session["transfer"]["key"]
        answer = client.post(f"{PAGE}import/", {"key": key, "differences": "take"})

        assert (answer.status_code, facts()) == (403, {"gnommoweb isa repo type"})

    def test_who_may_not_look_sees_nothing(self) -> None:
        client = someone("view_soas")

        assert [client.get(path).status_code for path in (PAGE, f"{PAGE}export/")] == [403, 403]

    def test_nothing_is_changed_by_looking(self, operator: Client) -> None:
        assert [operator.get(f"{PAGE}{what}/").status_code for what in ("upload", "import", "discard")] == [405] * 3

    def test_the_menu_has_it(self, operator: Client) -> None:
        assert f'href="{PAGE}"' in operator.get(PAGE).content.decode()


def test_the_page_opens_within_few_queries(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(12):
        assert operator.get(PAGE).status_code == 200


@pytest.mark.django_db(transaction=True)
class TestExport:
    def test_is_streamed_with_a_name_and_the_same_as_the_commands(self) -> None:
        client = AsyncClient()
        user = User.objects.create_superuser("hermione")

        async def download() -> tuple[Any, bytes]:
            await client.aforce_login(user)
            answer = await client.get(f"{PAGE}export/")
            return answer, b"".join([part async for part in answer.streaming_content])

        answer, content = async_to_sync(download)()

        assert answer.headers["Content-Disposition"].startswith('attachment; filename="festinger-2')
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        assert content == b"".join(transfer.export())
        assert content.startswith(header({"dimensions": 1, "muted": 0, "facts": 1, "decided": 0, "conflicts": 0}))

    def test_that_is_broken_off_lets_its_connection_go(self) -> None:
        client = AsyncClient()
        user = User.objects.create_superuser("hermione")

        async def begin() -> bytes:
            await client.aforce_login(user)
            answer = await client.get(f"{PAGE}export/")
            parts = aiter(answer.streaming_content)
            first: bytes = await anext(parts)
            await parts.aclose()
            return first

        assert async_to_sync(begin)().startswith(b'{"format":"festinger"')
        assert eventually(lambda: others_in_a_transaction() == 0, within_s=20)


def others_in_a_transaction() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND state = 'idle in transaction' AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])
