"""Acts of the admin: dialogs that ask first, and messages with a button that undoes an act."""

from collections.abc import Callable
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.dataclasses import ActionDialog
from unfold.decorators import action
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminTextInputWidget

from memory.admin.base import Page, address, next_page
from memory.english.phrases import shorten
from memory.types import whole_number

REASON_MAX: Final = 500  # characters
NAMED_MAX: Final = 200  # characters of a row in a dialog


class ReasonForm(BaseDialogForm):
    """Names the row that an act is about, and asks for the reason."""

    # Focused once the dialog is visible, which Alpine makes it in a task of its own.
    reason = forms.CharField(
        label="Why", max_length=REASON_MAX, required=False, help_text="Kept in the history.",
        widget=UnfoldAdminTextInputWidget({"autocomplete": "off", "x-init": "setTimeout(() => $el.focus(), 50)"}),
    )  # fmt: skip

    def render_before_template(self) -> str:
        page = self.request.resolver_match.func.model_admin
        row = page.model._default_manager.filter(pk=whole_number(str(self.object_id)) or 0).first()
        told = shorten(page.describe(row), NAMED_MAX) if row is not None else ""
        return format_html('<p class="text-important mb-6">{}</p>', told)


def dialog(label: str, what: str, form: type[BaseDialogForm] = ReasonForm) -> ActionDialog:
    """Return the dialog of an act. ``label`` is its button's, ``what`` says what the act does."""
    return ActionDialog(title=label, description=what, form_class=form, form_submit_text=label)


def leave_dialog(request: HttpRequest, to: str, *args: Any) -> HttpResponse:
    """Go to a page after an act: where the dialog was opened, if its address names that, or this one. HTMX, which sends
    the dialogs, would show that page inside the dialog."""
    response = redirect(next_page(request)) if next_page(request) else redirect(to, *args)
    return HttpResponse(headers={"HX-Redirect": response.url}) if "HX-Request" in request.headers else response


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


class TriedOutPage(Page):
    """A page of rows that are another server, which two actions try out: ``try_out`` tells the result."""

    actions = ("try_rows",)
    actions_detail = ("test",)
    try_out: Callable[[HttpRequest, Any], None]

    @action(
        description="Test connection", permissions=["change"],
        dialog=dialog("Test connection", "Sends a short test with the saved settings. It may take some seconds.",
                      BaseDialogForm),
    )  # fmt: skip
    def test(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        row = get_object_or_404(self.model, pk=whole_number(object_id))
        self.try_out(request, row)
        return leave_dialog(request, address(self.model, row.pk))

    @admin.action(description="Test the selected %(verbose_name_plural)s", permissions=["change"])
    def try_rows(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.try_out(request, row)
