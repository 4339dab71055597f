"""Admin pages for facts."""

import time
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import SimpleListFilter
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import action
from unfold.forms import BaseDialogForm

from memory.admin.base import (
    ACTION_MAX,
    COUNTED_MAX,
    DayFilter,
    ListFilter,
    Page,
    ReadOnly,
    WordSearch,
    column,
    limit_selection,
    link,
    next_page,
    requires,
    speaker_filters,
    with_keys,
)
from memory.admin.dialogs import ReasonForm, dialog, leave_dialog, with_button
from memory.english.phrases import shorten, tells_dimension
from memory.graph.store import select_supported
from memory.models import Edge
from memory.templatetags.times import ago
from memory.types import whole_number
from resolution.admin.concepts.marks import report_marked, set_mark
from resolution.admin.desk import UNDOING_S
from resolution.admin.pages import changes
from resolution.conflicts.queue import OPEN
from resolution.conflicts.verdict import read_reason
from resolution.errors import CannotPutBack
from resolution.intake import retirement
from resolution.models import Claim, Conflict, ConflictMember
from resolution.pages.concept_detail import find_fact_page, last_sentence, open_conflict, tell_timeline
from resolution.pages.words import date_or_none, format_speaker, percent

LIST = "admin:memory_edge_changelist"
SENTENCE_MAX = 160  # characters of a sentence in the list


class FlavourFilter(ListFilter):
    """Without it the list has no roots: they are no facts that anybody stated, and no figure counts them."""

    title = "what it says"
    parameter_name = "flavour"
    options = [("isa", "What a thing is"), ("ispart", "What it is in"), ("root", "Root of a dimension")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Edge]) -> QuerySet[Edge]:
        if self.value() == "root":
            return queryset.filter(concept=F("parent"))
        facts = queryset.exclude(concept=F("parent"))
        return facts.filter(is_isa=self.value() == "isa") if self.value() else facts


class DisputedFilter(SimpleListFilter):
    title = "disputes"
    parameter_name = "disputed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Disputed")] if request.user.has_perm("resolution.view_conflict") else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Edge]) -> QuerySet[Edge]:
        same_slot = Claim.objects.filter(concept=OuterRef("concept"), dim=OuterRef("dim"), status__in=OPEN)
        if not self.value():
            return queryset
        # Fetch the keys first: in one query with the search words, Postgres compares every fact with every conflict.
        between = ConflictMember.objects.filter(kind=ConflictMember.Kind.EDGE, conflict__status=Conflict.Status.OPEN)
        in_slots = Edge.objects.filter(Exists(same_slot)).order_by("-pk").values_list("pk", flat=True)
        disputed = {
            *in_slots[:COUNTED_MAX],
            *between.order_by("-object_id").values_list("object_id", flat=True)[:COUNTED_MAX],
        }
        return with_keys(queryset, disputed)


