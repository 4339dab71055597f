"""The settings that operators change while Festinger runs, all on one page. The type of each field comes from the
registry, which also decides what may be entered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin
from urllib.parse import quote

from annotated_types import Ge, Le
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from memory.admin import settings_audit
from memory.admin.base import Fixed, Page
from memory.admin.settings_audit import ChangedMeanwhile, LastChange
from memory.models import Config, LanguageModel
from memory.settings import cron, registry
from memory.settings.grammar import describe_accepted

SHOWN = "shown-"  # prefix of the key for a hidden field: the value when the page was opened
Choices = Sequence[tuple[str, str]]
CHANGES_SHOWN = 10
# Not "reload the page": what was entered in the other fields would be lost.
STALE = "Somebody else has changed this in the meantime: it is {} now. Enter your value again if you still want it."


@dataclass(frozen=True, slots=True)
class SettingLine:
    key: str
    field: BoundField
    shown: BoundField
    takes: str
    standard: str
    is_standard: bool
    note: str
    last: LastChange | None


class SettingField(forms.Field):
    """A field whose cleaned value is the text to store, in one spelling for each value."""

    def __init__(self, key: str, models: Choices = ()) -> None:
        help_text = registry.REGISTRY[key].description or ""
        super().__init__(required=False, label=key, help_text=help_text, widget=choose_widget(key, models))
        self.key = key

    def to_python(self, value: Any) -> str:
        try:
            return registry.as_text(registry.parse(self.key, value or ""))
        except registry.ConfigMistake as mistake:
            raise ValidationError(str(mistake)) from mistake


class SettingsForm(forms.Form):
    """Settings, each with the value that was shown, so that nobody overwrites what somebody else has just changed."""

    def __init__(self, stored: Mapping[str, str], data: Any = None, *, may_change: bool = True) -> None:
        super().__init__(data)
        models = language_models(stored)
        for key, value in stored.items():
            self.fields[key] = SettingField(key, models)
            self.fields[key].disabled = not may_change
            self.initial[key] = value
            self.fields[SHOWN + key] = forms.CharField(required=False, widget=forms.HiddenInput)
            self.initial[SHOWN + key] = value
        self.keys = tuple(stored)

    def changes(self) -> dict[str, tuple[str, str]]:
        """Return what was shown and what was entered instead, by key. The form must be valid."""
        entered = {key: (self.cleaned_data[SHOWN + key], self.cleaned_data[key]) for key in self.keys}
        return {key: (shown, new) for key, (shown, new) in entered.items() if shown != new}


def language_models(stored: Mapping[str, str]) -> Choices:
    """Return the choices: none, all models, and stored ids whose model is gone."""
    choices = [("", "none"), *((str(model.pk), str(model)) for model in LanguageModel.objects.order_by("pk"))]
    known = {value for value, _ in choices}
    chosen = (value for key, value in stored.items() if registry.MODEL in registry.REGISTRY[key].metadata)
    return [*choices, *((value, f"{value}, which is not there") for value in chosen if value not in known)]


def choose_widget(key: str, models: Choices) -> forms.Widget:
    looks, field = {"class": "fst-input"}, registry.REGISTRY[key]
    kind: Any = field.annotation
    if registry.MODEL in field.metadata:
        return forms.Select(looks, models)
    if get_origin(kind) is Literal:
        return forms.Select(looks, [(choice, choice) for choice in get_args(kind)])
    if kind in (int, float):
        [least] = [str(limit.ge) for limit in field.metadata if isinstance(limit, Ge)]
        [most] = [str(limit.le) for limit in field.metadata if isinstance(limit, Le)]
        return forms.NumberInput(looks | {"min": least, "max": most, "step": "1" if kind is int else "any"})
    return forms.TextInput(looks | {"spellcheck": "false", "size": "20"})


@admin.register(Config)
class ConfigAdmin(Fixed, Page):
    list_name = "settings"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = {row.key: row for row in Config.objects.all() if row.key in registry.REGISTRY}
        stored = {key: rows[key].value for key in registry.REGISTRY if key in rows}
        if request.method == "POST":
            return self.save_all(request, rows, stored)
        return self.render_page(request, rows, SettingsForm(stored, may_change=self.has_change_permission(request)))

    def save_all(self, request: HttpRequest, rows: dict[str, Config], stored: dict[str, str]) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        entered = request.POST.copy()
        # The page may be of another version, which has other settings.
        stored = {key: value for key, value in stored.items() if SHOWN + key in entered}
        if (key := entered.get("reset", "")) in stored:
            return self.reset(request, rows, stored, key)
        form = SettingsForm(stored, entered)
        if not form.is_valid():
            messages.error(request, "Nothing was saved: see the errors beside the fields.")
            return self.render_page(request, rows, form)
        try:
            self.store_changes(request, form.changes())
        except ChangedMeanwhile as changed:
            # From here on the current value counts as shown: submitting again confirms it.
            entered[SHOWN + changed.key] = stored[changed.key]
            form = SettingsForm(stored, entered)
            form.add_error(changed.key, STALE.format(stored[changed.key] or "none"))
            messages.error(request, "Nothing was saved: see the error beside the field.")
            return self.render_page(request, rows, form)
        return redirect("admin:memory_config_changelist")

    def reset(self, request: HttpRequest, rows: dict[str, Config], stored: dict[str, str], key: str) -> HttpResponse:
        """Reset one setting. Values entered in other fields stay there and are not stored."""
        standard = registry.defaults()[key]
        try:
            self.store_changes(request, {key: (stored[key], standard)})
        except ChangedMeanwhile:
            messages.error(request, f"{key} was not reset: somebody else has just changed it.")
        entered = request.POST.copy()
        entered[key] = standard
        entered[SHOWN + key] = standard
        others = SettingsForm(stored, entered)
        if others.is_valid() and not others.changes():
            return redirect(f"{reverse('admin:memory_config_changelist')}#{key}")
        messages.warning(request, "What you entered in other fields is not stored yet.")
        rows[key].refresh_from_db()
        return self.render_page(request, rows, others)

    def render_page(self, request: HttpRequest, rows: dict[str, Config], form: SettingsForm) -> HttpResponse:
        context = {
            "title": "Settings",
            "opts": self.opts,
            "form": form,
            "groups": group_settings(form, rows),
            "changes": settings_audit.list_changes().order_by("-action_time")[:CHANGES_SHOWN],
            "may_change": self.has_change_permission(request),
            "unread": sorted(Config.objects.exclude(key__in=registry.REGISTRY).values_list("key", flat=True)),
        }
        return TemplateResponse(request, "memory/config.html", self.admin_site.each_context(request) | context)

    def store_changes(self, request: HttpRequest, changes: dict[str, tuple[str, str]]) -> None:
        """Store changes; ``changes``: by key the text that was shown and the new one. Raises ChangedMeanwhile."""
        if lines := settings_audit.change(changes, request.user):
            messages.success(request, f"Stored: {'; '.join(lines)}. It applies to all processes from now on.")
        else:
            messages.info(request, "Nothing was changed.")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead to the setting on the page of all."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return redirect(f"{reverse('admin:memory_config_changelist')}#{quote(object_id)}")


def group_settings(form: SettingsForm, rows: dict[str, Config]) -> dict[str, list[SettingLine]]:
    """Group the form's settings, in the order of the registry."""
    last = settings_audit.last_changes(rows)
    found: dict[str, list[SettingLine]] = {}
    for key in form.keys:
        value, standard = rows[key].value, registry.defaults()[key]
        field = form[key]
        line = SettingLine(
            key, field, form[SHOWN + key], describe_accepted(registry.REGISTRY[key]), standard or "none",
            is_standard=value == standard,
            note=describe_value(key, value), last=last.get(key),
        )  # fmt: skip
        found.setdefault(registry.group_of(key), []).append(line)
    return found


def describe_value(key: str, value: str) -> str:
    """Explain a stored text if its meaning is not obvious, or say that it is not valid."""
    try:
        registry.parse(key, value)
    except registry.ConfigMistake as mistake:
        return f"{mistake}. The default applies instead."
    if registry.CRON in registry.REGISTRY[key].metadata:
        due = timezone.localtime(cron.first_after(value, timezone.now()))
        return f"{cron.in_words(value)}. Next: {due:%A, %d %B, %H:%M} ({due.tzinfo})."
    return ""
