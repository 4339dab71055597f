"""The page *Export and import*: downloads the graph and the memories; previews and imports an uploaded file."""

import asyncio
import tempfile
import weakref
from collections.abc import AsyncIterator
from typing import BinaryIO, Final

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_POST

from memory.admin.base import add_pages
from resolution import transfer
from resolution.admin.pages import actor_of
from resolution.transfer import Differences, ImportRefused, NotPermitted, Report, UnreadableFile
from resolution.transfer.exporter import Extent
from resolution.transfer.uploads import Busy, Upload, folder

CONTENT_TYPE: Final = "application/x-ndjson"
BYTES_AT_ONCE: Final = 256 * 1024
NAME_MAX: Final = 100  # characters of a file's name
# An account must be allowed to view everything in an export.
OF_GRAPH: Final = ("memory.view_edge", "resolution.view_decidedtriple")
OF_MEMORIES: Final = (*OF_GRAPH, "memory.view_project", "memory.view_projectstate", "memory.view_memory")
EXPORT_PERMISSIONS: Final[dict[Extent, tuple[str, ...]]] = {
    "graph": OF_GRAPH,
    "memories": OF_MEMORIES,
    "episodes": (*OF_MEMORIES, "memory.view_episode"),
}
EXTENTS: Final[dict[Extent, tuple[str, str]]] = {
    "graph": ("The graph", "dimensions, facts, muted concepts and decided triples"),
    "memories": (
        "The graph and the memories",
        "with their projects, what is settled for these, and whose each memory is",
    ),
    "episodes": ("The graph, the memories and the episodes", "all that is kept of conversations, word for word"),
}
CHOICES: Final[dict[str, str]] = {
    "queue": "become conflicts, to be decided one by one",
    "keep": "are left out: what is here is kept",
    "take": "replace what is here, which goes to the history",
}
# The outcome of a contradiction in words, and the colour of its badge.
OUTCOMES: Final = {
    "different": ("becomes a conflict", "warn"),
    "ring": ("becomes a conflict: it would close a cycle", "warn"),
    "taken": ("replaces the existing fact", "info"),
    "kept": ("is left out: the existing fact is kept", ""),
    "outdated": ("is left out: it is older, and the newer one wins here", ""),
    "decided": ("is left out: decided about before", ""),
    "disputed": ("becomes a conflict: both are disputed", "warn"),
}


def list_urls() -> list[URLPattern]:
    views = {
        "transfer/": ("resolution_transfer", overview),
        "transfer/export/": ("resolution_transfer_export", export),
        "transfer/upload/": ("resolution_transfer_upload", upload),
        "transfer/import/": ("resolution_transfer_import", import_upload),
        "transfer/progress/": ("resolution_transfer_progress", progress),
        "transfer/discard/": ("resolution_transfer_discard", discard),
    }
    return [path(route, admin.site.admin_view(view), name=name) for route, (name, view) in views.items()]


def upload_of(request: HttpRequest) -> Upload:
    assert request.user.pk is not None  # only stored accounts have permissions
    return Upload(request.user.pk)


# --- the page ---


@require_GET
@permission_required("memory.view_edge", raise_exception=True)
def overview(request: HttpRequest) -> HttpResponse:
    """Show export and upload; once a file is uploaded, its preview or the progress of its import."""
    uploaded, may_import = upload_of(request), request.user.has_perm("memory.add_edge")
    context = admin.site.each_context(request) | {
        "title": "Export and import",
        "extents": [
            (extent, *text, request.user.has_perms(EXPORT_PERMISSIONS[extent])) for extent, text in EXTENTS.items()
        ],
        "may_export": find_extent(request),
    }
    if (done := uploaded.progress) is not None:
        context |= {"upload": uploaded, "progress": done}
    elif (outcome := uploaded.pop_outcome()) is not None:
        announce(request, uploaded.name, outcome)
    elif uploaded.key and may_import:
        differences, anew = read_choice(request.GET), "again" in request.GET
        try:
            report = uploaded.preview(differences, anew=anew, may=request.user.has_perm)
        except (UnreadableFile, NotPermitted) as error:
            context |= {"upload": uploaded, "unreadable": str(error)}
        else:
            if anew:  # redirect, so that a reload does not make the preview again
                return redirect(f"{reverse('admin:resolution_transfer')}?differences={differences}")
            context |= {
                "upload": uploaded,
                "chosen": differences,
                "report": report,
                "choices": CHOICES.items(),
                "more_differences": report.differing - len(report.differences),
                "more_mistakes": report.mistakes_count - len(report.mistakes),
                "differences": [(each, *OUTCOMES[each.outcome]) for each in report.differences],
                "memory_differences": [(each, *OUTCOMES[each.outcome]) for each in report.memory_differences],
                "more_memories": report.contradicting_memories - len(report.memory_differences),
            }
    return TemplateResponse(request, "resolution/transfer.html", context)


