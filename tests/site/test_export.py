"""The export of the admin: it reads in a transaction of its own, so that what it sends is committed here."""

import io
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient

from resolution import transfer
from resolution.admin import transfer as transfer_page
from resolution.transfer.lines import format_header
from tests.arrange import say

PAGE = "/admin/transfer/"


@pytest.fixture(autouse=True)
def standing(transactional_db: None) -> None:
    say("gnommoweb isa repo type", confidence=0.7)


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
        assert content.startswith(
            format_header(
                {"dimensions": 1, "concepts": 0, "aliases": 0, "facts": 1, "decided": 0}
                | {"projects": 0, "states": 0, "memories": 0}
            )
        )

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
            file = io.BytesIO(b"x" * (transfer_page.BYTES_AT_ONCE + 7))
            return [part async for part in transfer_page.FileParts(file)]

        assert list(map(len, async_to_sync(parts)())) == [transfer_page.BYTES_AT_ONCE, 7]

    def test_that_is_broken_off_leaves_no_file(self) -> None:
        client = AsyncClient()

        async def begin() -> Any:
            answer = await exported(client)
            await anext(aiter(answer.streaming_content))
            await sync_to_async(answer.close)()
            return answer

        answer = async_to_sync(begin)()

        assert answer.closed
        assert [file for file in (settings.HOME / "uploads").iterdir() if "." not in file.name] == []


def others_in_a_transaction() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND state = 'idle in transaction' AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])
