"""Admin pages for memories: search, write, edit, promote, take back."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.widgets import UnfoldAdminTextareaWidget

from memory.admin.base import ListFilter, Page, column, link
from memory.channels import Channel
from memory.memories import store
from memory.models import Episode, Memory, MemoryHistory, MemoryLineage
from memory.models.semantic import MEMORY_CHARACTERS
from memory.templatetags.times import ago
from memory.types import whole_number
from resolution.admin.memories import acting, moving, searching
from resolution.admin.memories.episodes import TextSearch
from resolution.admin.memories.forgetting import Forgets, make_forgetting
from resolution.admin.pages import actor_of, link_to_conflict, render_conflicts
from resolution.conflicts.opening import list_open_of
from resolution.memories import service
from resolution.memories.remarks import RemarkMistake, clean_text, compose
from resolution.memories.service import Remembered
from resolution.models import Conflict, ConflictMember
from resolution.nightly.doubts import find_proposed
from resolution.pages.words import format_date, percent

HISTORY_MAX = 50  # changes shown on a memory's page
WORDS = {
    "create": "was written",
    "confirm": "was said again",
    "edit": "was edited",
    "promote": "was promoted",
    "dispute": "is disputed",
    "supersede": "was replaced",
    "merge": "was merged",
    "deprecate": "became too uncertain",
    "invalidate": "was taken back",
    "restore": "holds again",
    "keep": "was kept beside another",
    "undo": "was put back",
}


class StatusFilter(ListFilter):
    """A filter that shows active memories unless another status is selected."""

    title = "status"
    parameter_name = "status"
    standard = "Active"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        statuses = model_admin.model.Status.choices
        others = [(value, str(label).capitalize()) for value, label in statuses if value != "active"]
        return [("disputed", "Disputed"), ("proposed", "Proposed to merge"), *others, ("all", "All")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        if self.value() == "disputed":
            return queryset.filter(status="active", is_disputed=True)
        if self.value() == "proposed":
            return queryset.filter(pk__in=find_proposed())
        return queryset.filter(status=self.value() or "active")


class MemoryForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    class Meta:
        model = Memory
        fields = ("text", "category", "project", "agent", "person")
        widgets = {"text": UnfoldAdminTextareaWidget(attrs={"rows": 3, "maxlength": MEMORY_CHARACTERS})}
        help_texts = {
            "category": "Identity, preferences and episodes are given only to whoever they are of; the others to all"
            " of the project.",
            "project": "Without one it is of the project that all share.",
            "agent": "Whose memory it is, as the name stands in requests.",
            "person": "Whom of those behind the agent it is of, where the client tells them apart.",
        }

    def clean_text(self) -> str:
        try:
            return clean_text(self.cleaned_data["text"])
        except RemarkMistake as mistake:
            raise forms.ValidationError(str(mistake)) from mistake


@admin.register(Memory)
class MemoryAdmin(Forgets, TextSearch, Page):
    form = MemoryForm
    list_display = ("text", "category", "project", "whose", "sureness", "state", "written")
    list_filter = (StatusFilter, "category", "channel", ("project", AutocompleteSelectFilter))
    list_filter_submit = True
    list_select_related = ("project",)
    search_fields = ("text",)
    search_help_text = "Words of the memory, in any form."
    sortable_by = ()
    ordering = ("-id",)
    actions = (
        "promote_them",
        "deprecate_them",
        "take_them_back",
        "restore_them",
        "merge_them",
        "move_them",
        "forget_them",
    )
    change_form_outer_before_template = "resolution/memory_acts.html"
    readonly_fields = (
        "sureness",
        "state",
        "evidence",
        "conflicts",
        "replaced",
        "happened",
        "channel",
        "source",
        "when_said",
        "slot",
    )
    fixed_fields = ("project", "agent", "person")
    own_views = {
        "search/": searching.search_page,
        "merge/": acting.merge_page,
        "move/": moving.move_page,
        "separate/": acting.separate,
        "<int:memory_id>/act/": acting.act_on_one,
    }

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # memories are taken back or forgotten instead

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        memory = Memory.objects.filter(pk=whole_number(object_id) or 0).defer("lexemes").first()
        acts = acting.describe_acts(memory) if memory is not None else {}
        return super().change_view(request, object_id, form_url, acts | (extra_context or {}))

    def get_fieldsets(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        if obj is None:
            return ((None, {"fields": ("text", "category", "project", "agent", "person")}),)
        return (
            (None, {"fields": ("text", "category", "project", ("agent", "person"))}),
            ("How sure it is", {"fields": ("state", "sureness", "evidence", "conflicts", "replaced")}),
            ("Where it is from", {"fields": ("channel", "source", "when_said", "slot")}),
            ("What happened to it", {"fields": ("happened",)}),
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        actor = actor_of(request)
        if change:
            edited = service.edit(obj.pk, actor, text=form.cleaned_data["text"], category=form.cleaned_data["category"])
            self._tell_conflict(request, edited)
            return
        remark = compose(
            obj.text, obj.category, store.scope_of(obj), Channel.OPERATOR, timezone.now(),
            source=Memory.Source.OPERATOR, actor=actor.signature,
        )  # fmt: skip
        [written] = service.remember([remark])
        assert written.memory is not None
        obj.pk = written.memory.pk
        for other in written.superseded:
            self.message_user(request, format_html("It takes the place of {}.", link(other)))
        for other in written.disputed:
            told = format_html("It contradicts {}: both are marked as disputed.", link(other))
            self.message_user(request, told, messages.WARNING)
        self._tell_conflict(request, written)

    def _tell_conflict(self, request: HttpRequest, outcome: Remembered) -> None:
        """Report conflicts with other layers after the commit: they are looked for only when the page's transaction
        ends."""
        if outcome.memory is None or outcome.disputed:
            return
        key = outcome.memory.pk

        def tell() -> None:
            for one in list_open_of(ConflictMember.Kind.MEMORY, [key]).get(key, ()):
                told = format_html("It contradicts something: {}.", link_to_conflict(one["id"]))
                self.message_user(request, told, messages.WARNING)

        transaction.on_commit(tell)

    # A memory has its own history. Django's log would keep the text of what is forgotten.
    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return None

    # --- columns ---

    @admin.display(description="whose")
    def whose(self, row: Memory) -> str:
        return f"{row.person} ({row.agent})" if row.person else row.agent

    @admin.display(description="sure")
    def sureness(self, row: Memory) -> str:
        return percent(store.current_confidence(row, timezone.now())).replace(" ", "\u00a0")

    @admin.display(description="status")
    def state(self, row: Memory) -> str:
        return capfirst(f"{row.get_status_display()}{', disputed' if row.is_disputed else ''}")

    when_said = column("said_at", format_date, "said at")
    written = column("last_updated", ago, "last evidence")

    @admin.display(description="evidence")
    def evidence(self, row: Memory) -> SafeString | str:
        episodes = Episode.objects.defer("lexemes").filter(
            pk__in=row.lineage.filter(kind=MemoryLineage.Kind.EPISODE).values("row")
        )
        merged = Memory.objects.filter(pk__in=row.lineage.filter(kind=MemoryLineage.Kind.MEMORY).values("row"))
        said: list[Episode | Memory] = [*episodes.order_by("pk")[:20], *merged[:20]]
        shown = [link(one, f"“{one.text[:160]}”") for one in said]
        counted = "said once" if row.evidence_count == 1 else f"said {row.evidence_count:,} times"
        return format_html("<div>{}</div>{}", counted, format_html_join("", "<div>{}</div>", ((one,) for one in shown)))

    @admin.display(description="conflicts")
    def conflicts(self, row: Memory) -> SafeString | str:
        of_row = Conflict.objects.filter(members__kind=ConflictMember.Kind.MEMORY, members__object_id=row.pk)
        return render_conflicts(of_row.order_by("-id")[:20])

    @admin.display(description="other memories")
    def replaced(self, row: Memory) -> SafeString | str:
        pairs = [("replaced by", row.superseded_by), ("merged into", row.merged_into)]
        pairs += [("replaced", one) for one in row.superseded.all()[:20]]
        pairs += [("took in", one) for one in row.merged.all()[:20]]
        shown = ((what, link(one)) for what, one in pairs if one is not None)
        return format_html_join("", "<div>{} {}</div>", shown) or "none"

    @admin.display(description="history")
    def happened(self, row: Memory) -> SafeString | str:
        return format_html_join(
            "", "<div>{}: {} ({}){}</div>", map(describe, row.history.order_by("-id")[:HISTORY_MAX])
        )

    # --- actions ---

    promote_them = acting.make_action("promote", "Promote: true, give it")
    deprecate_them = acting.make_action("deprecate", "Deprecate: too uncertain to be given")
    take_them_back = acting.make_action("invalidate", "Take back: not true, or of no use")
    restore_them = acting.make_action("restore", "Restore: it holds again")
    merge_them = acting.merge_them
    move_them = moving.move_them
    forget_them = make_forgetting("Forget for good: text, history and all …")


def describe(row: MemoryHistory) -> tuple[str, str, str, str]:
    """Return when, what, by whom, and why or how."""
    before, after = row.before or {}, row.after or {}
    changed = [f"{before[name]} → {after[name]}" for name in ("text", "category") if name in before and name in after]
    if "confidence" in before:
        changed.append(f"{percent(before['confidence'])} → {percent(after['confidence'])}")
    moved = moving.describe_move(row)
    how = "; ".join(filter(None, (row.reason, moved, *changed)))
    what = "took others in" if "merged" in after else "was moved" if moved else WORDS[row.action]
    return ago(row.at), what, row.actor, f": {how}" if how else ""