def read_choice(fields: QueryDict) -> Differences:
    """Return what to do with contradictions; by default each becomes a conflict."""
    choice = fields.get("differences")
    return choice if choice in CHOICES else "queue"  # type: ignore[return-value]  # one of them


def announce(request: HttpRequest, name: str, report: Report) -> None:
    """Report the result of an import."""
    if not report.changes:
        messages.info(request, f"Everything in {name} is already here; nothing was changed.")
        return
    text = f"{name} was imported: {'; '.join(f'{count} {what}: {which}' for count, what, which in report.summarize())}."
    if report.queued + report.memories["disputed"]:
        address = reverse("admin:resolution_conflict_changelist")
        text = format_html('{} <a href="{}" class="underline">To the conflicts</a>', text, address)
    messages.success(request, text)


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
    response = StreamingHttpResponse(FileParts(file), content_type=CONTENT_TYPE)
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

for_importers = permission_required("memory.add_edge", raise_exception=True)


@require_POST
@for_importers
def upload(request: HttpRequest) -> HttpResponse:
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, "Choose a file first.")
        return redirect("admin:resolution_transfer")
    try:
        upload_of(request).save(file.chunks(), "".join(filter(str.isprintable, file.name or ""))[-NAME_MAX:])
    except Busy:
        messages.error(request, "The file that you uploaded before is being imported: wait until that is done.")
    return redirect("admin:resolution_transfer")


@require_POST
@for_importers
def discard(request: HttpRequest) -> HttpResponse:
    try:
        if upload_of(request).discard():
            messages.success(request, "The uploaded file was discarded; nothing was imported.")
    except Busy as error:
        messages.error(request, f"{error} It cannot be discarded.")
    return redirect("admin:resolution_transfer")  # which reports an import that finished meanwhile


@require_POST
@for_importers
def import_upload(request: HttpRequest) -> HttpResponse:
    """Import the file as previewed."""
    # Import in this request, not in a worker: closing the browser does not stop it, and a worker may run on a machine
    # whose home does not have the file.
    uploaded, differences = upload_of(request), read_choice(request.POST)
    if differences == "take" and not request.user.has_perm("memory.delete_edge"):
        raise PermissionDenied
    if request.POST.get("differences", "queue") not in CHOICES:
        messages.error(request, "Choose what becomes of contradictions; nothing was imported.")
    elif not uploaded.key or request.POST.get("key") != uploaded.key:
        messages.error(request, "Another file was uploaded since, or none. Preview it again; nothing was imported.")
    elif request.POST.get("previewed") != differences:
        messages.info(request, "This is the preview for what you chose; nothing was imported yet.")
        return redirect(f"{reverse('admin:resolution_transfer')}?differences={differences}")
    else:
        try:
            skip_invalid = request.POST.get("skip_invalid") == "true"
            may = request.user.has_perm
            uploaded.import_it(actor_of(request), differences, skip_invalid=skip_invalid, may=may)
        except (UnreadableFile, ImportRefused, NotPermitted, Busy) as error:
            messages.error(request, str(error))
    return redirect("admin:resolution_transfer")  # which reports the import


@require_GET
@for_importers
def progress(request: HttpRequest) -> JsonResponse:
    """Return the progress of the account's import as JSON, or null if there is none."""
    return JsonResponse({"progress": upload_of(request).progress})


add_pages(list_urls)
