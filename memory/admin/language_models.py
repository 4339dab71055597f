"""The admin of language models with their keys, and of the calls that were made to them."""

import re
import time
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import NoReverseMatch, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.widgets import UnfoldBooleanWidget

from memory import llm
from memory.admin.base import LINK, Page, ReadOnly, SecretForm, column, link, render_preformatted
from memory.admin.dialogs import TriedOutPage
from memory.admin.settings import ChangedMeanwhile, choose, read_chosen_models
from memory.llm import USES
from memory.models import LanguageModel, LlmCall, Soas

CONFLICT = re.compile(r"\bconflict (\d+)")


class LanguageModelForm(SecretForm):
    column = "api_key"
    forgets_key = forms.BooleanField(required=False, widget=UnfoldBooleanWidget, label="Forget the stored key")

    class Meta:
        model = LanguageModel
        fields = ("provider", "model_name", "base_url", "input_price", "output_price")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        key, forgets = cleaned.get("key"), cleaned.get("forgets_key")
        if key and forgets:
            self.add_error("forgets_key", "Enter a new key or forget the stored one, not both.")
        elif key:
            self.encrypt(key)
        elif forgets:
            self.secret = ""
        elif self.instance.api_key and {"provider", "base_url"} & set(self.changed_data):
            # Otherwise whoever may change the address could have the key sent to a server of their own.
            self.add_error("key", "The stored key was entered for another address: enter it again, or forget it.")
        return cleaned


@admin.register(LanguageModel)
class LanguageModelAdmin(TriedOutPage):
    empty = "Language models are optional: one decides conflicts, explains unknown names and consolidates memories."
    form = LanguageModelForm
    list_display = ("id", "provider", "model_name", "base_url", "has_key", "used_for", "input_price", "output_price")
    list_display_links = ("id", "model_name")
    search_fields = ("model_name", "base_url")
    search_help_text = "Search by name or address"
    fields = ("provider", "model_name", "base_url", "has_key", "key", "forgets_key", ("input_price", "output_price"))
    readonly_fields = ("has_key",)
    ordering = ("id",)
    change_form_outer_after_template = "memory/language_model.html"
    own_views = {"<int:model_id>/use/": "use"}

    def get_queryset(self, request: HttpRequest) -> QuerySet[LanguageModel]:
        chosen = read_chosen_models()
        names = {key: ExpressionWrapper(Q(pk=chosen[key] or 0), BooleanField()) for key in USES}
        return super().get_queryset(request).annotate(**names)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        # Without the bulk delete: the page for deleting one model says what that means.
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        chosen = read_chosen_models()
        uses = [(key, use, str(chosen[key]) == object_id) for key, use in USES.items()]
        context = {"uses": uses, "may_choose": request.user.has_perm("memory.change_config")}
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        gone, *others = super().get_deleted_objects(objs, request)
        chosen, keys = read_chosen_models(), {model.pk for model in objs}
        told = [
            f"It {use.does}. Afterwards {key} is none: {use.without}, until another model is chosen."
            for key, use in USES.items()
            if chosen[key] in keys
        ]
        return [*gone, "Its key. The log of its calls stays.", *told], *others

    @transaction.atomic  # no setting may name a model that is gone
    def delete_model(self, request: HttpRequest, obj: LanguageModel) -> None:
        for key, chosen in read_chosen_models().items():
            if chosen == obj.pk:
                choose(key, None, request.user)
        super().delete_model(request, obj)

    @admin.display(boolean=True, description="key stored")
    def has_key(self, model: LanguageModel) -> bool:
        return bool(model.api_key)

    @admin.display(description="used for")
    def used_for(self, model: LanguageModel) -> str:
        return ", ".join(use.does for key, use in USES.items() if getattr(model, key)) or "-"

    @method_decorator(require_POST)
    def use(self, request: HttpRequest, model_id: int) -> HttpResponse:
        """Let a setting name this model, or no model."""
        model = get_object_or_404(LanguageModel, pk=model_id)
        if not request.user.has_perm("memory.change_config"):
            raise PermissionDenied
        self.message_user(request, *self._use(request, model))
        return redirect("admin:memory_languagemodel_change", model_id)

    def _use(self, request: HttpRequest, model: LanguageModel) -> tuple[str, int]:
        key, is_chosen = request.POST.get("setting", ""), request.POST.get("chosen") == "true"
        if key not in USES:
            return f"Nothing was changed: {key!r} is not a use of a model.", messages.ERROR
        if not is_chosen and read_chosen_models()[key] != model.pk:
            return f"Nothing was changed: {key} names another model.", messages.WARNING
        try:
            lines = choose(key, model if is_chosen else None, request.user)
        except ChangedMeanwhile:
            return f"{key} was not changed: somebody else has just changed it.", messages.ERROR
        stored = f"Stored: {'; '.join(lines)}." if lines else "Nothing was changed."
        become = f"{model} {USES[key].does}." if is_chosen else USES[key].lack
        return f"{stored} {become}", messages.SUCCESS

    def try_out(self, request: HttpRequest, model: LanguageModel) -> None:
        """Ask the model something small. Takes as long as the model does, at most ``llm_timeout_s``."""
        started = time.monotonic()
        try:
            answer = llm.try_out(model)
        except llm.LlmError as error:
            said = f"{model}: {error} (After {time.monotonic() - started:.1f} s.)"
            self.message_user(request, said, messages.ERROR)
        else:
            said = f"{model} answers. {answer.usage}. It took {time.monotonic() - started:.1f} s."
            self.message_user(request, said, messages.SUCCESS)


