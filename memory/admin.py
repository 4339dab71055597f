"""The memory in the admin: what is known, to look at; the flags and settings that operators change."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet, TextField
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from memory import config, keys, llm
from memory.models import (
    Agent,
    Config,
    Dimension,
    Edge,
    EdgeHistory,
    Evidence,
    Heartbeat,
    LanguageModel,
    LlmCall,
    Soas,
)


class ReadOnly:
    """A record: nobody adds, changes or deletes it by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class EdgesOut(ReadOnly, TabularInline):
    model = Edge
    fk_name = "concept"
    fields = ("dim", "parent", "is_isa", "confidence", "source", "last_confirmed")
    verbose_name_plural = "facts about it"
    max_num = 50
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Edge]:
        return super().get_queryset(request).select_related("concept", "parent", "dim")


@admin.register(Soas)
class SoasAdmin(ModelAdmin):
    list_display = ("token", "encounter_count", "saliency", "novelty", "is_common", "is_muted", "last_seen")
    list_filter = ("is_common", "is_muted")
    search_fields = ("token",)
    ordering = ("-encounter_count", "token")
    show_full_result_count = False  # a million rows are not counted twice a page
    fields = (
        "token",
        "is_common",
        "is_muted",
        ("encounter_count", "saliency", "novelty"),
        ("last_seen", "asked_count", "asked_at"),
    )
    readonly_fields = (
        "token",
        "encounter_count",
        "saliency",
        "novelty",
        "last_seen",
        "asked_count",
        "asked_at",
    )
    inlines = (EdgesOut,)
    actions = ("mute", "unmute")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description="Mute: never recall, never ask", permissions=["change"])
    def mute(self, request: HttpRequest, queryset: QuerySet[Soas]) -> None:
        count = queryset.filter(is_muted=False).update(is_muted=True)
        self.message_user(request, f"{count} muted.")

    @admin.action(description="Unmute", permissions=["change"])
    def unmute(self, request: HttpRequest, queryset: QuerySet[Soas]) -> None:
        count = queryset.filter(is_muted=True).update(is_muted=False)
        self.message_user(request, f"{count} unmuted.")


@admin.register(Edge)
class EdgeAdmin(ReadOnly, ModelAdmin):
    list_display = ("concept", "dim", "parent", "is_isa", "confidence", "source", "agent", "last_confirmed")
    list_filter = ("is_isa", "source")
    search_fields = ("concept__token", "parent__token", "dim__token")
    list_select_related = ("concept", "parent", "dim")
    ordering = ("-edge_id",)
    show_full_result_count = False


@admin.register(Dimension)
class DimensionAdmin(ModelAdmin):
    list_display = ("soas", "question", "is_isa", "on_collision", "split_from")
    list_filter = ("on_collision",)
    search_fields = ("soas__token", "question")
    list_select_related = ("soas", "split_from__soas")
    fields = ("soas", "question", "is_isa", "on_collision", "split_from")
    readonly_fields = ("soas", "is_isa", "split_from")
    ordering = ("soas__token",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Config)
class ConfigAdmin(ModelAdmin):
    list_display = ("key", "value", "standard", "what", "updated_at")
    search_fields = ("key", "value")
    ordering = ("key",)
    fields = ("key", "what", "standard", "value")
    formfield_overrides = {TextField: {"widget": UnfoldAdminTextInputWidget}}
    readonly_fields = ("key", "what", "standard")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="default")
    def standard(self, row: Config) -> str:
        return config.defaults().get(row.key, "")

    @admin.display(description="what it does")
    def what(self, row: Config) -> str:
        entry = config.REGISTRY.get(row.key)
        return str(entry.metadata["help"]) if entry else "not a setting of this version"


@admin.register(EdgeHistory)
class EdgeHistoryAdmin(ReadOnly, ModelAdmin):
    list_display = ("at", "action", "concept", "dim", "actor", "source")
    list_filter = ("action", "source")
    search_fields = ("concept__token", "dim__token", "actor")
    list_select_related = ("concept", "dim")
    ordering = ("-at",)
    show_full_result_count = False


@admin.register(Evidence)
class EvidenceAdmin(ReadOnly, ModelAdmin):
    list_display = ("concept", "sentence", "role", "agent", "said_at")
    search_fields = ("concept__token",)
    list_select_related = ("concept",)
    ordering = ("-id",)  # of half a million rows in the order of their times, a page would sort all
    show_full_result_count = False


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
class LanguageModelAdmin(ModelAdmin):
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
class LlmCallAdmin(ReadOnly, ModelAdmin):
    list_display = ("at", "purpose", "subject", "model_name", "input_tokens", "output_tokens", "cost", "duration_ms",
                    "error")  # fmt: skip
    list_filter = ("purpose", ("error", admin.EmptyFieldListFilter))
    search_fields = ("subject", "model_name", "error")
    ordering = ("-id",)
    show_full_result_count = False


@admin.register(Agent)
class AgentAdmin(ModelAdmin):
    list_display = ("name", "scope", "created_at")
    list_filter = ("scope",)
    search_fields = ("name",)
    fields = ("name", "scope", "created_at")
    readonly_fields = ("name", "created_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # manage.py create_agent shows the token


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnly, ModelAdmin):
    list_display = ("name", "at")
