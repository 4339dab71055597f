"""The desk: lists of what operators decide, with one key each, and a page for each row. Every decision is recorded, and
undone with the button in its message."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Final, Protocol

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET, require_POST, require_safe
from unfold.forms import ActionForm

from memory.admin.base import Page, ReadOnly, next_page
from memory.admin.dialogs import with_button
from memory.english.phrases import format_count
from memory.types import whole_number
from resolution.actors import Actor
from resolution.admin.decisions import MAY_UNDO
from resolution.admin.pages import actor_of, changes
from resolution.conflicts import undo
from resolution.errors import DecisionError, UnknownId
from resolution.models import Decision
from resolution.pages.desk import parse_seen
from resolution.pages.words import describe_decision

UNDOING_S: Final = 20.0  # time limit for undoing in one request
REASONS_TOLD: Final = 5  # reasons shown for skipped rows
REASON_MAX: Final = 2_000  # characters
NO_FILTERS: Final = ("after", "member", "p", "e")  # parameters of the desk's addresses


class BulkForm(ActionForm):
    reason = forms.CharField(
        label="Reason for all that are selected",
        required=False,
        max_length=REASON_MAX,
        widget=forms.TextInput(
            attrs={"class": "fst-input", "placeholder": "Reason (optional)", "autocomplete": "off"},
        ),
    )


class DeskRow(Protocol):
    """A row in words, as far as the desk needs it; its templates show more. ``seen`` is a token of what is shown."""

    @property
    def title(self) -> str: ...

    @property
    def seen(self) -> str: ...


def bulk(kind: str, label: str, outcome: str) -> Any:
    """Return an action that makes one decision about each selected row."""

    @admin.action(description=label, permissions=["decide"])
    def decide_selected(page: "DeskPage", request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        return page.decide_selected(request, kind, outcome)

    return decide_selected


class DeskPage(ReadOnly, Page):
    """A list and a page of what is decided. A row waits while its ``state_field``, by which the list is
    filtered too, is "open"."""

    change_list_template = "resolution/desk_list.html"
    list_filter_submit = True
    action_form = BulkForm
    own_views: Mapping[str, str | Callable[..., HttpResponse]] = {
        "next/": "next",
        "bulk/undo/": "undo_bulk",
        "<int:desk_id>/decide/": "decide",
    }
    state_field: ClassVar[str]
    noun: ClassVar[str]
    quick_keys: ClassVar[Sequence[tuple[str, str]]]  # the keys of decisions in the list, and what they do

    def has_decide_permission(self, request: HttpRequest) -> bool:
        raise NotImplementedError

    def read_rows(self, rows: Iterable[Any]) -> Sequence[DeskRow]:
        """Return the rows in words, as the list shows them."""
        raise NotImplementedError

    def load_row(self, key: int, member: int | None) -> DeskRow | None:
        """Return a row in words, as its page shows it, or None if there is none. ``member`` is the one in view."""
        raise NotImplementedError

    def carry_out(self, key: int, seen: str, kind: str, given: Mapping[str, str], actor: Actor) -> Decision:
        """Make the decision ``kind`` of a form about the row as it was ``seen``. Raises DecisionError."""
        raise NotImplementedError

    def find_next(self, rows: QuerySet[Any], after: Any) -> Model | None:
        """Return the open row that follows this one in the order of the list, or else the first; None if none is
        left."""
        raise NotImplementedError

    # --- pages ---

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the list's template needs besides the rows."""
        return {}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        shown = super().changelist_view(request, extra_context)
        if isinstance(shown, TemplateResponse) and shown.context_data and "cl" in shown.context_data:
            shown.context_data |= {
                **self._context(request),
                "frame": "admin/change_list.html",
                "rows": self.read_rows(shown.context_data["cl"].result_list),
                "here": list_of(request),
                **self.list_context(request),
            }
        return shown

    @method_decorator(require_safe)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self._show(request, whole_number(object_id) or 0, whole_number(request.GET.get("member", "")))

    @method_decorator(require_GET)
    def next(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the open row that follows the one named by ``after``."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        after = whole_number(request.GET.get("after", "")) or 0
        return self._go_on(request, self.model._default_manager.filter(pk=after).first())

    # --- decisions ---

    @method_decorator(require_POST)
    def decide(self, request: HttpRequest, desk_id: int) -> HttpResponse:
        if not self.has_decide_permission(request):
            raise PermissionDenied
        given = request.POST.dict()
        # Without this check, a row could be decided that has changed since it was shown.
        if (seen := parse_seen(given.get("seen", ""))) is None or seen[0] != desk_id:
            messages.error(request, "Nothing was decided: the form does not say what you saw. Look at it again.")
            return self._show(request, desk_id, typed=given)
        try:
            decision = self.carry_out(*seen, given.get("decision", ""), given, actor_of(request))
        except UnknownId as error:
            messages.error(request, str(error))
            return redirect(self._address("changelist"))
        except DecisionError as error:
            messages.error(request, f"Nothing was decided. {error}")
            return self._show(request, desk_id, typed=given)
        back = self._list(request) if given.get("then") == "list" else next_page(request)
        address = f"{reverse('admin:resolution_decision_undo', args=[decision.pk])}{filters_of(request)}"
        self._report(request, f"Decided. {describe_decision(decision)}.", "Undo", address, next=back)
        if back:
            return redirect(back)
        after = self.model._default_manager.get(pk=desk_id)
        if getattr(after, self.state_field) == "open":  # another of its members is undecided
            return redirect(f"{_page_of(after)}{filters_of(request)}")
        return self._go_on(request, after)

    def decide_selected(self, request: HttpRequest, kind: str, outcome: str) -> HttpResponse:
        """Decide all selected rows, each in its own transaction."""
        seen = dict(one for one in map(parse_seen, request.POST.getlist("seen")) if one is not None)
        done: list[Decision] = []
        skipped: list[str] = []
        for key in filter(None, map(whole_number, request.POST.getlist(ACTION_CHECKBOX_NAME))):
            try:
                done.append(self.carry_out(key, seen.get(key, ""), kind, request.POST.dict(), actor_of(request)))
            except DecisionError as error:
                skipped.append(str(error))
        back = self._list(request)
        if done:
            keys = ",".join(str(one.pk) for one in done)
            undo_them = self._address("bulk_undo")
            self._report(request, f"{len(done)} {outcome}.", "Undo all", undo_them, decisions=keys, next=back)
        if skipped:
            messages.warning(request, f"{len(skipped)} skipped: {_shorten(skipped)}")
        return redirect(back)

    @changes(MAY_UNDO)
    def undo_bulk(self, request: HttpRequest) -> HttpResponse:
        keys = [key for key in map(whole_number, request.POST.get("decisions", "").split(",")) if key is not None]
        report = undo.undo_all(keys, actor_of(request), within_s=UNDOING_S)
        if report.undone:
            messages.success(request, f"{format_count(len(report.undone), 'decision')} undone.")
        left = [reason for _, reason in report.refused] + ["There was no time left."] * report.left
        if left or not report.undone:
            messages.warning(request, f"{format_count(len(left), 'decision')} not undone. {_shorten(left)}")
        return redirect(next_page(request) or self._address("changelist"))

    # --- internals ---

    def _address(self, view: str) -> str:
        return reverse(self._name(view))

    def _name(self, view: str) -> str:
        return f"admin:{self.opts.app_label}_{self.opts.model_name}_{view}"

    def _list(self, request: HttpRequest) -> str:
        return f"{self._address('changelist')}{list_of(request)}"

    def _report(self, request: HttpRequest, told: str, button: str, address: str, **fields: str) -> None:
        """Report a decision, with a button that undoes it."""
        if request.user.has_perm(MAY_UNDO):
            given = {name: value for name, value in fields.items() if value}
            messages.success(request, with_button(request, told, button, address, css="desk-undo", **given))
        else:
            messages.success(request, told)

    def _context(self, request: HttpRequest) -> dict[str, Any]:
        return {
            "noun": self.noun,
            "desk": {view: self._name(view) for view in ("changelist", "next", "decide")},
            "decides": self.has_decide_permission(request),
            "filters": filters_of(request),
            "quick_keys": self.quick_keys,
        }

    def _show(
        self, request: HttpRequest, key: int, member: int | None = None, typed: Mapping[str, str] | None = None
    ) -> HttpResponse:
        """Render a row. ``typed`` holds the fields of a refused decision, to be corrected."""
        typed = typed or {}
        page = self.load_row(key, member or whole_number(typed.get("member", "")))
        if page is None:
            messages.error(request, f"There is no {self.noun} {key}.")
            return redirect(self._address("changelist"))
        context = {
            **self.admin_site.each_context(request),
            **self._context(request),
            "opts": None,
            "title": f"{self.noun.capitalize()} {key}: {page.title}",
            "page": page,
            "typed": {**getattr(page, "fields", {}), "member": str(member or ""), **typed},
        }
        return TemplateResponse(request, "resolution/desk_page.html", context)

    def _go_on(self, request: HttpRequest, after: Model | None) -> HttpResponse:
        """Redirect to the next open row that the list's filters show."""
        filters = filters_of(request)
        if (following := self.find_next(self._filter(request), after)) is not None:
            return redirect(f"{_page_of(following)}{filters}")
        none = f"These filters show no open {self.noun}." if filters else f"No {self.noun} is open."
        messages.info(request, none)
        return redirect(f"{self._address('changelist')}{filters}")

    def _filter(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the list by the filters in this address; open ones, if those are filtered out."""
        listed, filters = copy(request), request.GET.copy()
        state = [self.state_field] if filters.get(self.state_field) != "proposed" else []
        for name in (*NO_FILTERS, *state):
            filters.pop(name, None)
        listed.GET = QueryDict(filters.urlencode())
        try:
            rows: QuerySet[Any] = self.get_changelist_instance(listed).queryset
        except IncorrectLookupParameters:
            return self.get_queryset(request)
        return rows


def _page_of(row: Any) -> str:
    address: str = row.get_absolute_url()
    return address


def _shorten(reasons: list[str]) -> str:
    more = f" And {len(reasons) - REASONS_TOLD} more." if len(reasons) > REASONS_TOLD else ""
    return f"{' '.join(reasons[:REASONS_TOLD])}{more}"


def filters_of(request: HttpRequest) -> str:
    """Return the filters of the list as a query string, "" for none."""
    kept = request.GET.copy()
    for name in NO_FILTERS:
        kept.pop(name, None)
    return f"?{kept.urlencode()}" if kept else ""


def list_of(request: HttpRequest) -> str:
    """Return the query string of the list: the filters and the page number."""
    query, page = filters_of(request), request.GET.get("p", "")
    return f"{query}{'&' if query else '?'}p={page}" if page.isascii() and page.isdigit() else query