@admin.register(LlmCall)
class LlmCallAdmin(ReadOnly, Page):
    empty = "Each question to a language model has a line here. Add a language model, and choose what it is used for."
    list_name = "model calls"
    list_display = ("at", "purpose", "about", "model_link", "input_tokens", "output_tokens", "cost", "duration_ms",
                    "error")  # fmt: skip
    list_display_links = ("at",)
    list_filter = ("purpose", ("error", admin.EmptyFieldListFilter))
    search_fields = ("subject", "model_name", "error")
    sortable_by = ("at",)
    ordering = ("-id",)
    list_select_related = ("model",)
    fields = ("at", "purpose", "about", "model_link", ("input_tokens", "output_tokens"), "cost", "duration_ms",
              "request", "error_text")  # fmt: skip
    readonly_fields = ("about", "model_link", "error_text")

    def get_queryset(self, request: HttpRequest) -> QuerySet[LlmCall]:
        # Joined by the word, not by a foreign key: the log outlives the words.
        concept = Soas.objects.filter(token=OuterRef("subject")).values("id")[:1]
        return super().get_queryset(request).select_related("model").annotate(concept_id=Subquery(concept))

    @admin.display(description="about", ordering="subject")
    def about(self, call: Any) -> SafeString | str:
        """Return a link to the concept to explain or the conflict to decide."""
        if call.purpose == LlmCall.Purpose.EXPLAIN and call.concept_id:
            return to("admin:memory_soas_change", call.concept_id, call.subject)
        if call.purpose == LlmCall.Purpose.RESOLVE and (named := CONFLICT.search(call.subject)):
            return to("admin:resolution_conflict_change", int(named[1]), call.subject)
        return call.subject or "-"

    @admin.display(description="model")
    def model_link(self, call: LlmCall) -> SafeString | str:
        return link(call.model, call.model_name) if call.model is not None else call.model_name

    error_text = column("error", render_preformatted, empty="none")


def to(name: str, key: int, text: str) -> SafeString | str:
    # By its name, which may not exist: the page belongs to an app above this one.
    try:
        return format_html('<a href="{}" class="{}">{}</a>', reverse(name, args=[key]), LINK, text)
    except NoReverseMatch:
        return text
