"""The search over everything that Ctrl K opens: rows by the search of their own list, memories and messages by their
meaning, too, who speaks, settings, and pages."""

from collections.abc import Iterator
from typing import Any, Final

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from unfold.dataclasses import SearchResult

from memory.admin.base import address
from memory.attribution.client_names import GROUP
from memory.db.connections import fetch_rows
from memory.english.phrases import shorten
from memory.models import Agent, Config, Edge, Episode, Memory, Project, ProjectState, Soas
from memory.search.service import find_alike
from memory.settings import registry
from memory.templatetags.speakers import speaker_address
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
BARE: Final = Soas.objects.filter(edges=None, children=None)  # words without facts

# Walks from one speaker to the next in the index: one may have said a million messages.
WALK: Final = """
    {table}_speaker (agent, person) AS (
        (SELECT agent, person FROM {table} ORDER BY agent, person LIMIT 1)
        UNION ALL
        SELECT next.agent, next.person FROM {table}_speaker AS last, LATERAL (
            SELECT agent, person FROM {table} WHERE (agent, person) > (last.agent, last.person)
            ORDER BY agent, person LIMIT 1
        ) AS next
    )
"""
SPEAKERS: Final = f"""
    WITH RECURSIVE {WALK.format(table="episode")}, {WALK.format(table="memory")}, seen AS (
        (SELECT * FROM episode_speaker LIMIT 10000) UNION (SELECT * FROM memory_speaker LIMIT 10000)
        UNION (SELECT agent, person FROM recollection_event ORDER BY at DESC LIMIT 1000)
    )
    SELECT agent, person FROM seen WHERE strpos(lower(person), %(term)s) > 0 AND person <> %(group)s
    UNION SELECT agent, '' FROM seen
    WHERE strpos(lower(agent), %(term)s) > 0 AND NOT EXISTS (SELECT FROM agent WHERE name = seen.agent)
    ORDER BY 1, 2 LIMIT %(most)s
"""


def find(request: HttpRequest, term: str) -> list[SearchResult]:
    """Return what the account may see of each kind, at most EACH_MAX, dictionary words without facts and decided
    conflicts last. Lists of models come from Unfold itself."""
    alike = find_alike(term, EACH_MAX)
    rows = [row for model in KINDS for row in _find_rows(request, model, term, alike)]
    words = [row.pk for row in rows if isinstance(row, Soas) and row.is_common]
    bare = {Soas(pk=key) for key in BARE.filter(pk__in=words).values_list("pk", flat=True)}
    return [
        *_find_pages(request, term),
        *_find_settings(request, term),
        *_find_speakers(request, term),
        *(_show(row) for row in sorted(rows, key=lambda row: row in bare or _is_decided(row))),
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


def _find_speakers(request: HttpRequest, term: str) -> Iterator[SearchResult]:
    """Find persons, and agents without a token, by their names."""
    if not admin.site._registry[Agent].has_view_permission(request):
        return
    for agent, person in fetch_rows(SPEAKERS, {"term": term, "group": GROUP, "most": EACH_MAX}):
        kind = f"person · {agent}" if person else "agent"
        yield SearchResult(shorten(person or agent, TITLE_MAX), kind, speaker_address(agent, person), "person")


def _find_rows(request: HttpRequest, model: type[Model], term: str, alike: dict[str, list[int]]) -> list[Model]:
    page = admin.site._registry[model]
    if not page.has_view_permission(request):
        return []
    rows, related = page.get_queryset(request), page.list_select_related
    rows = rows.select_related(*related) if isinstance(related, tuple) else rows
    found, _ = page.get_search_results(request, rows, term)
    shown: dict[Any, Model] = {row.pk: row for row in found.order_by(*page.get_ordering(request))[:EACH_MAX]}
    near = alike.get(str(model._meta.model_name), [])
    by_meaning = rows.in_bulk([key for key in near if key not in shown])
    shown |= {key: by_meaning[key] for key in near if key in by_meaning}
    return list(shown.values())[:EACH_MAX]


def _is_decided(row: Model) -> bool:
    return isinstance(row, Conflict) and row.status != Conflict.Status.OPEN


def _show(row: Model) -> SearchResult:
    said_by = " ".join(filter(None, (getattr(row, "agent", ""), getattr(row, "person", ""))))
    state = row.status if isinstance(row, Conflict) and _is_decided(row) else ""
    kind = " · ".join(filter(None, (str(row._meta.verbose_name), said_by, state)))
    return SearchResult(shorten(str(row), TITLE_MAX), kind, address(type(row), row.pk), KINDS[type(row)])
