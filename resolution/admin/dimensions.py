"""Admin pages for dimensions: their questions, and their policies on a collision."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory.admin.base import LINK, Fixed, ListFilter, NamesChanges, Page, column, link
from memory.english.phrases import format_count
from memory.graph import store
from memory.models import Dimension, Edge
from resolution.admin.pages import link_to
from resolution.conflicts.queue import OPEN
from resolution.intake import policies
from resolution.models import Claim
from resolution.naming.merging import SEEDS
from resolution.pages.queries import HOLDS_FACTS

SPLITS_SHOWN = 50
SAYS = {True: "what a thing is", False: "what it is part of"}


class FactsFilter(ListFilter):
    """A filter that hides dimensions without facts unless the filter or a search asks for them."""

    title = "facts"
    parameter_name = "facts"
    standard = "With facts"
    options = [("none", "Without facts"), ("all", "All")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Dimension]) -> QuerySet[Dimension]:
        # A search for a dimension's name should find it, used or not.
        if self.value() == "all" or (self.value() is None and request.GET.get(SEARCH_VAR)):
            return queryset
        return queryset.filter(~HOLDS_FACTS if self.value() == "none" else HOLDS_FACTS)


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    class Meta:
        model = Dimension
        fields = ("question", "on_collision")

    def clean_on_collision(self) -> str:
        policy: str = self.cleaned_data["on_collision"]
        # Nobody can fill a slot of the dimension until the page's transaction ends, so this check still holds on save.
        store.lock_dimensions([self.instance.pk])
        is_single = self.instance.is_additive and policy != Dimension.OnCollision.KEEP_ALL
        if is_single and (refusal := policies.explain_refusal(self.instance.pk)):
            raise forms.ValidationError(refusal)
        return policy


@admin.register(Dimension)
class DimensionAdmin(NamesChanges, Fixed, Page):
    empty = "A dimension is a way to look at a concept: its type, what it runs on. Facts bring them."
    form = PolicyForm
    list_display = ("name", "question", "says_what", "on_collision", "facts", "open_conflicts", "split_from_link")
    list_display_links = ("name",)
    list_filter = (FactsFilter, "on_collision", "is_isa")
    search_fields = ("soas__token", "question")
    search_help_text = "Search by name or question"
    list_select_related = ("soas", "split_from__soas")
    fields = ("concept", "names", "question", "says_what", "on_collision", "policy", "facts", "open_conflicts",
              "split_from_link", "split_into")  # fmt: skip
    readonly_fields = (
        "concept",
        "names",
        "says_what",
        "policy",
        "facts",
        "open_conflicts",
        "split_from_link",
        "split_into",
    )
    ordering = ("soas__token",)

    def save_model(self, request: HttpRequest, obj: Dimension, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        keeps_all = Dimension.OnCollision.KEEP_ALL
        if "on_collision" in form.changed_data and keeps_all in (obj.on_collision, form.initial["on_collision"]):
            placed = policies.rebase_claims(obj.pk)
            if placed:
                what = format_count(placed, "claim that waited is", "claims that waited are")
                messages.info(request, f"{what} placed: nothing blocks the slot now.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dimension]:
        # Subqueries, not joins: the counts do not affect the order, so Postgres computes them for the page's rows only.
        edges = Edge.objects.filter(dim=OuterRef("pk")).order_by().values("dim")
        disputed = Claim.objects.filter(dim=OuterRef("pk"), status__in=OPEN).order_by().values("dim")
        rows = super().get_queryset(request).select_related("soas", "split_from__soas")
        return rows.annotate(
            edge_count=Coalesce(Subquery(edges.values(count=Count("*"))), 0),
            conflict_count=Coalesce(Subquery(disputed.values(count=Count("conflict", distinct=True))), 0),
        )

    @admin.display(description="dimension", ordering="soas__token")
    def name(self, dimension: Dimension) -> str:
        return dimension.soas.token

    concept = link_to("soas", "concept")
    split_from_link = link_to("split_from", "split from")

    @admin.display(description="its name")
    def names(self, dimension: Dimension) -> SafeString | str:
        if dimension.soas.token in SEEDS:
            return "stays: every installation has it"
        page = reverse("admin:memory_soas_merge", args=[dimension.pk])
        return format_html('<a href="{}" class="{}">Rename, merge or delete…</a>', page, LINK)

    says_what = column("is_isa", SAYS.get, "a fact says", ordering="is_isa")

    @admin.display(description="a change of the policy")
    def policy(self, dimension: Dimension) -> str:
        return (
            "applies to later statements. Conflicts that are open stay in the queue, and what was replaced"
            " stays in the history. But once a dimension keeps all, what waited for a decision is stored. It goes back"
            " to one fact a concept only while no concept has several."
        )

    @admin.display(description="facts")
    def facts(self, dimension: Any) -> SafeString:
        count = max(0, dimension.edge_count - 1)  # the root is no fact
        return counted("admin:memory_edge_changelist", {"dim__id__exact": dimension.pk}, count)

    @admin.display(description="open conflicts")
    def open_conflicts(self, dimension: Any) -> SafeString:
        named = {"dim__id__exact": dimension.pk}
        return counted("admin:resolution_conflict_changelist", named, dimension.conflict_count)

    @admin.display(description="split into")
    def split_into(self, dimension: Dimension) -> SafeString | str:
        splits = dimension.splits.select_related("soas").order_by("soas__token")[:SPLITS_SHOWN]
        return format_html_join(", ", "{}", ((link(split),) for split in splits)) or "-"


def counted(name: str, query: dict[str, Any], count: int) -> SafeString:
    return format_html('<a href="{}?{}" class="{}">{}</a>', reverse(name), urlencode(query), LINK, f"{count:,}")
