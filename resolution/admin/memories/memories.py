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
from unfold.dataclasses import UnfoldAction
from unfold.widgets import UnfoldAdminTextareaWidget

from memory.admin.base import DayFilter, ListFilter, Page, address, column, display_once, link, speaker_filters, whose
from memory.channels import Channel
from memory.memories import store
from memory.models import Episode, Memory, MemoryLineage
from memory.models.semantic import MEMORY_CHARACTERS
from memory.templatetags.times import ago
from memory.types import whole_number
from resolution.admin.memories import acting, searching
from resolution.admin.memories.episodes import TextSearch
from resolution.admin.memories.forgetting import Forgets
from resolution.admin.memories.unfit import Unfits
from resolution.admin.pages import actor_of, link_to_conflict, render_conflicts
from resolution.conflicts.change_log import recording
from resolution.conflicts.opening import list_open_of
from resolution.memories import service
from resolution.memories.remarks import RemarkMistake, clean_text, compose
from resolution.memories.service import Remembered
from resolution.models import Conflict, ConflictMember, Decision
from resolution.nightly.doubts import find_proposed
from resolution.pages.timeline import tell_memory
from resolution.pages.words import format_date, percent


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
            "category": "Identity, preferences and episodes are recalled only to their owner; the others to all"
            " of the project.",
            "project": "No project: shared by all.",
            "agent": "Owner, as requests name it.",
            "person": "End user, if the client sends one.",
        }

    def clean_text(self) -> str:
        try:
            return clean_text(self.cleaned_data["text"])
        except RemarkMistake as mistake:
            raise forms.ValidationError(str(mistake)) from mistake

    def clean(self) -> None:
        said = self.cleaned_data
        is_moved = self.instance.pk is not None and "project" in self.changed_data and "text" in said
        if is_moved and (obstacle := service.find_obstacle(self.instance, said["project"], said["text"])):
            self.add_error("project", f"{capfirst(obstacle)}.")


@admin.register(Memory)
class MemoryAdmin(Unfits, Forgets, TextSearch, Page):
    empty = "Memories are short sentences that prompts get. Say “Remember that …” in a chat, or write one here."
    form = MemoryForm
    list_display = ("text", "category", "project", "whose", "sureness", "state", "written")
    list_filter = (
        StatusFilter,
        *speaker_filters(),
        ("said_at", DayFilter),
        "category",
        "channel",
        ("project", AutocompleteSelectFilter),
    )
    list_filter_submit = True
    list_select_related = ("project",)
    search_fields = ("text",)
    sortable_by = ()
    ordering = ("-id",)
    actions = ("promote_them", "deprecate_them", "take_them_back", "restore_them", "merge_them", "delete_selected")
    change_form_outer_after_template = "resolution/memory_timeline.html"
    actions_detail = (*acting.ACTS, "merge_with", "separate")
    readonly_fields = (
        "whose",
        "sureness",
        "state",
        "evidence",
        "conflicts",
        "replaced",
        "channel",
        "source",
        "when_said",
        "slot",
        "unfit",
    )
    own_views = {**Unfits.own_views, "search/": searching.search_page, "merge/": acting.merge_page}

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        memory = Memory.objects.filter(pk=whole_number(str(object_id)) or 0).defer("lexemes").first()
        offered = acting.find_offered(memory) if memory is not None else set()
        return [one for one in super().get_actions_detail(request, object_id) if one.path in offered]

    def get_fieldsets(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        if obj is None:
            return ((None, {"fields": ("text", "category", "project", "agent", "person")}),)
        return (
            (None, {"fields": ("text", "category", "project", "whose")}),
            ("Confidence", {"fields": ("state", "sureness", "evidence", "conflicts", "replaced")}),
            ("Where it is from", {"fields": ("channel", "source", "when_said", "slot", "unfit")}),
        )

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Memory | None = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            # No field: Unfold asks several times for the value of one.
            context["timeline"] = tell_memory(obj, with_conflicts=request.user.has_perm("resolution.view_conflict"))
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        actor = actor_of(request)
        if change:
            said = form.cleaned_data
            with recording(Decision.Kind.CONSOLIDATE, actor, "", arguments={"memory": obj.pk}) as decision:
                edited = service.edit(obj.pk, actor, text=said["text"], category=said["category"])
                if "project" in form.changed_data:
                    edited = service.move(obj.pk, said["project"], actor)
            if decision.changes.exists():
                back = address(Memory, obj.pk)
                told = acting.with_undo(request, "The edit is in the timeline.", str(decision.pk), back)
                self.message_user(request, told, messages.SUCCESS)
            self._tell(request, edited)
            return
        remark = compose(
            obj.text, obj.category, store.scope_of(obj), Channel.OPERATOR, timezone.now(),
            source=Memory.Source.OPERATOR, actor=actor.signature,
        )  # fmt: skip
        [written] = service.remember([remark])
        assert written.memory is not None
        obj.pk = written.memory.pk
        self._tell(request, written)

    def _tell(self, request: HttpRequest, outcome: Remembered) -> None:
        """Report what the memory replaces or contradicts. Conflicts with other layers are reported after the commit:
        they are looked for only when the page's transaction ends."""
        for other in outcome.superseded:
            self.message_user(request, format_html("It replaces {}.", link(other)))
        for other in outcome.disputed:
            told = format_html("It contradicts {}: both are marked as disputed.", link(other))
            self.message_user(request, told, messages.WARNING)
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

    whose = whose

    @admin.display(description="confidence")
    def sureness(self, row: Memory) -> str:
        return percent(store.current_confidence(row, timezone.now())).replace(" ", "\u00a0")

    @admin.display(description="status")
    def state(self, row: Memory) -> str:
        return capfirst(f"{row.get_status_display()}{', disputed' if row.is_disputed else ''}")

    when_said = column("said_at", format_date, "said at")
    written = column("last_updated", ago, "last evidence")

    @admin.display(description="evidence")
    @display_once
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
    @display_once
    def conflicts(self, row: Memory) -> SafeString | str:
        of_row = Conflict.objects.filter(members__kind=ConflictMember.Kind.MEMORY, members__object_id=row.pk)
        return render_conflicts(of_row.order_by("-id")[:20])

    @admin.display(description="other memories")
    @display_once
    def replaced(self, row: Memory) -> SafeString | str:
        pairs = [("replaced by", row.superseded_by), ("merged into", row.merged_into)]
        pairs += [("replaced", one) for one in row.superseded.all()[:20]]
        pairs += [("took in", one) for one in row.merged.all()[:20]]
        shown = ((what, link(one)) for what, one in pairs if one is not None)
        return format_html_join("", "<div>{} {}</div>", shown) or "none"

    # --- actions ---

    promote, promote_them = acting.make_dialog(acting.PROMOTE), acting.make_action(acting.PROMOTE)
    deprecate, deprecate_them = acting.make_dialog(acting.DEPRECATE), acting.make_action(acting.DEPRECATE)
    take_back, take_them_back = acting.make_dialog(acting.TAKE_BACK), acting.make_action(acting.TAKE_BACK)
    restore, restore_them = acting.make_dialog(acting.RESTORE), acting.make_action(acting.RESTORE)
    merge_with, merge_them, separate = acting.merge_with, acting.merge_them, acting.separate
