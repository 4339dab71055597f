"""Admin pages for concepts: the facts about each, its neighbourhood, and what operators can do with it."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Exists, F, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET
from unfold.views import ChangeList

from memory.admin.base import (
    COUNTED_MAX,
    Fixed,
    ListFilter,
    Page,
    address,
    as_token,
    column,
    next_page,
    prefer_keys,
    with_keys,
)
from memory.admin.dialogs import with_button
from memory.english.phrases import as_predicate, format_triple
from memory.models import Edge, Soas, find_called_like
from memory.types import whole_number
from resolution.admin.concepts import names
from resolution.admin.concepts.marks import SetsMarks, last_changes
from resolution.admin.pages import actor_of, changes, link_to_claim
from resolution.conflicts.queue import OPEN
from resolution.intake import teaching
from resolution.intake.place import Outcome
from resolution.intake.teaching import STATEMENT_MAX, NotUnderstood
from resolution.models import Claim, Conflict
from resolution.pages import concept_graph
from resolution.pages.concept_detail import find_concept_page, tell_timeline
from resolution.pages.concept_graph import DEPTH_MAX, Neighbourhood
from resolution.pages.conflicts import read_seen

PAGE = "admin:memory_soas_change"


class KindFilter(ListFilter):
    """A filter that hides the 29,000 dictionary words unless the filter or a search asks for them."""

    title = "kind"
    parameter_name = "kind"
    standard = "All but common words"
    options = [
        ("known", "With facts"),
        ("unknown", "Without facts"),
        ("common", "Dictionary words"),
        ("muted", "Muted"),
        ("disputed", "Disputed"),
    ]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        return self.options if request.user.has_perm("resolution.view_conflict") else self.options[:-1]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Soas]) -> QuerySet[Soas]:
        facts = Exists(Edge.objects.filter(concept=OuterRef("pk")).exclude(concept=F("parent")))
        match self.value():
            case "known":
                return queryset.filter(facts)
            case "unknown":
                return queryset.filter(~facts, is_common=False, alias=None)
            case "common":
                return queryset.filter(is_common=True)
            case "muted":
                return queryset.filter(is_muted=True)
            case "disputed" if request.user.has_perm("resolution.view_conflict"):
                disputed = Claim.objects.filter(status__in=OPEN).values_list("concept", flat=True)
                return with_keys(queryset, set(disputed[:COUNTED_MAX]))
            case _:
                return queryset if request.GET.get("q") else queryset.filter(is_common=False)


class ConceptList(ChangeList):
    """A list that counts the facts of the concepts on the page in one query."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        edges = Edge.objects.filter(concept__in=[row.pk for row in self.result_list]).exclude(concept=F("parent"))
        counts = dict(edges.values_list("concept").annotate(Count("pk")).order_by())
        for row in self.result_list:
            row.fact_count = counts.get(row.pk, 0)


