"""The page on which the world is exported, and a file is looked at and imported."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import connections
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_POST

from resolution import transfer, uploads
from resolution.admin.acting import actor_of
from resolution.transfer import Differences, Refused, Report, Unreadable
from resolution.uploads import UploadError

SESSION: Final = "transfer"  # where a session keeps the key and the name of what it has uploaded
NAME_MAX: Final = 100  # characters of a file's name
CONTENT_TYPE: Final = "application/x-ndjson"
# What becomes of facts that contradict what stands: as the operator chooses.
CHOICES: Final[dict[str, str]] = {
    "queue": "become conflicts, to be decided one by one",
    "keep": "are left out: what stands is kept",
    "take": "take the place of what stands, which goes into the history",
}
# What becomes of one such fact, and the colour of it.
OUTCOMES: Final = {
    "different": ("becomes a conflict", "warn"),
    "ring": ("becomes a conflict: it would close a ring", "warn"),
    "taken": ("takes the place of what stands", "info"),
    "kept": ("is left out: what stands is kept", ""),
    "outdated": ("is left out: it is older, and the newer wins here", ""),
    "decided": ("is left out: decided about before", ""),
}


def extra_urls() -> list[URLPattern]:
    """What Unfold's site adds to the admin's own."""
    views = {
        "transfer/": ("resolution_transfer", overview),
        "transfer/export/": ("resolution_transfer_export", export),
        "transfer/upload/": ("resolution_transfer_upload", upload),
        "transfer/import/": ("resolution_transfer_import", take_in),
        "transfer/progress/": ("resolution_transfer_progress", progress),
        "transfer/discard/": ("resolution_transfer_discard", discard),
    }
    return [path(route, admin.site.admin_view(view), name=name) for route, (name, view) in views.items()]


def allowed(request: HttpRequest, permission: str) -> None:
    if not request.user.has_perm(f"memory.{permission}"):
        raise PermissionDenied


@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    """Export and upload; or, once there is a file, what it would come to."""
    allowed(request, "view_edge")
    context = admin.site.each_context(request) | {
        "title": "Export and import",
        "may_import": request.user.has_perm("memory.add_edge"),
        "may_take": request.user.has_perm("memory.delete_edge"),
        "mib_max": uploads.BYTES_MAX // 1024**2,
    }
    kept = request.session.get(SESSION)
    if kept and context["may_import"]:
        context |= look(kept, chosen(request.GET))
    return TemplateResponse(request, "resolution/transfer.html", context)


def chosen(fields: QueryDict) -> Differences:
    """What is to become of contradictions; a conflict each, unless the operator chose otherwise."""
    choice = fields.get("differences")
    return choice if choice in CHOICES else "queue"  # type: ignore[return-value]  # one of them


def look(kept: dict[str, Any], differences: Differences) -> dict[str, Any]:
    """What the template shows of an uploaded file."""
    try:
        with uploads.opened(kept["key"]) as file:
            report = transfer.rehearse(file, differences)
    except Unreadable as error:
        return {"upload": kept, "unreadable": str(error)}
    except UploadError as error:
        return {"gone": str(error)}
    return {
        "upload": kept,
        "report": report,
        "account": transfer.account(report),
        "chosen": differences,
        "choices": CHOICES.items(),
        "more_differences": report.differing - len(report.differences),
        "more_mistakes": report.mistakes_count - len(report.mistakes),
        "differences": [(each, *OUTCOMES[each.outcome]) for each in report.differences],
    }


# --- export ---


@require_GET
def export(request: HttpRequest) -> StreamingHttpResponse:
    allowed(request, "view_edge")
    answer = StreamingHttpResponse(beside_the_loop(transfer.export), content_type=CONTENT_TYPE)
    name = f"festinger-{timezone.localtime():%Y-%m-%d-%H%M}.jsonl"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


async def beside_the_loop(made: Callable[[], Iterator[bytes]]) -> AsyncIterator[bytes]:
    """The parts, made one by one in a thread of their own, which has a connection to the database of its own. The
    next one is made when the last is on its way; a client that leaves ends it."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "export")
    parts = made()
    try:
        while part := await loop.run_in_executor(thread, next, parts, b""):
            yield part
    finally:
        thread.submit(_close, parts)
        thread.shutdown(wait=False)


