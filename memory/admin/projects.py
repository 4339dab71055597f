"""The admin of projects, to which memories and episodes belong."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory.admin.base import COUNTED_MAX, LINK, CountedRows, NamesChanges, Page, display_once, format_counted, link
from memory.models import Agent, Episode, Memory, Project, ProjectState

AGENTS_MAX = 50


def count_of(model: type[Memory | Episode], **conditions: Any) -> CountedRows:
    rows = model._default_manager.filter(project=OuterRef("pk"), **conditions)
    return CountedRows(rows.order_by().values("pk")[:COUNTED_MAX])


def link_to_list(model: type[Memory | Episode], project: Project, count: int) -> SafeString:
    address = reverse(f"admin:memory_{model._meta.model_name}_changelist")
    return format_html(
        '<a href="{}?project__id__exact={}" class="{}">{}</a>', address, project.pk, LINK, format_counted(count)
    )


@admin.register(Project)
class ProjectAdmin(NamesChanges, Page):
    empty = "A project has memories and values of its own. Agents name it with the header X-Festinger-Project."
    list_display = ("slug", "name", "is_open", "memories_count", "episodes_count", "created_at", "mirror")
    list_filter = ("is_open",)
    search_fields = ("slug", "name")
    ordering = ("slug",)
    # Clients send the slug: changing it would silently cut them off.
    fixed_fields = ("slug", "mirror", "memories_count", "episodes_count", "spoken_for_by", "created_at")

    def get_fields(self, request: HttpRequest, obj: Project | None = None) -> tuple[str, ...]:
        about = self.fixed_fields[1:] if obj else ()
        return ("slug", "name", "description", "is_open", *about)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        counts = {"memories_now": count_of(Memory, status="active"), "episodes_now": count_of(Episode)}
        return super().get_queryset(request).annotate(**counts)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        # Django would read each row that keeps a project from being deleted, to list it: a million messages, perhaps.
        rows = {"Memories": Memory.all_rows, "Episodes": Episode.all_rows, "Project state": ProjectState.objects}
        kept = {name: some.filter(project__in=objs)[:COUNTED_MAX].count() for name, some in rows.items()}
        told = [f"{name}: {format_counted(count)}" for name, count in kept.items() if count]
        return ([], {}, set(), told) if told else super().get_deleted_objects(objs, request)

    @admin.display(description="mirror")
    def mirror(self, project: Project) -> SafeString:
        address = reverse("admin:resolution_mirror", args=[project.slug])
        return format_html('<a href="{}" class="{}">Read about it</a>', address, LINK)

    @admin.display(description="memories")
    def memories_count(self, project: Any) -> SafeString:
        return link_to_list(Memory, project, project.memories_now)

    @admin.display(description="episodes")
    def episodes_count(self, project: Any) -> SafeString:
        return link_to_list(Episode, project, project.episodes_now)

    @admin.display(description="agents")
    @display_once
    def spoken_for_by(self, project: Project) -> SafeString | str:
        may = Q(project=project) | Q(allowed_projects=project) | Q(allows_all_projects=True)
        agents = Agent.objects.filter(may).distinct().order_by("name")[:AGENTS_MAX]
        return format_html_join(", ", "{}", ((link(agent),) for agent in agents)) or "no agent's token allows it"
