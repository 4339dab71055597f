"""The world as a download."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, Final

from django.core.exceptions import PermissionDenied
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from resolution import transfer
from resolution.transfer import uploads

CONTENT_TYPE: Final = "application/x-ndjson"
BYTES_AT_ONCE: Final = 256 * 1024
# All that is in the file.
PERMISSIONS: Final = ("memory.view_edge", "resolution.view_conflict", "resolution.view_decidedtriple")


@require_GET
def export(request: HttpRequest) -> StreamingHttpResponse:
    if not request.user.has_perms(PERMISSIONS):
        raise PermissionDenied
    answer = StreamingHttpResponse(streamed(transfer.export), content_type=CONTENT_TYPE)
    name = f"festinger-{timezone.localtime():%Y-%m-%d-%H%M}.jsonl"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


async def streamed(made: Callable[[], Iterator[bytes]]) -> AsyncIterator[bytes]:
    """The parts, which are written to a file first: a client that is slow to take them keeps no snapshot of the
    database open. All in a thread of their own, which has a connection of its own; a client that leaves ends it."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "export")
    parts, file = made(), uploads.nameless()
    try:
        while await loop.run_in_executor(thread, _write_next, parts, file):
            pass
        await loop.run_in_executor(thread, _rewind, file)
        while some := await loop.run_in_executor(thread, file.read, BYTES_AT_ONCE):
            yield some
    finally:
        thread.submit(_close, parts, file)
        thread.shutdown(wait=False)


def _write_next(parts: Iterator[bytes], file: BinaryIO) -> int:
    """How much there was to write."""
    return file.write(next(parts, b""))


def _rewind(file: BinaryIO) -> None:
    connections.close_all()
    file.seek(0)


def _close(parts: Any, file: BinaryIO) -> None:
    with file:  # it closes also where the database is gone
        parts.close()
        connections.close_all()
