"""A form field for each setting. Its type comes from the registry, which also decides what may be entered."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Le
from django import forms
from django.core.exceptions import ValidationError

from memory.models import LanguageModel
from memory.settings import kinds, registry

SHOWN = "shown-"  # prefix of the key for a hidden field: the value when the page was opened
Choices = Sequence[tuple[str, str]]


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

    def has_changed(self, initial: Any, data: Any) -> bool:
        # Compared as values: 0.50 is no change of 0.5.
        try:
            return self.to_python(data) != initial
        except ValidationError:
            return True


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
    chosen = (value for key, value in stored.items() if kinds.MODEL in registry.REGISTRY[key].metadata)
    return [*choices, *((value, f"{value}, which is not there") for value in chosen if value not in known)]


def choose_widget(key: str, models: Choices) -> forms.Widget:
    looks, field = {"class": "fst-input"}, registry.REGISTRY[key]
    kind: Any = field.annotation
    if kinds.MODEL in field.metadata:
        return forms.Select(looks, models)
    if get_origin(kind) is Literal:
        return forms.Select(looks, [(choice, choice) for choice in get_args(kind)])
    if kind in (int, float):
        [least] = [str(limit.ge) for limit in field.metadata if isinstance(limit, Ge)]
        [most] = [str(limit.le) for limit in field.metadata if isinstance(limit, Le)]
        return forms.NumberInput(looks | {"min": least, "max": most, "step": "1" if kind is int else "any"})
    return forms.TextInput(looks | {"spellcheck": "false", "size": "20"})