def _close(parts: Any) -> None:
    parts.close()
    connections.close_all()


# --- import ---


@require_POST
def upload(request: HttpRequest) -> HttpResponse:
    """Takes a whole file, from a form; or a part of one (``at``: from which byte; ``key``: of those before it), from
    the page's script, which then goes on by itself."""
    allowed(request, "add_edge")
    part = request.FILES.get("file")
    if part is None:
        messages.error(request, "Choose a file first.")
        return redirect("admin:resolution_transfer")
    at = request.POST.get("at", "")
    try:
        key = request.POST.get("key") or uploads.begin()
        size = uploads.add(key, part.chunks(), at=int(at) if at.isdecimal() else 0)
    except UploadError as error:
        return _refused(request, str(error), in_parts=bool(at))
    if request.POST.get("more") != "true":
        name = "".join(filter(str.isprintable, request.POST.get("name") or part.name or ""))[-NAME_MAX:]
        _forget(request)
        request.session[SESSION] = {"key": key, "name": name, "size": size}
    return JsonResponse({"key": key}) if at else redirect("admin:resolution_transfer")


def _refused(request: HttpRequest, why: str, *, in_parts: bool) -> HttpResponse:
    if in_parts:
        return JsonResponse({"error": why}, status=409)
    messages.error(request, why)
    return redirect("admin:resolution_transfer")


def _forget(request: HttpRequest) -> None:
    """What this session has uploaded."""
    if kept := request.session.pop(SESSION, None):
        uploads.discard(kept["key"])


@require_POST
def discard(request: HttpRequest) -> HttpResponse:
    allowed(request, "add_edge")
    _forget(request)
    messages.success(request, "The uploaded file was discarded; nothing was imported.")
    return redirect("admin:resolution_transfer")


@require_POST
def take_in(request: HttpRequest) -> HttpResponse:
    allowed(request, "add_edge")
    if request.POST.get("differences", "queue") not in CHOICES:
        messages.error(request, "Choose what becomes of contradictions; nothing was imported.")
        return redirect("admin:resolution_transfer")
    differences = chosen(request.POST)
    if differences == "take":
        allowed(request, "delete_edge")
    kept = request.session.get(SESSION)
    if not kept or kept["key"] != request.POST.get("key"):
        messages.error(request, "Another file was uploaded since, or none. Look at it again; nothing was imported.")
        return redirect("admin:resolution_transfer")
    try:
        with uploads.taken(kept["key"]) as file:
            report = transfer.take_in(
                file,
                actor_of(request),
                name=kept["name"],
                differences=differences,
                skip_invalid=request.POST.get("skip_invalid") == "true",
                progress=uploads.Progress(kept["key"]),
            )
            _forget(request)
    except (Unreadable, Refused, UploadError) as error:
        messages.error(request, str(error))
    else:
        _tell(request, kept["name"], report)
    return redirect("admin:resolution_transfer")


@require_GET
def progress(request: HttpRequest) -> JsonResponse:
    """How far the import of this session's file is."""
    allowed(request, "add_edge")
    kept = request.session.get(SESSION)
    return JsonResponse({"progress": uploads.progress_of(kept["key"]) if kept else ""})


def _tell(request: HttpRequest, name: str, report: Report) -> None:
    if not report.changes:
        messages.info(request, f"All of {name} is here already; nothing was changed.")
        return
    counted = "; ".join(f"{count} {what}: {which}" for count, what, which in transfer.account(report))
    text = f"{name} was imported: {counted}."
    if report.queued + report.new_conflicts:
        conflicts = reverse("admin:resolution_conflict_changelist")
        messages.success(
            request, format_html('{} <a href="{}" class="underline">To the conflicts</a>', text, conflicts)
        )
    else:
        messages.success(request, text)


_others: Callable[[], list[URLPattern]] = getattr(admin.site, "extra_urls", list)
admin.site.extra_urls = lambda: [*_others(), *extra_urls()]  # type: ignore[attr-defined]  # a hook of Unfold's
