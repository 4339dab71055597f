"""Language models and their keys, and what they were asked, in the admin."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldBooleanWidget

from memory import keys, llm
from memory.admin.pages import Page, ReadOnly
from memory.models import LanguageModel, LlmCall


class LanguageModelForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    """The key goes in and never comes out again."""

    key = forms.CharField(
        required=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown. Empty leaves the stored one as it is.",
    )
    forgets_key = forms.BooleanField(required=False, widget=UnfoldBooleanWidget, label="Forget the stored key")

    class Meta:
        model = LanguageModel
        fields = ("provider", "model_name", "base_url", "input_price", "output_price")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        key, forgets = cleaned.get("key"), cleaned.get("forgets_key")
        if key and forgets:
            self.add_error("forgets_key", "Either a new key, or none.")
        elif key:
            self.encrypt(key)
        elif forgets:
            self.instance.api_key = ""
        elif self.instance.api_key and {"provider", "base_url"} & set(self.changed_data):
            # Or whoever may change the address could have the key sent to himself.
            self.add_error("key", "The stored key was entered for another address: enter it again, or forget it.")
        return cleaned

    def encrypt(self, key: str) -> None:
        try:
            self.instance.api_key = keys.encrypt(key)
        except keys.KeyMistake as mistake:
            self.add_error("key", str(mistake))


@admin.register(LanguageModel)
class LanguageModelAdmin(Page):
    form = LanguageModelForm
    list_display = ("id", "provider", "model_name", "base_url", "has_key", "input_price", "output_price")
    list_display_links = ("id", "model_name")
    search_fields = ("model_name", "base_url")
    fields = ("provider", "model_name", "base_url", "has_key", "key", "forgets_key", ("input_price", "output_price"))
    readonly_fields = ("has_key",)
    ordering = ("id",)
    actions = ("test_connection",)

    @admin.display(boolean=True, description="key stored")
    def has_key(self, model: LanguageModel) -> bool:
        return bool(model.api_key)

    @admin.action(description="Test the connection: ask something small", permissions=["change"])
    def test_connection(self, request: HttpRequest, queryset: QuerySet[LanguageModel]) -> None:
        for model in queryset:
            try:
                answer = llm.try_out(model)
            except llm.LlmError as error:
                self.message_user(request, f"{model}: {error}", messages.ERROR)
            else:
                self.message_user(request, f"{model} answers. {answer.usage}.", messages.SUCCESS)


@admin.register(LlmCall)
class LlmCallAdmin(ReadOnly, Page):
    list_display = ("at", "purpose", "subject", "model_name", "input_tokens", "output_tokens", "cost", "duration_ms",
                    "error")  # fmt: skip
    list_filter = ("purpose", ("error", admin.EmptyFieldListFilter))
    search_fields = ("subject", "model_name", "error")
    ordering = ("-id",)