@admin.register(Edge)
class EdgeAdmin(WordSearch, ReadOnly, Page):
    empty = "Facts are learned from prompts that pass, or taught: gutask iknowthat 'kvasir -isa repo'."
    change_form_template = "resolution/fact.html"
    list_display = ("fact", "sentence", "sureness", "who", "confirmed", "dispute")
    list_display_links = ("sentence",)
    list_filter = (
        FlavourFilter,
        DisputedFilter,
        *speaker_filters(select_supported),
        ("said_at", DayFilter),
        "source",
        "channel",
        ("dim", AutocompleteSelectFilter),
        ("concept", AutocompleteSelectFilter),
        ("parent", AutocompleteSelectFilter),
    )
    list_filter_submit = True
    search_fields = ("concept", "parent")
    sortable_by = ("fact",)
    list_select_related = ("concept", "parent", "dim")
    ordering = ("-edge_id",)
    actions = ("retire",)
    actions_detail = ("retire_one",)
    has_retire_permission = requires("memory.delete_edge")
    has_mute_permission = requires("memory.change_soas")
    own_views = {"<int:object_id>/never/": "never", "put-back/": "put_back"}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Edge]:
        rows = super().get_queryset(request)
        if request.user.has_perm("memory.view_edgehistory"):
            rows = rows.annotate(said=last_sentence())
        if request.user.has_perm("resolution.view_conflict"):
            rows = rows.annotate(open_conflict=open_conflict())
        return rows

    # --- the list's columns and action ---

    @admin.display(description="fact", ordering="edge_id")
    def fact(self, edge: Edge) -> SafeString:
        if edge.is_root:
            return format_html("<span>{} is a dimension (its root)</span>", link(edge.dim))
        words = format_html("{} {} {}", link(edge.concept), edge.relation, link(edge.parent))
        if not edge.is_isa and tells_dimension(edge.dim.token, is_isa=False):
            return format_html("<span>{}</span>", words)
        return format_html("<span>{} [{}]</span>", words, link(edge.dim))

    @admin.display(description="as it was said")
    def sentence(self, edge: Any) -> str:
        said = getattr(edge, "said", "")
        if not said:
            return "made with the dimension" if edge.is_root else "no sentence is kept"
        return f"“{shorten(said, SENTENCE_MAX)}”"

    @admin.display(description="who")
    def who(self, edge: Edge) -> str:
        return format_speaker(edge.agent, edge.source)

    @admin.display(description="confirmed")
    def confirmed(self, edge: Edge) -> SafeString:
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            edge.last_confirmed.isoformat(),
            edge.last_confirmed,
            ago(edge.last_confirmed),
        )

    sureness = column("confidence", percent)

    @admin.display(description="disputed")
    def dispute(self, edge: Edge) -> SafeString | str:
        key = getattr(edge, "open_conflict", None)
        return link(Conflict(pk=key), "⚠ disputed") if key is not None else ""

    @admin.action(description="Retire: no longer recalled, kept in the history", permissions=["retire"])
    def retire(self, request: HttpRequest, queryset: QuerySet[Edge]) -> None:
        is_root = Q(concept=F("parent"))
        keys, more = limit_selection(queryset.exclude(is_root))
        roots, _ = limit_selection(queryset.filter(is_root))
        facts = Edge.objects.filter(pk__in=keys)
        retired = retirement.retire(facts, actor=request.user.get_username(), reason="retired in the admin")
        skipped = f" {len(roots)} skipped: a dimension's root stays." if roots else ""
        told = f"{len(retired):,} retired{more}.{skipped}"
        self._offer(request, told, [row.pk for row in retired], request.get_full_path())

    @changes("memory.delete_edge")
    def put_back(self, request: HttpRequest) -> HttpResponse:
        """Put back the facts that the given ``rows`` of the history retired; offer the rest if time runs out."""
        keys = [whole_number(text) or 0 for text in request.POST.get("rows", "").split(",")][:ACTION_MAX]
        back, refused, end = 0, [], time.monotonic() + UNDOING_S
        while keys and time.monotonic() < end:
            try:
                retirement.put_back(keys.pop(), actor=request.user.get_username(), reason="put back in the admin")
                back += 1
            except CannotPutBack as error:
                refused.append(str(error))
        if refused:
            self.message_user(request, f"{len(refused):,} not put back. {refused[0]}", messages.WARNING)
        told = f"{back:,} put back{f', {len(keys):,} still to do' if keys else ''}."
        self._offer(request, told, keys, next_page(request))
        return redirect(next_page(request) or LIST)

    def _offer(self, request: HttpRequest, told: str, rows: list[int], back: str) -> None:
        """Report, with a button that puts back what these rows of the history retired, if there are any."""
        fields = {"rows": ",".join(map(str, rows)), "next": back}
        put_back = reverse("admin:memory_edge_put_back")
        shown = with_button(request, told, "Undo", put_back, **fields) if rows else told
        self.message_user(request, shown, messages.SUCCESS)

    # --- a fact ---

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        found = find_fact_page(whole_number(object_id) or 0)
        if found is not None:
            found.known.edge.page = found  # for the template
        return found and found.known.edge

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        edge = kwargs["obj"]
        context |= {
            "title": f"the root of {edge.dim}" if edge.is_root else str(edge),
            "page": edge.page,
            "timeline": tell_timeline(edge.page, request.user.has_perm),
            "said_at": date_or_none(edge.said_at),
            **({"actions_detail": []} if edge.is_root else {}),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    @action(
        description="Retire", url_path="retire", permissions=["retire"],
        dialog=dialog("Retire", "It is no longer recalled, and stays in the history."),
    )  # fmt: skip
    def retire_one(self, request: HttpRequest, form: ReasonForm, object_id: str) -> HttpResponse:
        edges = Edge.objects.select_related("concept", "parent", "dim")
        edge = edges.filter(pk=whole_number(object_id) or 0).first()
        gone = "Nothing was retired: that fact is no longer current."
        if edge is None:
            self.message_user(request, gone, messages.WARNING)
            return leave_dialog(request, LIST)
        back = next_page(request) or reverse("admin:memory_soas_change", args=[edge.concept_id])
        if edge.is_root:
            self.message_user(request, "Nothing was retired: a dimension's root stays.", messages.ERROR)
            return leave_dialog(request, back)
        reason = read_reason(form.cleaned_data["reason"])
        row = retirement.retire_one(edge, actor=request.user.get_username(), reason=reason)
        if row is None:
            self.message_user(request, gone, messages.WARNING)
        else:
            put_back = reverse("admin:memory_edgehistory_put_back", args=[row.pk])
            told = f"Retired: {edge}. It is in the history."
            self.message_user(request, with_button(request, told, "Put it back", put_back, next=back), messages.SUCCESS)
        return leave_dialog(request, back)

    @action(
        description="Never for such prompts", permissions=["mute"],
        dialog=dialog("Never for such prompts", "A fact is injected into prompts that name its concept. This mutes the"
                      " concept: nothing about it is recalled or asked any more.", BaseDialogForm),
    )  # fmt: skip
    def never(self, request: HttpRequest, form: BaseDialogForm, object_id: int) -> HttpResponse:
        concepts = Edge.objects.filter(pk=object_id).values_list("concept", flat=True)
        changed = set_mark("muted", list(concepts), request.user, to=True)
        back = next_page(request) or reverse(LIST)
        self.message_user(request, report_marked(request, "muted", changed, to=True, back=back), messages.SUCCESS)
        return leave_dialog(request, back)
