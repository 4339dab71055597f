"""Pages on which operators say that a memory or a message belongs to no prompts like the one that was given it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import action
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminRadioSelectWidget

from memory.admin.base import LINK, display_once, link, next_page, requires
from memory.admin.dialogs import dialog, leave_dialog, with_button
from memory.memories.unfit import set_unfit
from memory.models import Episode, Memory
from memory.templatetags.dialogs import dialog_link
from memory.types import whole_number

NEVER: Final = "Never for such prompts"


class PromptForm(BaseDialogForm):
    """Shows the prompt that the dialog's address names."""

    prompt = forms.ModelChoiceField(
        Episode.objects.none(), label="Prompts like", empty_label=None, widget=UnfoldAdminRadioSelectWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        key = whole_number(self.request.GET.get("prompt", "")) or 0
        self.fields["prompt"].queryset = Episode.objects.filter(pk=key).defer("lexemes")
        self.initial["prompt"] = key


class Unfits:
    """A mixin with the two acts for the pages of a model, and a field that tells of them."""

    own_views: Mapping[str, str | Callable[..., HttpResponse]] = {
        "<int:object_id>/never/": "never",
        "<int:object_id>/allow/": "allow",
    }
    has_fit_permission = requires("memory.change_memory")

    @action(
        description=NEVER, permissions=["fit"],
        dialog=dialog(NEVER, "It is not injected into prompts of this speaker that are more like this one than like the"
                      " line itself. Searches find it as before.", PromptForm),
    )  # fmt: skip
    def never(self, request: HttpRequest, form: PromptForm, object_id: int) -> HttpResponse:
        row = self._find(object_id)
        set_unfit(row, [*row.unfit_for, form.cleaned_data["prompt"].pk], request.user.get_username())
        allow = reverse(f"admin:memory_{row._meta.model_name}_allow", args=[row.pk])
        told = "From the next prompt on it is injected into none that is like this one."
        messages.success(request, with_button(request, told, "Undo", allow, next=next_page(request)))
        return leave_dialog(request, f"admin:memory_{row._meta.model_name}_change", row.pk)

    @action(
        description="Allow again", permissions=["fit"],
        dialog=dialog("Allow again", "It is injected into all prompts that it belongs to.", BaseDialogForm),
    )  # fmt: skip
    def allow(self, request: HttpRequest, form: BaseDialogForm, object_id: int) -> HttpResponse:
        row = self._find(object_id)
        set_unfit(row, [], request.user.get_username())
        messages.success(request, "It is injected into all prompts that it belongs to.")
        return leave_dialog(request, f"admin:memory_{row._meta.model_name}_change", row.pk)

    def _find(self, key: int) -> Memory | Episode:
        return get_object_or_404(self.model, pk=key)  # type: ignore[attr-defined]  # a page's

    @admin.display(description="not injected into prompts like")
    @display_once
    def unfit(self, row: Memory | Episode) -> SafeString | str:
        if not row.unfit_for:
            return "none"
        prompts = Episode.objects.filter(pk__in=row.unfit_for).defer("lexemes")
        told = format_html_join("", "<div>{}</div>", ((link(one),) for one in prompts))
        allow = reverse(f"admin:memory_{row._meta.model_name}_allow", args=[row.pk])
        return format_html("{}{}", told, dialog_link("Allow again…", allow, css=LINK))
