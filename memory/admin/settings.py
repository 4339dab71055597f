"""The settings that operators change while Festinger runs, all on one page, with a log of who changed which: a line of
the admin's log for each change, ``zero_hit_max: 3 -> 1``. The registry decides what may be entered.

Changes by commands, or directly in the database, have no line; the row's own time shows that there was one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, cast, get_args, get_origin
from urllib.parse import quote

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from memory.admin.base import Fixed, Page
from memory.llm import USES
from memory.models import Config, LanguageModel
from memory.settings import cron, registry
from memory.settings.grammar import describe_accepted, find_range

SHOWN = "shown-"  # prefix of the key for a hidden field: the value when the page was opened
Choices = Sequence[tuple[str, str]]
CHANGES_SHOWN = 10
# Not "reload the page": what was entered in the other fields would be lost.
STALE = "Somebody else has changed this in the meantime: it is {} now. Enter your value again if you still want it."

# By setting: what runs after its change in the same transaction. Apps that this one does not know add theirs when
# ready.
followers: dict[str, Callable[[], object]] = {}
# By setting: what is said beside its value. Apps that this one does not know add theirs when ready.
notes: dict[str, Callable[[], str]] = {}


@dataclass(eq=False)
class ChangedMeanwhile(Exception):
    """Somebody else has changed the setting since it was shown. Nothing was saved."""

    key: str


# Never an anonymous user in practice: the log refuses them.
@transaction.atomic
def change(changes: Mapping[str, tuple[str, str]], user: User | AnonymousUser) -> list[str]:
    """Store new texts of settings, all or none, and run their followers. ``changes``: by key the text that was shown
    and the new one. Returns a line for each that differs. Raises ChangedMeanwhile."""
    now = timezone.now()
    lines = {}
    for key, (shown, new) in sorted(changes.items()):
        if shown == new:
            continue
        # A condition on the row instead of a lock: between showing and storing an operator may take an hour.
        if not Config.objects.filter(key=key, value=shown).update(value=new, updated_at=now):
            raise ChangedMeanwhile(key)
        lines[key] = f"{key}: {shown or 'none'} -> {new or 'none'}"
        if key in followers:
            followers[key]()
    user_id, kind = cast(int, user.pk), ContentType.objects.get_for_model(Config)
    LogEntry.objects.bulk_create(
        LogEntry(user_id=user_id, content_type=kind, object_id=key, object_repr=key, action_flag=CHANGE,
                 change_message=line, action_time=now)
        for key, line in lines.items()
    )  # fmt: skip
    return [*lines.values()]


def read_chosen_models() -> dict[str, int | None]:
    """Return the ids of the models that the settings name."""
    tuning = Config.tuning()
    return {key: getattr(tuning, key) for key in USES}


@transaction.atomic
def choose(key: str, model: LanguageModel | None, user: User | AnonymousUser) -> list[str]:
    """Let the setting name the model, or none; return the lines of what changed. Raises ChangedMeanwhile."""
    shown = Config.objects.get(key=key).value
    return change({key: (shown, registry.as_text(model.pk if model else None))}, user)


def list_changes() -> QuerySet[LogEntry]:
    kind = ContentType.objects.get_for_model(Config)
    return LogEntry.objects.filter(content_type=kind).select_related("user")


class SettingField(forms.Field):
    """A field whose cleaned value is the text to store, in one spelling for each value. ``last_change``: its line in
    the log, the time alone for a change outside the admin, None if there was none."""

    def __init__(self, row: Config, models: Choices, logged: LogEntry | None) -> None:
        entry = registry.REGISTRY[row.key]
        super().__init__(
            required=False, help_text=entry.description or "", widget=choose_widget(row.key, models), initial=row.value
        )
        self.key = row.key
        self.group = registry.group_of(row.key)
        self.accepted = describe_accepted(entry)
        self.default = registry.defaults()[row.key]
        self.is_default = row.value == self.default
        self.note = describe_value(row.key, row.value)
        # A row that is newer than its last line was changed by a command, or in the database.
        is_logged = logged is not None and row.updated_at <= logged.action_time
        is_changed = logged is not None or not self.is_default
        self.last_change = logged if is_logged else LogEntry(action_time=row.updated_at) if is_changed else None

    def to_python(self, value: Any) -> str:
        try:
            return registry.as_text(registry.parse(self.key, value or ""))
        except registry.ConfigMistake as mistake:
            raise ValidationError(str(mistake)) from mistake


class SettingsForm(forms.Form):
    """Settings, each with the value that was shown, so that nobody overwrites what somebody else has just changed."""

    def __init__(self, rows: Sequence[Config], data: Any = None, *, may_change: bool = True) -> None:
        super().__init__(data)
        models = language_models(rows)
        # The last line of each setting.
        logged = {
            entry.object_id: entry
            for entry in list_changes().order_by("object_id", "-action_time").distinct("object_id")
        }
        for row in rows:
            self.fields[row.key] = SettingField(row, models, logged.get(row.key))
            self.fields[row.key].disabled = not may_change
            self.fields[SHOWN + row.key] = forms.CharField(required=False, widget=forms.HiddenInput, initial=row.value)
        self.keys = [row.key for row in rows]
        self.groups = [
            (group, [(self[key], self[SHOWN + key]) for key in keys])
            for group, keys in groupby(self.keys, registry.group_of)
        ]

    @property
    def open_groups(self) -> set[str]:
        """The groups with a value that is not the default, or that is refused."""
        fields = {key: cast(SettingField, self.fields[key]) for key in self.keys}
        return {field.group for key, field in fields.items() if not field.is_default or key in self.errors}

    def changes(self) -> dict[str, tuple[str, str]]:
        """Return what was shown and what was entered instead, by key. The form must be valid."""
        entered = {key: (self.cleaned_data[SHOWN + key], self.cleaned_data[key]) for key in self.keys}
        return {key: (shown, new) for key, (shown, new) in entered.items() if shown != new}


def language_models(rows: Sequence[Config]) -> Choices:
    """Return the choices: none, all models, and stored ids whose model is gone."""
    choices = [("", "none"), *((str(model.pk), str(model)) for model in LanguageModel.objects.order_by("pk"))]
    gone = {row.value for row in rows if row.key in USES} - {value for value, _ in choices}
    return [*choices, *((value, f"{value}, which is not there") for value in sorted(gone))]


def choose_widget(key: str, models: Choices) -> forms.Widget:
    looks, kind = {"class": "fst-input"}, cast(Any, registry.REGISTRY[key].annotation)
    if key in USES:
        return forms.Select(looks, models)
    if get_origin(kind) is Literal:
        return forms.Select(looks, [(choice, choice) for choice in get_args(kind)])
    if kind in (int, float):
        least, most = find_range(registry.REGISTRY[key])
        return forms.NumberInput(looks | {"min": least, "max": most, "step": "1" if kind is int else "any"})
    return forms.TextInput(looks | {"spellcheck": "false", "size": "20"})


def describe_value(key: str, value: str) -> str:
    """Explain a stored text if its meaning is not obvious, or say that it is not valid."""
    try:
        registry.parse(key, value)
    except registry.ConfigMistake as mistake:
        return f"{mistake}. The default applies instead."
    if registry.CRON in registry.REGISTRY[key].metadata:
        due = timezone.localtime(cron.first_after(value, timezone.now()))
        return f"{cron.in_words(value)}. Next: {due:%A, %d %B, %H:%M} ({due.tzinfo})."
    return notes[key]() if key in notes else ""


@admin.register(Config)
class ConfigAdmin(Fixed, Page):
    list_name = "settings"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = read_rows()
        if request.method == "POST":
            return self.save_all(request, rows)
        return self.render_page(request, SettingsForm(rows, may_change=self.has_change_permission(request)))

    def save_all(self, request: HttpRequest, rows: list[Config]) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        entered = request.POST.copy()
        # The page may be of another version, which has other settings.
        rows = [row for row in rows if SHOWN + row.key in entered]
        for row in rows:
            if row.key == entered.get("reset"):
                return self.reset(request, rows, row)
        form = SettingsForm(rows, entered)
        if not form.is_valid():
            messages.error(request, "Nothing was saved: see the errors beside the fields.")
            return self.render_page(request, form)
        try:
            self.store_changes(request, form.changes())
        except ChangedMeanwhile as changed:
            current = str(form.fields[changed.key].initial)
            # From here on the current value counts as shown: submitting again confirms it.
            entered[SHOWN + changed.key] = current
            form = SettingsForm(rows, entered)
            form.add_error(changed.key, STALE.format(current or "none"))
            messages.error(request, "Nothing was saved: see the error beside the field.")
            return self.render_page(request, form)
        return redirect("admin:memory_config_changelist")

    def reset(self, request: HttpRequest, rows: list[Config], row: Config) -> HttpResponse:
        """Reset one setting. Values entered in other fields stay there and are not stored."""
        default = registry.defaults()[row.key]
        try:
            self.store_changes(request, {row.key: (row.value, default)})
        except ChangedMeanwhile:
            messages.error(request, f"{row.key} was not reset: somebody else has just changed it.")
        row.refresh_from_db()
        entered = request.POST.copy()
        entered[row.key] = entered[SHOWN + row.key] = default
        others = SettingsForm(rows, entered)
        if others.is_valid() and not others.changes():
            return redirect(f"{reverse('admin:memory_config_changelist')}#{row.key}")
        messages.warning(request, "What you entered in other fields is not stored yet.")
        return self.render_page(request, others)

    def render_page(self, request: HttpRequest, form: SettingsForm) -> HttpResponse:
        context = {
            "title": "Settings",
            "opts": self.opts,
            "form": form,
            "changes": list_changes().order_by("-action_time")[:CHANGES_SHOWN],
            "may_change": self.has_change_permission(request),
            "ignored": registry.list_ignored(dict(Config.objects.values_list("key", "value"))),
        }
        return TemplateResponse(request, "memory/config.html", self.admin_site.each_context(request) | context)

    def store_changes(self, request: HttpRequest, changes: dict[str, tuple[str, str]]) -> None:
        """Store changes; ``changes``: by key the text that was shown and the new one. Raises ChangedMeanwhile."""
        if lines := change(changes, request.user):
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


def read_rows() -> list[Config]:
    """Return the stored rows of this version's settings, in the order of the registry."""
    rows = Config.objects.in_bulk([*registry.REGISTRY])
    return [rows[key] for key in registry.REGISTRY if key in rows]
