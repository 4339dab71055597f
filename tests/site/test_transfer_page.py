"""Export and import in the admin, used like a person."""

import asyncio
import io
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import AsyncClient, Client
from pytest_django import DjangoAssertNumQueries

from memory.models import Edge, EdgeHistory
from resolution import transfer
from resolution.admin import export
from resolution.admin import transfer as transfer_page
from resolution.models import Conflict
from resolution.transfer import uploads
from resolution.transfer.interchange import header
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
    return someone("view_edge", "add_edge", "delete_edge", "view_conflict", "view_decidedtriple")


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
    choice = fields.get("differences", "queue")
    sent = {"key": key, "differences": choice, "previewed": choice} | fields
    page = client.post(f"{PAGE}import/", sent, follow=True)
    return page.content.decode()


def key_of(client: Client) -> str:
    return str(client.session["transfer"]["key"])


def folder() -> Path:
    place: Path = settings.HOME / "uploads"
    return place


def kept() -> list[str]:
    return sorted(file.name for file in folder().iterdir())


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

    def test_does_nothing_that_was_not_looked_at_first(self, operator: Client) -> None:
        upload(operator, OTHER)

        told = import_it(operator, differences="take", previewed="queue")  # as after going back in a browser

        assert "the way you chose; nothing was imported yet" in told
        assert ">takes the place of what stands</span>" in told
        assert facts() == {"gnommoweb isa repo type"}

    def test_tells_how_far_it_is(self, operator: Client) -> None:
        def how_far() -> str:
            return operator.get(f"{PAGE}progress/").json()["progress"]

        assert how_far() == ""
        upload(operator, NEW)
        key = key_of(operator)
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
        key = key_of(operator)
        upload(operator, OTHER)

        told = operator.post(f"{PAGE}import/", {"key": key}, follow=True).content.decode()

        assert "Another file was uploaded since" in told
        assert facts() == {"gnommoweb isa repo type"}
        assert {name.partition(".")[0] for name in kept()} == {key_of(operator)}

    def test_without_a_file_says_what_to_do(self, operator: Client) -> None:
        assert "Choose a file first." in operator.post(f"{PAGE}upload/", follow=True).content.decode()

    def test_is_not_done_twice_at_once(self, operator: Client) -> None:
        upload(operator, NEW)

        with uploads.taken(key_of(operator)):
            assert "is being imported already" in import_it(operator)

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
        with uploads.taken(key_of(operator)):
            uploads.Progress(key_of(operator))("Placing", 150, 300)
            page = operator.get(PAGE).content.decode()
            state = operator.get(f"{PAGE}progress/").json()

        assert "This file is being imported." in page
        assert "Placing: 50%" in page
        assert 'data-transfer-waiting="importing"' in page
        assert not [text for text in ("Nothing has been changed", "Discard", "<form method") if text in main_of(page)]
        assert state == {"doing": "importing", "progress": "Placing: 50%"}
        assert operator.get(f"{PAGE}progress/").json() == {"doing": "", "progress": ""}

    def test_its_file_is_not_discarded(self, operator: Client) -> None:
        with uploads.taken(key_of(operator)):
            page = operator.post(f"{PAGE}discard/", follow=True).content.decode()

        assert "is being imported already. It cannot be discarded." in page
        assert "nothing was imported" not in page
        assert key_of(operator) in kept()

    def test_its_file_is_not_replaced_by_another(self, operator: Client) -> None:
        before = key_of(operator)

        with uploads.taken(before):
            page = upload(operator, OTHER)

        assert "is being imported: wait until that is done" in page
        assert key_of(operator) == before
        assert {name.partition(".")[0] for name in kept()} == {before}

    def test_what_it_came_to_is_told_once_to_who_comes_back(self, operator: Client) -> None:
        operator.post(f"{PAGE}import/", {"key": key_of(operator), "previewed": "queue"})  # and its answer is lost

        assert "world.jsonl was imported: 1 fact: new" in operator.get(PAGE).content.decode()
        assert "was imported" not in operator.get(PAGE).content.decode()
        assert kept() == []

    def test_who_discards_it_too_late_is_told_what_it_came_to(self, operator: Client) -> None:
        operator.post(f"{PAGE}import/", {"key": key_of(operator), "previewed": "queue"})

        page = operator.post(f"{PAGE}discard/", follow=True).content.decode()

        assert "world.jsonl was imported: 1 fact: new" in page
        assert "nothing was imported" not in page

    def test_one_that_died_is_not_under_way(self, operator: Client) -> None:
        uploads.note(key_of(operator), uploads.PROGRESS, b"Placing: 50%")

        page = operator.get(PAGE).content.decode()

        assert "Nothing has been changed yet" in page
        assert "Discard the file" in page


