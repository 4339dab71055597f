"""The page *Project overview*: what is known of a project, for people to read."""

from datetime import datetime, timedelta
from typing import Final

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory.admin.base import add_pages
from memory.models import Project
from resolution.pages.mirror import make_mirror

# The page shows all of these, so it needs all permissions.
PERMISSIONS: Final = tuple(f"memory.view_{name}" for name in ("project", "projectstate", "edge", "memory"))
PROJECTS_MAX: Final = 500
CHANGES_SHOWN: Final = 25  # the others are folded away
SPANS: Final = ((7, "7 days"), (30, "30 days"))


def list_urls() -> list[URLPattern]:
    return [
        path("mirror/", admin.site.admin_view(list_projects), name="resolution_mirrors"),
        path("mirror/<str:slug>/", admin.site.admin_view(show_mirror), name="resolution_mirror"),
    ]


@require_safe
@permission_required(PERMISSIONS, raise_exception=True)
def list_projects(request: HttpRequest) -> HttpResponse:
    rows = Project.objects.annotate(values_now=Count("state", filter=Q(state__status="active"))).order_by("slug")
    projects = list(rows[:PROJECTS_MAX])
    if len(projects) == 1:
        return redirect("admin:resolution_mirror", projects[0].slug)
    context = {**admin.site.each_context(request), "title": "Project overview", "projects": projects}
    return TemplateResponse(request, "resolution/mirrors.html", context)


@require_safe
@permission_required(PERMISSIONS, raise_exception=True)
def show_mirror(request: HttpRequest, slug: str) -> HttpResponse:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise Http404(f"There is no project {slug}.")
    now = timezone.localtime()
    since = read_date(request.GET.get("since", ""))
    spans = [(f"{now - timedelta(days=days):%Y-%m-%d}", name) for days, name in SPANS]
    context = {
        **admin.site.each_context(request),
        "title": project.name or project.slug,
        "mirror": make_mirror(project, since, request.GET.get("page") or "1"),
        "since": f"{since:%Y-%m-%d}" if since is not None else "",
        "today": f"{now:%Y-%m-%d}",
        "spans": spans,
        "shown_max": CHANGES_SHOWN,
        "shown": f":{CHANGES_SHOWN}",
        "more": f"{CHANGES_SHOWN}:",
    }
    return TemplateResponse(request, "resolution/mirror.html", context)


def read_date(text: str) -> datetime | None:
    """Return the start of that day in local time, or None if the text is not a date."""
    try:
        return timezone.make_aware(datetime.strptime(text, "%Y-%m-%d"))
    except ValueError:
        return None


add_pages(list_urls)
