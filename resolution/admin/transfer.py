"""The page *Export and import*: downloads the graph and the memories; previews and imports an uploaded file."""

import asyncio
import re
import secrets
import tempfile
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_POST

from memory.admin.base import add_pages
from resolution import transfer
from resolution.admin.pages import actor_of
from resolution.transfer import Differences, ImportRefused, Report, UnreadableFile
from resolution.transfer.exporter import Extent

BYTES_AT_ONCE: Final = 256 * 1024
NAME_MAX: Final = 100  # characters of a file's name
UPLOAD_KEPT_S: Final = 24 * 3600.0
# An account must be allowed to view everything in an export.
OF_GRAPH: Final = ("memory.view_edge", "resolution.view_decidedtriple")
OF_MEMORIES: Final = (*OF_GRAPH, "memory.view_project", "memory.view_projectstate", "memory.view_memory")
EXPORT_PERMISSIONS: Final[dict[Extent, tuple[str, ...]]] = {
    "graph": OF_GRAPH,
    "memories": OF_MEMORIES,
    "episodes": (*OF_MEMORIES, "memory.view_episode"),
}
# A file does no more than its importer could do by hand, and a preview shows what it is compared with.
IMPORT_PERMISSIONS: Final = (
    *("memory.add_edge", "memory.delete_edge", "memory.change_soas", "memory.change_dimension"),
    *("resolution.change_conflict", "memory.add_project", "memory.add_projectstate", "memory.change_projectstate"),
    *("memory.add_memory", "memory.change_memory", *EXPORT_PERMISSIONS["episodes"]),
)
EXTENTS: Final[dict[Extent, tuple[str, str]]] = {
    "graph": ("The graph", "dimensions, facts, muted concepts and resolved statements"),
    "memories": (
        "The graph and the memories",
        "with their projects, what is settled for these, and whose each memory is",
    ),
    "episodes": ("The graph, the memories and the episodes", "all that is kept of conversations, word for word"),
}
CHOICES: Final[dict[Differences, str]] = {
    "queue": "become conflicts, to be decided one by one",
    "keep": "are left out: what is here is kept",
    "take": "replace what is here, which goes to the history",
}


def list_urls() -> list[URLPattern]:
    views = {
        "transfer/": ("resolution_transfer", overview),
        "transfer/export/": ("resolution_transfer_export", export),
        "transfer/import/": ("resolution_transfer_import", import_upload),
    }
    return [path(route, admin.site.admin_view(view), name=name) for route, (name, view) in views.items()]


def render(request: HttpRequest, **context: object) -> TemplateResponse:
    shown = admin.site.each_context(request) | {"title": "Export and import", "may_export": find_extent(request)}
    return TemplateResponse(request, "resolution/transfer.html", shown | context)


@require_GET
@permission_required("memory.view_edge", raise_exception=True)
def overview(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        may_import=request.user.has_perms(IMPORT_PERMISSIONS),
        extents=[
            (extent, *text, request.user.has_perms(EXPORT_PERMISSIONS[extent])) for extent, text in EXTENTS.items()
        ],
    )


# --- export ---


def find_extent(request: HttpRequest) -> Extent | None:
    """Return the largest extent that the account may export. Episodes are never included by default."""
    may: tuple[Extent, ...] = ("memories", "graph")
    return next((extent for extent in may if request.user.has_perms(EXPORT_PERMISSIONS[extent])), None)


@require_GET
def export(request: HttpRequest) -> StreamingHttpResponse:
    extent = request.GET.get("extent", "memories")
    if extent not in EXTENTS:
        raise SuspiciousOperation("no such extent")
    if not request.user.has_perms(EXPORT_PERMISSIONS[extent]):
        raise PermissionDenied
    # Write a file first: a slow client must not keep a transaction open.
    file = tempfile.TemporaryFile(dir=folder())  # noqa: SIM115  closed with the response
    file.writelines(transfer.export(extent=extent))
    file.seek(0)
    response = StreamingHttpResponse(FileParts(file), content_type="application/x-ndjson")
    name = f"festinger-{timezone.localtime():%Y-%m-%d-%H%M}.jsonl"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


class FileParts:
    """A file that is read in a thread, BYTES_AT_ONCE at a time. The response closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        # Nobody closes a response that is never sent, because the client has left already.
        self.close = weakref.finalize(self, file.close)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while part := await asyncio.to_thread(self._file.read, BYTES_AT_ONCE):
            yield part


# --- import ---


@require_POST
@permission_required(IMPORT_PERMISSIONS, raise_exception=True)
def import_upload(request: HttpRequest) -> HttpResponse:
    """Preview the uploaded file, or import it as it was previewed. The form that follows the preview names the file by
    its ``upload``."""
    # Import in this request, not in a worker: closing the browser does not stop it, and a worker may run on a machine
    # whose home does not have the file.
    fields, sent = request.POST, request.FILES.get("file")
    name = "".join(filter(str.isprintable, (sent.name if sent else fields.get("name")) or "file"))[-NAME_MAX:]
    key = secrets.token_hex(16) if sent else re.sub(r"[^0-9a-f]", "", fields.get("upload", ""))[:32]
    choice = fields.get("differences")
    differences: Differences = choice if choice in CHOICES else "queue"
    place = folder() / f"{request.user.pk}-{key}"
    if sent is not None:
        delete_old_uploads()
        place.touch(mode=0o600)
        with place.open("wb") as opened:
            opened.writelines(sent.chunks())
    try:
        with place.open("rb") as file:
            if "import" not in fields or fields.get("previewed") != differences:
                return render(
                    request, report=transfer.preview(file, differences), chosen=differences, choices=CHOICES.items(),
                    upload=key, name=name, size=place.stat().st_size,
                )  # fmt: skip
            report = transfer.import_file(
                file, actor_of(request), name=name, differences=differences, skip_invalid="skip_invalid" in fields
            )
    except FileNotFoundError:
        messages.error(request, "Choose a file first. What was uploaded is kept until it is imported, at most a day.")
    except (UnreadableFile, ImportRefused) as error:
        messages.error(request, str(error))
    else:
        announce(request, name, report)
    place.unlink(missing_ok=True)
    return redirect("admin:resolution_transfer")


def folder() -> Path:
    """Return the folder of files that wait to be imported."""
    place: Path = settings.HOME / "uploads"
    place.mkdir(mode=0o700, exist_ok=True)
    return place


def delete_old_uploads() -> None:
    for old in folder().iterdir():
        with suppress(FileNotFoundError):  # another request is deleting it, too
            if time.time() - old.stat().st_mtime > UPLOAD_KEPT_S:
                old.unlink()


def announce(request: HttpRequest, name: str, report: Report) -> None:
    """Report the result of an import."""
    if not report.changes:
        messages.info(request, f"Everything in {name} is already present; nothing was changed.")
        return
    text = f"{name} was imported: {'; '.join(f'{count} {what}: {which}' for count, what, which in report.summarize())}."
    if report.conflicts:
        address = reverse("admin:resolution_conflict_changelist")
        text = format_html('{} <a href="{}" class="underline">To the conflicts</a>', text, address)
    messages.success(request, text)


add_pages(list_urls)
