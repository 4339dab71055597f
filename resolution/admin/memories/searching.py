"""The page *Search*: runs a search in an agent's name and shows what the agent would get."""

from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from memory.admin.base import link
from memory.graph.statement import PERSON_MAX
from memory.memories.scope import Scope, Speaker
from memory.models import Agent, Episode, Memory, Project, Soas
from memory.search.found import QUERY_CHARACTERS, Found, Types, answer_search
from memory.search.service import search
from memory.templatetags.times import ago
from memory.timing import is_dated
from resolution.pages.words import percent

LIMIT: Final = 20
NOBODY: Final = "anonymous@127.0.0.1"
GIVEN: Final = 5  # the default limit for agents
TYPES: Final[dict[Types, tuple[str, tuple[str, ...]]]] = {
    "both": ("facts, memories and episodes", ("memory.view_edge", "memory.view_memory", "memory.view_episode")),
    "memories": ("memories", ("memory.view_memory",)),
    "episodes": ("episodes", ("memory.view_episode",)),
    "facts": ("facts and memories", ("memory.view_edge", "memory.view_memory")),
}
INPUT: Final = {"class": "fst-input", "autocomplete": "off"}


class SearchForm(forms.Form):
    query = forms.CharField(
        label="Search for", max_length=QUERY_CHARACTERS, widget=forms.TextInput({**INPUT, "size": 50})
    )
    types = forms.ChoiceField(label="Among", widget=forms.Select({"class": "fst-input"}))
    agent = forms.CharField(
        max_length=120, required=False,
        widget=forms.TextInput({**INPUT, "list": "search-agents", "placeholder": NOBODY}),
    )  # fmt: skip
    person = forms.CharField(max_length=PERSON_MAX, required=False, widget=forms.TextInput({**INPUT, "size": 14}))
    project = forms.ModelChoiceField(
        Project.objects.order_by("slug"), required=False, empty_label="the one that all share",
        widget=forms.Select({"class": "fst-input"}),
    )  # fmt: skip

    def __init__(self, *args: Any, types: list[tuple[Types, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["types"].choices = types  # type: ignore[attr-defined]  # a ChoiceField's


@require_http_methods(["GET", "POST"])
def search_page(request: HttpRequest) -> HttpResponse:
    # POST although nothing changes: the query must not end up in access logs.
    types = [(kind, label) for kind, (label, rights) in TYPES.items() if request.user.has_perms(rights)]
    if not types:
        raise PermissionDenied
    form = SearchForm(request.POST or None, types=types)
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": "Search as an agent",
        "form": form,
        "agents": Agent.objects.order_by("name").values_list("name", flat=True),
        "given": GIVEN,
    }
    if form.is_valid():
        asked = form.cleaned_data
        speaker = Speaker(asked["agent"].strip() or NOBODY, asked["person"].strip())
        scope = Scope(speaker, asked["project"].pk if asked["project"] else None)
        found = search(scope, asked["query"], types=asked["types"], limit=LIMIT)
        told = answer_search(asked["query"], found[:GIVEN])["items"]
        rows = [describe(one, is_told=at < len(told)) for at, one in enumerate(found)]
        context["found"] = rows
        context["first_weak"] = next((row for row in rows if row["one"].is_weak), None)
    return render(request, "resolution/search_memories.html", context)


def describe(one: Found, *, is_told: bool) -> dict[str, Any]:
    row: Memory | Episode | Soas
    if one.fact is not None:
        row = Soas(pk=one.fact.concept_id)
    else:
        row = (Memory if one.kind == "memory" else Episode)(pk=one.id)
    return {
        "one": one,
        "link": link(row, one.text),
        "confidence": percent(one.confidence),
        "score": f"{one.score:.2f}",
        "similarity": f"{one.similarity:.2f}",
        "said_at": ago(datetime.fromtimestamp(one.said_at, UTC)) if is_dated(one.said_at) else "nobody knows when",
        "said_by": one.role or one.channel,
        "is_told": is_told,
    }
