"""Admin pages for project state: operators set, replace and take back values."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import action
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from memory.admin.base import Page, column, display_once, limit_selection, link, requires
from memory.admin.dialogs import ReasonForm, dialog, leave_dialog
from memory.models import ProjectState
from memory.models.state import VALUE_CHARACTERS
from memory.templatetags.times import ago
from memory.types import whole_number
from resolution.admin.memories.memories import StatusFilter
from resolution.admin.pages import actor_of, link_to_conflict, render_conflicts
from resolution.errors import DecisionError, InvalidDecision
from resolution.memories import project_state as service
from resolution.memories.project_state import STATE, SettledState
from resolution.models import Conflict

HISTORY_MAX = 50  # values shown of one category and key


class StateForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    reason = forms.CharField(
        required=False, widget=UnfoldAdminTextInputWidget, help_text="Why it is so, for whoever reads it later."
    )

    class Meta:
        model = ProjectState
        fields = ("project", "category", "key", "value", "reason")
        widgets = {"value": UnfoldAdminTextareaWidget(attrs={"rows": 2, "maxlength": VALUE_CHARACTERS})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial["reason"] = ""  # the old value's reason does not explain a new value

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        for name in ("category", "key", "value") & said.keys():
            try:
                read = service.read_value(said[name]) if name == "value" else service.read_name(said[name], f"a {name}")
            except InvalidDecision as mistake:
                self.add_error(name, f"{mistake}.")
            else:
                said[name] = read
        return said

    def validate_constraints(self) -> None:
        """Skip the unique constraint: a new value replaces the active one."""


@admin.register(ProjectState)
class ProjectStateAdmin(Page):
    empty = "Values that are decided for a project, such as its material or its deadline."
    list_name = "project state values"
    form = StateForm
    list_display = ("name", "value", "project", "state", "set_by", "settled")
    list_filter = (StatusFilter, "category", ("project", AutocompleteSelectFilter))
    list_filter_submit = True
    list_select_related = ("project",)
    search_fields = ("category", "key", "value")
    sortable_by = ()
    ordering = ("project__slug", "category", "key", "-id")
    actions = ("take_them_back",)
    actions_detail = ("take_back",)
    readonly_fields = ("state", "set_by", "settled", "ended", "conflicts", "before")
    fixed_fields = ("project", "category", "key")
    has_take_back_permission = requires("memory.change_projectstate")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # values are replaced or taken back instead

    def has_change_permission(self, request: HttpRequest, obj: ProjectState | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or obj.status == "active")

    def get_fieldsets(self, request: HttpRequest, obj: ProjectState | None = None) -> Any:
        place = (None, {"fields": ("project", ("category", "key"), "value", "reason")})
        if obj is None:
            return (place,)
        ended = () if obj.status == "active" else ("ended",)
        about = ("What became of it", {"fields": ("state", "set_by", "settled", *ended, "conflicts", "before")})
        return (place, about)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"category": "decision", **super().get_changeform_initial_data(request)}

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        said = form.cleaned_data
        settled = service.settle(obj.project, obj.category, obj.key, said["value"], actor_of(request), said["reason"])
        obj.pk = settled.row.pk
        self._tell(request, settled)

    def _tell(self, request: HttpRequest, settled: SettledState) -> None:
        if settled.status == "replaced" and settled.replaced is not None:
            self.message_user(request, format_html("It replaces {}.", link(settled.replaced)))
        if settled.warning:
            self.message_user(request, settled.warning, messages.WARNING)
        elif settled.conflict_id is not None:
            told = format_html("It contradicts something: {}.", link_to_conflict(settled.conflict_id))
            self.message_user(request, told, messages.WARNING)

    # --- columns ---

    @admin.display(description="what")
    def name(self, row: ProjectState) -> str:
        return f"{row.category}.{row.key}"

    @admin.display(description="status")
    def state(self, row: ProjectState) -> str:
        if row.status == "active":
            return "Active, disputed" if row.is_disputed else "Active"
        return "Replaced" if row.superseded_by_id else "Taken back"

    @admin.display(description="set by")
    def set_by(self, row: ProjectState) -> str:
        return f"{row.actor}: {row.reason}" if row.reason else row.actor

    settled = column("set_at", ago, "set")

    @admin.display(description="ended")
    def ended(self, row: ProjectState) -> SafeString:
        why = f": {row.archive_reason}" if row.archive_reason else ""
        by = f" by {row.archived_by}" if row.archived_by else ""
        after = format_html(", replaced by {}", link(row.superseded_by)) if row.superseded_by else ""
        when = ago(row.archived_at) if row.archived_at else ""
        return format_html("{}{}{}{}", when, by, why, after)

    @admin.display(description="conflicts")
    @display_once
    def conflicts(self, row: ProjectState) -> SafeString | str:
        disputes = Conflict.objects.filter(members__kind=STATE, members__object_id=row.pk)
        return render_conflicts(disputes.order_by("-id")[:HISTORY_MAX])

    @admin.display(description="other values of it")
    @display_once
    def before(self, row: ProjectState) -> SafeString | str:
        places = ProjectState.objects.filter(project=row.project_id, category=row.category, key=row.key)
        others = places.exclude(pk=row.pk).order_by("-id")[:HISTORY_MAX]
        shown = ((ago(one.set_at), link(one, one.value), self.state(one).lower(), one.actor) for one in others)
        return format_html_join("", "<div>{}: {} ({}, set by {})</div>", shown) or "none"

    # --- actions ---

    @action(
        description="Take back", permissions=["take_back"], dialog=dialog("Take back", "The project has no such value.")
    )
    def take_back(self, request: HttpRequest, form: ReasonForm, object_id: str) -> HttpResponse:
        row = ProjectState.objects.select_related("project").filter(pk=whole_number(object_id) or 0, status="active")
        for one in row:
            service.withdraw(one.project, one.category, one.key, actor_of(request), form.cleaned_data["reason"])
            self.message_user(request, f"Taken back: {one}.", messages.SUCCESS)
        return leave_dialog(request, "admin:memory_projectstate_change", object_id)

    @admin.action(description="Take back: it is no longer current", permissions=["take_back"])
    def take_them_back(self, request: HttpRequest, queryset: QuerySet[ProjectState]) -> None:
        keys, more = limit_selection(queryset.filter(status="active"))
        count = 0
        for row in ProjectState.objects.filter(pk__in=keys).select_related("project"):
            try:
                service.withdraw(row.project, row.category, row.key, actor_of(request), "taken back in the admin")
                count += 1
            except DecisionError as mistake:
                self.message_user(request, str(mistake), messages.WARNING)
        self.message_user(request, f"{count:,} taken back{more}.", messages.SUCCESS)