def main_of(page: str) -> str:
    """Without the menu, which has forms of its own."""
    return page[page.index('class="fst-stack"') :].partition("<script")[0]


class TestLooking:
    def test_is_done_once_until_it_is_asked_for_again(self, operator: Client) -> None:
        upload(operator, NEW)
        say("kvasir isa service type")

        assert "importing it would change nothing" not in operator.get(PAGE).content.decode()

        again = operator.get(PAGE, {"differences": "queue", "again": "1"}, follow=True)
        assert "importing it would change nothing" in again.content.decode()
        assert again.redirect_chain == [(f"{PAGE}?differences=queue", 302)]

    def test_is_done_again_when_it_was_long_ago(self, operator: Client) -> None:
        upload(operator, NEW)
        say("kvasir isa service type")
        make_old(folder() / f"{key_of(operator)}.report-queue", transfer_page.YOUNG_S + 60)

        assert "importing it would change nothing" in operator.get(PAGE).content.decode()

    def test_says_as_of_when(self, operator: Client) -> None:
        assert 'again=1" data-transfer-again>Look again</a>' in upload(operator, NEW)
        assert "As of <time" in operator.get(PAGE).content.decode()

    def test_is_done_by_one_at_a_time(self, operator: Client) -> None:
        upload(operator, OTHER)

        with uploads.looked_at(key_of(operator)):
            seen = operator.get(PAGE, {"differences": "queue"}).content.decode()
            unseen = operator.get(PAGE, {"differences": "take"}).content.decode()
            state = operator.get(f"{PAGE}progress/").json()

        assert "becomes a conflict" in seen
        assert "This file is being looked at already." in unseen
        assert 'data-transfer-waiting="looking"' in unseen
        assert state["doing"] == "looking"
        assert "takes the place of what stands" in operator.get(PAGE, {"differences": "take"}).content.decode()

    def test_keeps_nobody_from_importing_or_discarding(self, operator: Client) -> None:
        upload(operator, NEW)
        with uploads.looked_at(key_of(operator)):
            assert "was imported" in import_it(operator)

        upload(operator, OTHER)
        with uploads.looked_at(key_of(operator)):
            assert "was discarded" in operator.post(f"{PAGE}discard/", follow=True).content.decode()
        assert kept() == []

    def test_leaves_no_report_of_a_file_that_was_discarded_meanwhile(self, operator: Client) -> None:
        upload(operator, NEW)
        key = key_of(operator)
        uploads.discard(key)

        uploads.note(key, "report-queue", b"{}")

        assert kept() == []

    def test_is_done_again_where_the_report_is_of_another_version(self, operator: Client) -> None:
        upload(operator, NEW)
        uploads.note(key_of(operator), "report-queue", b'{"facts":{"new":7},"mood":"good"}')

        assert '<td class="transfer-count">1</td><th scope="row">fact</th>' in operator.get(PAGE).content.decode()


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
        assert kept() == []

    def test_that_are_unfinished_go_after_an_hour(self, operator: Client) -> None:
        part = {"at": "0", "more": "true"}
        keys = [operator.post(f"{PAGE}upload/", part | {"file": io.BytesIO(b"x")}).json()["key"] for _ in range(2)]
        upload(operator, NEW)
        make_old(folder() / f"{keys[0]}.unfinished", uploads.UNFINISHED_KEPT_S + 60)
        make_old(folder() / key_of(operator), uploads.UNFINISHED_KEPT_S + 60)

        begun = uploads.begin()

        left = {name for name in kept() if name.endswith(".unfinished") or "." not in name}
        assert left == {f"{keys[1]}.unfinished", key_of(operator), f"{begun}.unfinished"}

    def test_for_which_there_is_no_room_are_refused_with_what_frees_it(
        self, operator: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        upload(operator, NEW)
        monkeypatch.setattr(uploads, "ALL_BYTES_MAX", 10)

        page = upload(operator, NEW)

        assert "there is no room for another" in page
        assert "manage.py import_graph needs no such room" in page

    @pytest.mark.parametrize("key", ["../secret_key", "x" * 32, "", "a/b"])
    def test_have_keys_that_name_nothing_else(self, key: str) -> None:
        with pytest.raises(uploads.UploadError), uploads.taken(key):
            pass

    def test_are_for_their_owner_only_and_go_after_a_day(self, operator: Client) -> None:
        upload(operator, NEW)
        old = folder() / key_of(operator)
        assert (old.stat().st_mode & 0o077, old.parent.stat().st_mode & 0o077) == (0, 0)
        make_old(old, 2 * uploads.KEPT_S)

        begun = uploads.begin()

        assert kept() == [f"{begun}.unfinished"]
        assert "no longer here" in operator.get(PAGE).content.decode()

    def test_of_a_session_are_nobody_elses(self, operator: Client, client: Client) -> None:
        upload(operator, NEW)
        client.force_login(User.objects.create_superuser("draco"))

        assert "world.jsonl" not in client.get(PAGE).content.decode()


class TestWhoMay:
    def test_a_viewer_exports_and_imports_nothing(self) -> None:
        viewer = someone("view_edge", "view_conflict", "view_decidedtriple")
        page = viewer.get(PAGE).content.decode()

        assert "Download the world" in page
        assert "transfer-file" not in page
        assert [viewer.post(f"{PAGE}{what}/").status_code for what in ("upload", "import", "discard")] == [403] * 3
        assert viewer.get(f"{PAGE}progress/").status_code == 403

    @pytest.mark.parametrize("missing", ["view_conflict", "view_decidedtriple"])
    def test_who_may_not_see_all_that_is_in_an_export_gets_none(self, missing: str) -> None:
        client = someone(*{"view_edge", "add_edge", "view_conflict", "view_decidedtriple"} - {missing})
        page = client.get(PAGE).content.decode()

        assert client.get(f"{PAGE}export/").status_code == 403
        assert "Download the world" not in page + upload(client, NEW)
        assert "Your account may not export" in page

    def test_who_may_not_retire_lets_no_file_take_a_place(self) -> None:
        client = someone("view_edge", "add_edge")
        assert "your account may not retire facts" in upload(client, OTHER)

        key = key_of(client)
        answer = client.post(f"{PAGE}import/", {"key": key, "differences": "take"})

        assert (answer.status_code, facts()) == (403, {"gnommoweb isa repo type"})

    def test_who_may_not_look_sees_nothing(self) -> None:
        client = someone("view_soas")

        assert [client.get(path).status_code for path in (PAGE, f"{PAGE}export/")] == [403, 403]

    def test_nothing_is_changed_by_looking(self, operator: Client) -> None:
        assert [operator.get(f"{PAGE}{what}/").status_code for what in ("upload", "import", "discard")] == [302] * 3

    def test_the_menu_has_it(self, operator: Client) -> None:
        assert f'href="{PAGE}"' in operator.get(PAGE).content.decode()


def test_the_page_opens_within_few_queries(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(12):
        assert operator.get(PAGE).status_code == 200


async def exported(client: AsyncClient) -> Any:
    """The answer to a superuser, of which nothing is read yet."""
    await client.aforce_login(await User.objects.acreate_superuser("hermione"))
    return await client.get(f"{PAGE}export/")


@pytest.mark.django_db(transaction=True)
class TestExport:
    def test_is_streamed_with_a_name_and_the_same_as_the_commands(self) -> None:
        client = AsyncClient()

        async def download() -> tuple[Any, bytes]:
            answer = await exported(client)
            return answer, b"".join([part async for part in answer.streaming_content])

        answer, content = async_to_sync(download)()

        assert answer.headers["Content-Disposition"].startswith('attachment; filename="festinger-2')
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        assert content == b"".join(transfer.export())
        assert content.startswith(header({"dimensions": 1, "muted": 0, "facts": 1, "decided": 0, "conflicts": 0}))

    def test_whose_client_is_slow_keeps_no_transaction_open(self) -> None:
        client = AsyncClient()

        async def begin() -> int:
            parts = aiter((await exported(client)).streaming_content)
            await anext(parts)
            open_now = await sync_to_async(others_in_a_transaction)()
            await parts.aclose()
            return open_now

        assert async_to_sync(begin)() == 0

    def test_of_any_size_comes_in_bounded_parts(self) -> None:
        async def parts() -> list[bytes]:
            written = [b"x" * export.BYTES_AT_ONCE, b"y" * 7]
            return [part async for part in export.streamed(lambda: (each for each in written))]

        assert list(map(len, async_to_sync(parts)())) == [export.BYTES_AT_ONCE, 7]

    def test_whose_client_leaves_while_it_is_written_ends(self) -> None:
        begun, ended = threading.Event(), threading.Event()

        def endless() -> Iterator[bytes]:
            try:
                while True:
                    begun.set()
                    yield b"x"
            finally:
                ended.set()

        async def leave() -> None:
            waiting = asyncio.ensure_future(anext(export.streamed(endless)))
            await asyncio.to_thread(begun.wait, 10)
            waiting.cancel()
            await asyncio.wait([waiting])

        async_to_sync(leave)()

        assert ended.wait(10)

    def test_that_is_broken_off_lets_its_connection_go(self) -> None:
        client = AsyncClient()

        async def begin() -> bytes:
            parts = aiter((await exported(client)).streaming_content)
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
