"""What pages share whose rows are another server, with a secret to it: a form that stores the secret, and a button that
tries the row out."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldAdminPasswordWidget

from memory.access import key_encryption
from memory.admin.base import Page, address


class SecretForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    """A form in which a secret can be entered, as ``key``, but is never shown. It is stored encrypted."""

    column = ""  # of the secret
    key = forms.CharField(
        required=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown. Empty leaves the stored one as it is.",
    )
    secret: str | None = None  # to be stored

    def encrypt(self, key: str) -> None:
        try:
            self.secret = key_encryption.encrypt(key)
        except key_encryption.KeyMistake as mistake:
            self.add_error("key", str(mistake))

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # the stubs leave it out
        # After the model's own checks, which also add errors.
        if self.errors and self.secret and "key" not in self.errors:
            name = self["key"].label.lower()
            self.add_error("key", f"Enter the {name} again: it is not kept while the form has other errors.")

    def save(self, commit: bool = True) -> Any:
        if self.secret is not None:
            setattr(self.instance, self.column, self.secret)
        return super().save(commit)


class TriedOutPage(Page):
    """A page with a button that tries out its row."""

    own_views: Mapping[str, str | Callable[..., HttpResponse]] = {"<int:row_id>/test/": "test"}

    def try_out(self, request: HttpRequest, row: Any) -> None:
        """Try out the row, and tell the result."""
        raise NotImplementedError

    @method_decorator(require_POST)
    def test(self, request: HttpRequest, row_id: int) -> HttpResponse:
        row = get_object_or_404(self.model, pk=row_id)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        self.try_out(request, row)
        return redirect(address(self.model, row_id))


def try_each(description: str) -> Callable[[TriedOutPage, HttpRequest, QuerySet[Any]], None]:
    """Make an action that tries out the selected rows."""

    @admin.action(description=description, permissions=["change"])
    def try_rows(page: TriedOutPage, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            page.try_out(request, row)

    return try_rows
