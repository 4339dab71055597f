"""Admin page that moves memories to another project, with a preview of the outcome."""

from collections.abc import Sequence
from typing import Final

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from memory.admin.base import Page, address, limit_selection
from memory.english.phrases import format_count
from memory.models import Memory, MemoryHistory, Project
from memory.types import whole_number
from resolution.admin.memories.acting import REASON_MAX, changing, tell_skipped
from resolution.admin.pages import actor_of, with_button
from resolution.errors import DecisionError
from resolution.memories import moving

ALL: Final = "*"  # stands for the shared project, which has no id


@admin.action(description="Move to another project …", permissions=["change"])
def move_them(page: Page, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse:
    keys, more = limit_selection(queryset)
    if more:
        page.message_user(request, more.removeprefix(". "), messages.WARNING)
    return redirect(f"{reverse('admin:memory_memory_move')}?ids={','.join(map(str, keys))}")


@require_http_methods(["GET", "HEAD", "POST"])
@changing
def move_page(request: HttpRequest) -> HttpResponse:
    """Ask for the project and show how the memories would fare there; on POST, move them."""
    given = request.POST or request.GET
    keys = [key for text in given.get("ids", "").split(",") if (key := whole_number(text)) is not None]
    chosen = Memory.objects.filter(pk__in=keys).select_related("project").defer("lexemes").order_by("pk")
    if not chosen:
        messages.warning(request, "Choose memories first.")
        return redirect("admin:memory_memory_changelist")
    to = given.get("to", "")
    project = Project.objects.filter(pk=whole_number(to) or 0).first()
    is_chosen = to == ALL or project is not None
    if request.method == "POST" and is_chosen:
        return _move(request, list(chosen), project)
    outcomes = moving.try_to_move([row.pk for row in chosen], project, actor_of(request)) if is_chosen else {}
    context = {
        **admin.site.each_context(request),
        "title": "Move memories to another project",
        "rows": [(row, outcomes.get(row.pk)) for row in chosen],
        "refused": [key for key, outcome in outcomes.items() if isinstance(outcome, str)],
        "ids": ",".join(str(row.pk) for row in chosen),
        "projects": Project.objects.order_by("slug"),
        "all": ALL,
        "to": to if is_chosen else "",
        "target": project or moving.SHARED,
    }
    return TemplateResponse(request, "resolution/move_memories.html", context)


def _move(request: HttpRequest, chosen: Sequence[Memory], project: Project | None) -> HttpResponse:
    moved: list[Memory] = []
    skipped: list[str] = []
    for memory in chosen:
        try:
            moving.move(memory.pk, project, actor_of(request), request.POST.get("reason", "")[:REASON_MAX])
            moved.append(memory)
        except DecisionError as mistake:
            skipped.append(str(mistake))
    tell_skipped(request, skipped)
    # One *Undo* button for each project that memories came from.
    for origin in {memory.project for memory in moved}:
        keys = [memory.pk for memory in moved if memory.project == origin]
        told = f"{format_count(len(keys), 'memory', 'memories')} moved from {origin or moving.SHARED} to "
        fields = {"ids": ",".join(map(str, keys)), "to": str(origin.pk) if origin is not None else ALL}
        back = reverse("admin:memory_memory_move")
        messages.success(
            request, with_button(request, f"{told}{project or moving.SHARED}.", "Undo", back, **fields, reason="undone")
        )
    return redirect(address(Memory, chosen[0].pk) if len(chosen) == 1 else "admin:memory_memory_changelist")


def describe_move(row: MemoryHistory) -> str:
    """Return the old and the new project, or "" if the change was no move."""
    names = (row.after or {}).get("moved")
    return " → ".join(name or moving.SHARED for name in names) if names else ""
