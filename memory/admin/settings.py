"""The settings that operators change while Festinger runs: all on one page, and each on its own with its history."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from memory.admin import settings_audit
from memory.admin.base import Fixed, Page
from memory.admin.settings_audit import ChangedMeanwhile, LastChange
from memory.admin.settings_fields import SHOWN, SettingField, SettingsForm, language_models
from memory.models import Config
from memory.settings import cron, kinds, registry
from memory.settings.grammar import describe_accepted

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


class SettingForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    class Meta:
        model = Config
        fields = ("value",)

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        if data is not None and "_reset" in data:
            # The button submits the form as it is: the default replaces the entered value.
            data = data.copy()
            data["value"] = registry.defaults()[kwargs["instance"].key]
        super().__init__(data, *args, **kwargs)
        key = self.instance.key
        if "value" in self.fields and key in registry.REGISTRY:
            self.fields["value"] = SettingField(key, language_models({key: self.instance.value}))
            self.fields["value"].label = "Value"
            self.fields["value"].help_text = ""


@admin.register(Config)
class ConfigAdmin(Fixed, Page):
    list_name = "settings"
    form = SettingForm
    fields = ("key", "what", "takes", "standard", "value", "note", "last")
    readonly_fields = ("key", "what", "takes", "standard", "note", "last")
    change_form_after_template = "memory/reset_setting.html"

    # --- all on one page -----------------------------------------------------------------------------

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

    # --- one, with its history -----------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Config, form: Any, change: bool) -> None:
        shown = form.initial["value"]
        try:
            self.store_changes(request, {obj.key: (shown, obj.value)})
        except ChangedMeanwhile:
            messages.error(request, f"{obj.key} was not changed: somebody else has just changed it.")

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        # Writes nothing: settings_audit logs the change together with it.
        return LogEntry()

    def response_change(self, request: HttpRequest, obj: Model) -> HttpResponse:
        return redirect("admin:memory_config_change", obj.pk)

    @admin.display(description="meaning")
    def what(self, row: Config) -> str:
        entry = registry.REGISTRY.get(row.key)
        return str(entry.description) if entry else "Not a setting of this version."

    @admin.display(description="takes")
    def takes(self, row: Config) -> str:
        entry = registry.REGISTRY.get(row.key)
        return describe_accepted(entry) if entry else "-"

    @admin.display(description="default")
    def standard(self, row: Config) -> str:
        return registry.defaults().get(row.key, "") or "none"

    @admin.display(description="at the moment")
    def note(self, row: Config) -> str:
        return describe_value(row.key, row.value) or "-"

    @admin.display(description="last changed")
    def last(self, row: Config) -> str:
        last = settings_audit.last_changes({row.key: row}).get(row.key)
        if last is None:
            return "never"
        at = timezone.localtime(last.at).strftime("%Y-%m-%d %H:%M")
        return f"{at} by {last.by} ({last.what})" if last.by else f"{at}, not in the admin"


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
    if kinds.CRON in registry.REGISTRY[key].metadata:
        due = timezone.localtime(cron.first_after(value, timezone.now()))
        return f"{cron.in_words(value)}. Next: {due:%A, %d %B, %H:%M} ({due.tzinfo})."
    return ""
