"""The search over everything that Ctrl K opens: rows by the search of their own list, memories and messages by their
meaning, too, settings, and pages."""

from collections.abc import Iterator
from typing import Any, Final

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from unfold.dataclasses import SearchResult

from memory.admin.base import address
from memory.english.phrases import shorten
from memory.models import Agent, Config, Edge, Episode, Memory, Project, ProjectState, Soas
from memory.search.service import find_alike
from memory.settings import registry
from resolution.models import Conflict

EACH_MAX: Final = 5  # results of a kind
TITLE_MAX: Final = 120  # characters
KINDS: Final[dict[type[Model], str]] = {  # with the icon, in the order of the results
    Conflict: "balance",
    Soas: "category",
    Edge: "share",
    Memory: "psychology_alt",
    Episode: "forum",
    ProjectState: "flag",
    Agent: "badge",
    Project: "folder",
}


def find(request: HttpRequest, term: str) -> list[SearchResult]:
    """Return what the account may see of each kind, at most EACH_MAX. Lists of models come from Unfold itself."""
    alike = find_alike(term, EACH_MAX)
    return [
        *_find_pages(request, term),
        *_find_settings(request, term),
        *(one for model, icon in KINDS.items() for one in _find_rows(request, model, icon, term, alike)),
    ]


def _find_pages(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    """The pages that are no list of rows."""
    lists = {reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") for model in _models()}
    for group in admin.site.get_sidebar_list(request):  # type: ignore[attr-defined]  # Unfold's
        for item in group["items"]:
            if item["has_permission"] and term in item["title"].lower() and str(item["link"]) not in lists:
                yield SearchResult(item["title"], "Page", str(item["link"]), item["icon"])


def _models() -> list[type[Model]]:
    return list(admin.site._registry)


def _find_settings(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    page, words = admin.site._registry[Config], term.replace(" ", "_")
    found = [key for key in registry.REGISTRY if words in key] if page.has_view_permission(request) else []
    for key in found[:EACH_MAX]:
        title = f"{key}: {registry.REGISTRY[key].description or ''}"
        yield SearchResult(shorten(title, TITLE_MAX), "Setting", address(Config, key), "tune")


def _find_rows(
    request: HttpRequest, model: type[Model], icon: str, term: str, alike: dict[str, list[int]]
) -> Iterator[SearchResult]:
    page = admin.site._registry[model]
    if not page.has_view_permission(request):
        return
    rows, related = page.get_queryset(request), page.list_select_related
    rows = rows.select_related(*related) if isinstance(related, tuple) else rows
    found, _ = page.get_search_results(request, rows, term)
    shown: dict[Any, Model] = {row.pk: row for row in found.order_by(*page.get_ordering(request))[:EACH_MAX]}
    near = alike.get(str(model._meta.model_name), [])
    by_meaning = rows.in_bulk([key for key in near if key not in shown])
    shown |= {key: by_meaning[key] for key in near if key in by_meaning}
    for row in list(shown.values())[:EACH_MAX]:
        said_by = " ".join(filter(None, (getattr(row, "agent", ""), getattr(row, "person", ""))))
        kind = " · ".join(filter(None, (str(model._meta.verbose_name), said_by)))
        yield SearchResult(shorten(str(row), TITLE_MAX), kind, address(model, row.pk), icon)