@admin.register(Soas)
class SoasAdmin(SetsMarks, Fixed, Page):
    empty = "Names that prompts or facts mention. They come with the first prompt that passes."
    change_form_template = "resolution/concept.html"
    list_display = ("token", "facts", "encounter_count", "salience", "last_seen", "marks")
    list_filter = (KindFilter,)
    search_fields = ("token",)
    search_help_text = "Search by name"
    sortable_by = ("token",)
    ordering = ("-saliency", "-id")  # matches the index
    actions = ("mute", "unmute", "mark_common", "mark_names")
    own_views = {
        "marks/": "set_marks",
        "<int:concept_id>/teach/": "teach",
        "<int:concept_id>/neighbourhood/": "neighbourhood",
        "<int:concept_id>/alias/": names.set_alias,
        "<int:concept_id>/merge/": names.merge_page,
    }

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is None and super().has_change_permission(request)  # the page has no form of all fields

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ConceptList

    def get_ordering(self, request: HttpRequest) -> Sequence[str]:
        is_searched = not {"q", "s"}.isdisjoint(request.GET)  # in the list, or by Ctrl K
        return ("-novelty", *self.ordering) if is_searched else self.ordering  # those with facts first

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        name = as_token(search_term)
        return (prefer_keys(queryset.filter(find_called_like(name))) if name else queryset), False

    # --- the list's columns and actions ---

    @admin.display(description="facts about it")
    def facts(self, concept: Soas) -> str:
        return f"{getattr(concept, 'fact_count', 0):,}"

    salience = column("saliency", "{:.2f}".format, ordering="saliency")

    @admin.display(description="marks")
    def marks(self, concept: Soas) -> str:
        marks = (("muted", concept.is_muted), ("common word", concept.is_common))
        return ", ".join(name for name, is_so in marks if is_so)

    # --- a concept ---

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        found = find_concept_page(whole_number(object_id) or 0)
        if found is not None:
            found.concept.page = found  # type: ignore[attr-defined]  # for the template
        return found and found.concept

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        concept = kwargs["obj"]
        context |= {
            "title": concept.shown,
            "page": concept.page,
            "timeline": tell_timeline(concept.page, request.user.has_perm),
            "memories_query": f'"{concept.token.replace("_", " ")}"',
            "marks": last_changes(concept),
            "statement": request.GET.get("statement", "")[:STATEMENT_MAX],
        }
        return super().render_change_form(request, context, *args, **kwargs)

    @method_decorator(require_GET)
    def neighbourhood(self, request: HttpRequest, concept_id: int) -> HttpResponse:
        """Return the graph around a concept as JSON, for the picture. The parameter ``depth`` is the number of steps
        from the concept."""
        if not (self.has_view_permission(request) and request.user.has_perm("memory.view_edge")):
            raise PermissionDenied
        depth = request.GET.get("depth", "1")
        if depth not in map(str, range(1, DEPTH_MAX + 1)):
            return JsonResponse({"error": f"depth is 1 to {DEPTH_MAX}"}, status=400)
        concept = get_object_or_404(Soas, pk=concept_id)
        with_conflicts = request.user.has_perm("resolution.view_conflict")
        return JsonResponse(as_graph(concept_graph.look(concept, int(depth), with_conflicts=with_conflicts)))

    @changes("memory.add_edge")
    def teach(self, request: HttpRequest, concept_id: int) -> HttpResponse:
        concept = get_object_or_404(Soas, pk=concept_id)
        back = next_page(request) or reverse(PAGE, args=[concept_id])
        statement = request.POST.get("statement", "")
        try:
            outcomes = teaching.teach(concept.token, statement, actor_of(request))
        except NotUnderstood as error:
            self.message_user(request, f"Nothing was stored. {error}", messages.ERROR)
            return redirect(keep_statement(back, concept, statement))
        for outcome in outcomes:
            level, sentence = report_taught(outcome, is_muted=concept.is_muted)
            may_decide = outcome.status == "conflict" and request.user.has_perm("resolution.change_conflict")
            if may_decide and outcome.claim is not None:
                decide = reverse("admin:resolution_conflict_decide", args=[outcome.claim.conflict_id])
                seen = read_seen(outcome.claim.conflict_id)
                fields = {"decision": f"claim:{outcome.claim.pk}", "seen": seen, "next": back}
                sentence = with_button(request, sentence, "Replace it", decide, **fields)
            self.message_user(request, sentence, level)
        if any(outcome.status == "invalid" for outcome in outcomes):
            return redirect(keep_statement(back, concept, statement))
        return redirect(back)


def keep_statement(page: str, concept: Soas, statement: str) -> str:
    """Return the page's address with the statement in its query, so that its field shows what was typed."""
    parts = urlsplit(page)
    kept = urlencode({"concept": concept.pk, "statement": statement[:STATEMENT_MAX]})
    return parts._replace(query=f"{parts.query}&{kept}" if parts.query else kept).geturl()


def report_taught(outcome: Outcome, *, is_muted: bool) -> tuple[int, str]:
    """Return the message level and the text that report the outcome of teaching a fact."""
    fact = format_triple(outcome.fact)
    existing = format_triple(outcome.existing) if outcome.existing is not None else "another fact"
    match outcome.status:
        case "inserted":
            when = "once it is no longer muted" if is_muted else "from the next prompt on"
            return messages.SUCCESS, f"Stored: {fact}. It is recalled {when}."
        case "confirmed":
            return messages.SUCCESS, f"Confirmed: {fact} was known already."
        case "superseded":
            return messages.SUCCESS, f"Stored: {fact}. It replaced: {existing}."
        case "outdated":
            return messages.WARNING, f"Not stored: {fact}. A later statement is current: {existing}."
        case "invalid":
            return messages.ERROR, f"Not stored: {fact}. {outcome.reason}."
        case "decided":
            return messages.WARNING, _with_conflict(f"Not stored: {fact}. {outcome.reason}", outcome.claim)
        case _:
            sentence = f"Not stored yet: {fact}. It contradicts: {existing}."
            return messages.WARNING, _with_conflict(sentence, outcome.claim)


def _with_conflict(sentence: str, claim: Claim | None) -> SafeString | str:
    return sentence if claim is None else format_html("{} {}", sentence, link_to_claim(claim, "See the conflict"))


def as_graph(found: Neighbourhood) -> dict[str, Any]:
    """Convert the neighbourhood to what the page's script expects."""
    tokens = {node.concept.pk: node.concept.token for node in found.nodes}
    return {
        "nodes": [
            {
                "id": node.concept.pk,
                "token": node.concept.token,
                "distance": node.distance,
                "is_muted": node.concept.is_muted,
                "href": address(Soas, node.concept.pk),
            }
            for node in found.nodes
        ],
        "edges": [
            {
                "concept": line.concept_id,
                "parent": line.parent_id,
                "dimension": line.dimension,
                "is_isa": line.is_isa,
                "relation": as_predicate(tokens.get(line.parent_id, ""), line.dimension, is_isa=line.is_isa),
                "stands": line.edge_id is not None,
                "conflict": address(Conflict, line.conflict_id) if line.conflict_id is not None else None,
                "href": address(Edge, line.edge_id) if line.edge_id is not None else None,
            }
            for line in found.lines
        ],
        "left_out": found.left_out,
        "is_least": found.is_least,
    }
