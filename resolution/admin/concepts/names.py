"""Admin pages for names: aliases, and merging and renaming of concepts and dimensions."""

from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST

from memory.english.phrases import format_triple
from memory.graph.fact_syntax import FactMistake, parse_concept
from memory.models import Dimension, Soas
from resolution.admin.pages import actor_of
from resolution.errors import DecisionError
from resolution.models import Run
from resolution.naming import merging
from resolution.naming.names import drop_alias, name_concept

PAGE: Final = "admin:memory_soas_change"
SHOWN: Final = 100  # facts
NAME_MAX: Final = 200  # characters as written
# What happens to a fact: the badge's colour and its word.
FATES: Final = {
    "inserted": ("good", "moves"),
    "confirmed": ("info", "both say so"),
    "superseded": ("warn", "replaces"),
    "conflict": ("bad", "conflict"),
    "candidate": ("warn", "becomes a candidate"),
}
LEFT_OUT: Final = ("warn", "left out")


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("memory.change_soas", raise_exception=True)
@permission_required("memory.delete_edge", raise_exception=True)
def merge_page(request: HttpRequest, concept_id: int) -> HttpResponse:
    """Preview a merge on GET; merge, or delete the dimension, on POST."""
    concept = get_object_or_404(Soas, pk=concept_id)
    is_dimension = Dimension.objects.filter(pk=concept_id).exists()
    given, text = request.POST or request.GET, ""
    into, found = given.get("into", "").strip()[:NAME_MAX], None
    try:
        if request.method == "POST" and "delete" in given:
            return _delete(request, concept)
        if request.method == "POST":
            return _merge(request, concept, parse_concept(into))
        found = merging.preview(concept.token, parse_concept(into)) if into else None
    except (DecisionError, FactMistake) as error:
        text = f"{str(error)[:1].upper()}{str(error)[1:].rstrip('.')}."
    does = "Rename, merge or delete" if is_dimension else "Rename or merge"
    context = {
        **admin.site.each_context(request),
        "title": f"{does} {concept}",
        "concept": concept,
        "is_dimension": is_dimension,
        "is_empty": is_dimension and not concept.dimension_edges.exclude(concept=concept).exists(),
        "into": into,
        "error": text,
        "found": found,
        "lines": [_describe(one) for one in found.moved[:SHOWN]] if found is not None else [],
    }
    return TemplateResponse(request, "resolution/merge.html", context)


def _merge(request: HttpRequest, concept: Soas, into: str) -> HttpResponse:
    done = merging.merge(concept.token, into, actor_of(request), request.POST.get("reason", ""))
    what = "was renamed to" if done.is_rename else "was merged into"
    return _tell_run(request, done.run, f"{done.concept} {what} {done.into}: that is another name of it now.")


def _delete(request: HttpRequest, concept: Soas) -> HttpResponse:
    run = merging.delete_dimension(concept.token, actor_of(request), request.POST.get("reason", ""))
    return _tell_run(request, run, f"The dimension {concept} was deleted.")


def _tell_run(request: HttpRequest, run: Run | None, sentence: str) -> HttpResponse:
    assert run is not None
    messages.success(request, f"{sentence} This page can undo it.")
    return redirect("admin:resolution_run_change", run.pk)


def _describe(one: merging.Moved) -> dict[str, Any]:
    colour, fate = FATES.get(one.outcome.status, LEFT_OUT)
    existing = one.outcome.existing
    return {
        "was": format_triple(one.was),
        "now": format_triple(one.outcome.fact) if one.outcome.status != "invalid" else "",
        "colour": colour,
        "fate": fate,
        "existing": format_triple(existing) if existing is not None else "",
        "reason": one.outcome.reason,
        "is_claim": one.is_claim,
    }


@require_POST
@permission_required("memory.change_soas", raise_exception=True)
def set_alias(request: HttpRequest, concept_id: int) -> HttpResponse:
    """Add an alias to the concept, or remove one if the form says ``drop``."""
    concept = get_object_or_404(Soas, pk=concept_id)
    said, text = actor_of(request).attribute(""), request.POST.get("alias", "")[:NAME_MAX]
    try:
        if "drop" in request.POST:
            row = drop_alias(text, said)
            messages.success(request, f"{row.soas} is a word of its own again, no name of {row.concept}.")
        else:
            named = name_concept(parse_concept(text), concept.token, said)
            messages.success(request, f"{named.alias.soas} is another name of {named.alias.concept} now.")
    except (DecisionError, FactMistake) as error:
        merge = format_html('<a href="{}" class="fst-link">Merge two names</a>', _merge_address(text) or "")
        shown = format_html("Nothing was changed. {} {}", str(error), merge if _merge_address(text) else "")
        messages.error(request, shown)
    return redirect(PAGE, concept_id)


def _merge_address(name: str) -> str:
    """Return the address of the page that merges this name, or "" if the name is unknown or already an alias."""
    word = Soas.objects.filter(token=name.strip().lower(), alias=None).first()
    return reverse("admin:memory_soas_merge", args=[word.pk]) if word is not None else ""
