"""Admin pages for the history of facts: each change as a sentence, and a dialog that puts back what was retired."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action
from unfold.views import ChangeList

from memory.admin.base import LINK, DayFilter, Page, ReadOnly, WordSearch, link, render_preformatted, requires
from memory.admin.dialogs import ReasonForm, dialog, leave_dialog
from memory.models import Edge, EdgeHistory
from memory.templatetags.dialogs import dialog_link
from memory.types import whole_number
from resolution.admin.pages import link_to
from resolution.errors import CannotPutBack
from resolution.intake import retirement
from resolution.pages.timeline import describe_events
from resolution.pages.words import describe_history, names_in


class HistoryList(ChangeList):
    """A list that describes the rows of the page and finds which can be put back, in two queries for all."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)  # the list page shows these same objects
        retired = [row for row in rows if row.action == EdgeHistory.Action.RETIRE]
        slots = Q(concept__in=[row.concept_id for row in retired], dim__in=[row.dim_id for row in retired])
        taken = {edge.place for edge in Edge.objects.filter(slots)} if retired else set()
        may_put_back = request.user.has_perm("memory.delete_edge")
        for row, what, can_return in describe_events(rows, taken):
            row.what_happened, row.can_return = what, may_put_back and can_return  # type: ignore[attr-defined]
            row.page_of_list = request.get_full_path()  # type: ignore[attr-defined]


@admin.register(EdgeHistory)
class EdgeHistoryAdmin(WordSearch, ReadOnly, Page):
    empty = "Every change of a fact has a line here, from the first fact on."
    list_name = "history"
    list_display = ("at", "what", "concept_link", "dimension", "actor", "source", "channel", "reason", "put_back_link")
    list_filter = (
        ("at", DayFilter),
        "action",
        "source",
        "channel",
        ("concept", AutocompleteSelectFilter),
        ("dim", AutocompleteSelectFilter),
    )
    list_filter_submit = True
    list_select_related = ("concept", "dim")
    sortable_by = ()
    ordering = ("-id",)
    fields = ("what", "at", "concept_link", "dimension", "actor", "role", "source", "channel", "reason", "pictures")
    readonly_fields = ("what", "concept_link", "dimension", "pictures")
    actions_detail = ("put_back",)
    has_put_back_permission = requires("memory.delete_edge")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return HistoryList

    # --- columns ---

    @admin.display(description="what")
    def what(self, row: EdgeHistory) -> str:
        told: str | None = getattr(row, "what_happened", None)
        return describe_history(row, names_in((row.before, row.after))) if told is None else told

    describe = what
    concept_link = link_to("concept")
    dimension = link_to("dim", "dimension")

    @admin.display(description="as it was stored")
    def pictures(self, row: EdgeHistory) -> SafeString:
        lines = [f"before: {row.before}", f"after: {row.after}"]
        return render_preformatted("\n".join(lines))

    @admin.display(description="put back")
    def put_back_link(self, row: Any) -> SafeString | str:
        if not row.can_return:
            return ""
        address = reverse("admin:memory_edgehistory_put_back", args=[row.pk])
        return dialog_link("Put back…", f"{address}?{urlencode({'next': row.page_of_list})}", css=LINK)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        retired = EdgeHistory.objects.filter(pk=whole_number(str(object_id)) or 0, action=EdgeHistory.Action.RETIRE)
        return super().get_actions_detail(request, object_id) if retired.exists() else []

    @action(
        description="Put back", url_path="put-back", permissions=["put_back"],
        dialog=dialog("Put back", "The fact is current again, as it was when it was retired."),
    )  # fmt: skip
    def put_back(self, request: HttpRequest, form: ReasonForm, object_id: str) -> HttpResponse:
        row_id, reason = whole_number(object_id) or 0, form.cleaned_data["reason"] or "put back in the admin"
        try:
            edge = retirement.put_back(row_id, actor=request.user.get_username(), reason=reason)
        except CannotPutBack as error:
            self.message_user(request, f"Nothing was put back. {error}", messages.ERROR)
        else:
            sentence = format_html("Put back: {} is current again.", link(edge))
            self.message_user(request, sentence, messages.SUCCESS)
        return leave_dialog(request, "admin:memory_edgehistory_changelist")
