"""The page on which the world is exported (export.py), and a file is looked at and imported."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_POST

from memory.domain.types import whole_number
from resolution import transfer
from resolution.admin import export
from resolution.admin.acting import actor_of
from resolution.transfer import Differences, Refused, Report, Unreadable, uploads
from resolution.transfer.uploads import OUTCOME, Busy, Missing, UploadError

SESSION: Final = "transfer"  # where a session keeps the key and the name of what it has uploaded
NAME_MAX: Final = 100  # characters of a file's name
YOUNG_S: Final = 600.0  # how long what a file would come to is shown again without another look
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
        "transfer/export/": ("resolution_transfer_export", export.export),
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
    """Export and upload; or, once there is a file, what it would come to, or what is being done with it."""
    allowed(request, "view_edge")
    context = admin.site.each_context(request) | {
        "title": "Export and import",
        "may_export": request.user.has_perms(export.PERMISSIONS),
        "may_import": request.user.has_perm("memory.add_edge"),
        "may_take": request.user.has_perm("memory.delete_edge"),
        "mib_max": uploads.BYTES_MAX // 1024**2,
    }
    kept = request.session.get(SESSION)
    if kept and context["may_import"]:
        differences = chosen(request.GET)
        if "again" in request.GET:
            uploads.forget(kept["key"], _report_name(differences))
            return redirect(f"{reverse('admin:resolution_transfer')}?differences={differences}")
        context |= state_of(request, kept, differences)
    return TemplateResponse(request, "resolution/transfer.html", context)


def chosen(fields: QueryDict) -> Differences:
    """What is to become of contradictions; a conflict each, unless the operator chose otherwise."""
    choice = fields.get("differences")
    return choice if choice in CHOICES else "queue"  # type: ignore[return-value]  # one of them


def state_of(request: HttpRequest, kept: dict[str, Any], differences: Differences) -> dict[str, Any]:
    """What the template shows of an uploaded file."""
    key = kept["key"]
    if uploads.doing(key) == "importing":
        return {"upload": kept, "doing": "importing", "progress": uploads.progress_of(key)}
    if (outcome := uploads.noted(key, OUTCOME)) is not None:
        _forget(request)
        _announce(request, kept["name"], transfer.read_report(outcome.content))
        return {}
    try:
        report, seen_at = look(key, differences)
    except Unreadable as error:
        return {"upload": kept, "unreadable": str(error)}
    except Busy:
        return {"upload": kept, "doing": "looking"}
    except UploadError as error:
        return {"gone": str(error)}
    return {"upload": kept, "seen_at": seen_at, "chosen": differences} | preview(report)


def preview(report: Report) -> dict[str, Any]:
    return {
        "report": report,
        "account": transfer.account(report),
        "choices": CHOICES.items(),
        "more_differences": report.differing - len(report.differences),
        "more_mistakes": report.mistakes_count - len(report.mistakes),
        "differences": [(each, *OUTCOMES[each.outcome]) for each in report.differences],
    }


def look(key: str, differences: Differences) -> tuple[Report, datetime]:
    """What the file would come to, and when that was so: not read again while that is young. Raises Unreadable and
    UploadError."""
    if seen := _seen(key, differences):
        return seen
    with uploads.looked_at(key) as file:
        if seen := _seen(key, differences):  # by another, while this one was on its way to the lock
            return seen
        report, seen_at = transfer.rehearse(file, differences), timezone.now()
        uploads.note(key, _report_name(differences), transfer.write_report(report))
    return report, seen_at


def _seen(key: str, differences: Differences) -> tuple[Report, datetime] | None:
    noted = uploads.noted(key, _report_name(differences))
    if noted is None or noted.age_s > YOUNG_S:
        return None
    report = transfer.read_report(noted.content)
    return (report, noted.at) if report is not None else None


def _report_name(differences: Differences) -> str:
    return f"report-{differences}"


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
        size = uploads.add(key, part.chunks(), at=whole_number(at) or 0)
        if request.POST.get("more") != "true":
            name = "".join(filter(str.isprintable, request.POST.get("name") or part.name or ""))[-NAME_MAX:]
            _keep(request, key, name, size)
    except UploadError as error:
        return _refused(request, str(error), in_parts=bool(at))
    return JsonResponse({"key": key}) if at else redirect("admin:resolution_transfer")


def _refused(request: HttpRequest, why: str, *, in_parts: bool) -> HttpResponse:
    if in_parts:
        return JsonResponse({"error": why}, status=409)
    messages.error(request, why)
    return redirect("admin:resolution_transfer")


def _keep(request: HttpRequest, key: str, name: str, size: int) -> None:
    """In place of what this session has uploaded before. Raises UploadError."""
    try:
        _forget(request)
    except Busy:
        uploads.discard(key)
        raise UploadError("The file that you uploaded before is being imported: wait until that is done.") from None
    uploads.finish(key)
    request.session[SESSION] = {"key": key, "name": name, "size": size}


def _forget(request: HttpRequest) -> bool:
    """What this session has uploaded; whether it was still here. Raises Busy where it is being imported."""
    kept = request.session.get(SESSION)
    was_here = kept is not None and uploads.discard(kept["key"])
    request.session.pop(SESSION, None)
    return was_here


@require_POST
def discard(request: HttpRequest) -> HttpResponse:
    allowed(request, "add_edge")
    kept = request.session.get(SESSION)
    if kept and uploads.noted(kept["key"], OUTCOME):
        return redirect("admin:resolution_transfer")  # which tells what was imported
    try:
        was_here = _forget(request)
    except Busy as error:
        messages.error(request, f"{error} It cannot be discarded.")
        return redirect("admin:resolution_transfer")
    if was_here:
        messages.success(request, "The uploaded file was discarded; nothing was imported.")
    else:
        messages.info(request, str(Missing()))
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
    if differences != request.POST.get("previewed"):
        messages.info(request, "This is what the file would come to the way you chose; nothing was imported yet.")
        return redirect(f"{reverse('admin:resolution_transfer')}?differences={differences}")
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
            uploads.imported(kept["key"], transfer.write_report(report))
    except (Unreadable, Refused, UploadError) as error:
        messages.error(request, str(error))
    return redirect("admin:resolution_transfer")  # which tells what was imported


@require_GET
def progress(request: HttpRequest) -> JsonResponse:
    """What is being done with this session's file, and how far its import is."""
    allowed(request, "add_edge")
    kept = request.session.get(SESSION)
    key = kept["key"] if kept else ""
    return JsonResponse({"doing": uploads.doing(key), "progress": uploads.progress_of(key)})


def _announce(request: HttpRequest, name: str, report: Report | None) -> None:
    """What an import has come to."""
    if report is None:
        messages.success(request, f"{name} was imported.")
        return
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
