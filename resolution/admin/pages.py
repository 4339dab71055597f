"""Shared parts of the admin pages about the graph: the actor, permissions, links to rows, and read-only pages."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.dataclasses import ActionDialog
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminTextInputWidget

from memory import llm
from memory.admin.base import LINK, link, next_page
from memory.llm.client import Use
from memory.models import Source
from resolution.actors import Actor
from resolution.models import Claim, Conflict
from resolution.pages.words import Origin

REASON_MAX: Final = 500  # characters


class ReasonForm(BaseDialogForm):
    """Asks for the reason of an act."""

    # Focused once the dialog is visible, which Alpine makes it in a task of its own.
    reason = forms.CharField(
        label="Why", max_length=REASON_MAX, required=False, help_text="Kept in the history.",
        widget=UnfoldAdminTextInputWidget({"autocomplete": "off", "x-init": "setTimeout(() => $el.focus(), 50)"}),
    )  # fmt: skip


def dialog(label: str, what: str, form: type[BaseDialogForm] = ReasonForm) -> ActionDialog:
    """Return the dialog of an act. ``label`` is its button's, ``what`` says what the act does."""
    return ActionDialog(title=label, description=what, form_class=form, form_submit_text=label)


def leave_dialog(request: HttpRequest, to: str, *args: Any) -> HttpResponse:
    """Go to a page after an act: where the dialog was opened, if its address names that, or this one. HTMX, which sends
    the dialogs, would show that page inside the dialog."""
    response = redirect(next_page(request)) if next_page(request) else redirect(to, *args)
    return HttpResponse(headers={"HX-Redirect": response.url}) if "HX-Request" in request.headers else response


def actor_of(request: HttpRequest) -> Actor:
    return Actor(request.user.get_username(), Source.OPERATOR)


def changes(permission: str) -> Any:
    """Return a decorator for a page's method that changes something: it requires POST and the permission."""
    return method_decorator([require_POST, permission_required(permission, raise_exception=True)])


def link_to(field: str, description: str = "", text: str | None = None) -> Callable[[Any, Any], SafeString | str]:
    """Return a column that links to the row in the field."""

    @admin.display(description=description or field)
    def column(page: Any, row: Any) -> SafeString | str:
        return link(getattr(row, field), text) if getattr(row, field) is not None else "-"

    return column


def link_to_claim(claim: Claim, text: str | None = None) -> SafeString:
    """Return a link to the page of the claim's conflict."""
    return format_html('<a href="{}" class="{}">{}</a>', claim.get_absolute_url(), LINK, text or str(claim))


def link_to_conflict(conflict_id: int) -> SafeString:
    return link(Conflict(pk=conflict_id), f"conflict {conflict_id}")


def render_conflicts(conflicts: Iterable[Conflict]) -> SafeString | str:
    shown = ((link_to_conflict(one.pk), one.get_status_display().lower()) for one in conflicts)
    return format_html_join("", "<div>{} ({})</div>", shown) or "none"


def dialog_link(label: str, address: str) -> SafeString:
    """Return a link that opens the dialog of that address."""
    return format_html(
        '<a href="{}" hx-get="{}" hx-target="#modal-content" hx-select="#dialog"'
        ' x-on:htmx:after-on-load="openModal = true" class="{}">{}</a>',
        address, address, LINK, label,
    )  # fmt: skip


def with_button(
    request: HttpRequest, sentence: str, button: str, address: str, *, css: str = "", **fields: str
) -> SafeString:
    """Return the sentence with a button that posts the fields. What a dialog would ask first is not asked."""
    hidden = (("csrfmiddlewaretoken", get_token(request)), ("_form_submitted", "true"), *fields.items())
    return format_html(
        '<form method="post" action="{}" class="fst-row"><span>{}</span>{}'
        '<button class="fst-button {}">{}</button></form>',
        address,
        sentence,
        format_html_join("", '<input type="hidden" name="{}" value="{}">', hidden),
        css,
        button,
    )


def asks_first(request: HttpRequest, setting: Use) -> bool:
    """True if clients use the model that is chosen for this: then a message asks whether to start the run."""
    told = "" if "all_the_same" in request.POST else llm.tell_in_use(setting)
    if told:
        fields = {"all_the_same": "true", "next": request.POST.get("next", "")}
        messages.warning(request, with_button(request, told, "Run it all the same", request.path, **fields))
    return bool(told)


def render_origin(origin: Origin) -> SafeString | str:
    """Render a link to the request in which something was said, or say why there is none."""
    if not origin.request:
        return "no request: it was not said in a prompt"
    if not origin.is_kept:
        return f"the request is no longer kept: requests are for {origin.days} days"
    return format_html('<a href="{}" class="{}">the request it came in</a>', origin.request, LINK)
