"""The marks that operators put on concepts, and who put them there last."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, FloatField, Func
from django.db.models.functions import Cast, Greatest

from memory.db.transactions import run_transaction
from memory.models import Soas

# What the log says of a change, and the page in words.
WORDS: Final = {
    "is_muted: False -> True": "muted",
    "is_muted: True -> False": "unmuted",
    "is_common: False -> True": "marked as a common word",
    "is_common: True -> False": "called a name",
}
# As the flusher writes it, of what is counted by the time of the update.
SALIENCY: Final = Func(Cast(Greatest(F("encounter_count"), 1), FloatField()), function="log")


@dataclass(frozen=True, slots=True)
class Marked:
    """Who changed a mark, and when."""

    what: str
    by: str
    at: datetime


def mute(keys: Collection[int], user: User | AnonymousUser, *, to: bool) -> list[Soas]:
    """Those of these concepts that were not muted, or muted, as that before."""
    return run_transaction(lambda: _set("is_muted", keys, user, to))


def set_common(keys: Collection[int], user: User | AnonymousUser, *, to: bool) -> list[Soas]:
    """The same for common words."""
    return run_transaction(lambda: _set("is_common", keys, user, to, saliency=0.0 if to else SALIENCY))


def last_changes(concept: Soas) -> list[Marked]:
    """The last change of each mark, the newest first. One query."""
    about = {"content_type__app_label": "memory", "content_type__model": "soas", "object_id": str(concept.pk)}
    entries = LogEntry.objects.filter(**about, change_message__in=WORDS).select_related("user")
    newest = entries.order_by("change_message", "-pk").distinct("change_message")
    by_mark: dict[str, LogEntry] = {}
    for entry in sorted(newest, key=lambda entry: entry.pk, reverse=True):
        by_mark.setdefault(entry.change_message.partition(":")[0], entry)
    return [
        Marked(WORDS[entry.change_message], entry.user.get_username(), entry.action_time) for entry in by_mark.values()
    ]


def _set(mark: str, keys: Collection[int], user: User | AnonymousUser, to: bool, **also: Any) -> list[Soas]:
    """Those that were changed, each with a line in the log."""
    differing = Soas.objects.select_for_update(no_key=True).filter(pk__in=keys, **{mark: not to})
    concepts = list(differing.only("token").order_by("pk"))
    Soas.objects.filter(pk__in=[concept.pk for concept in concepts]).update(**{mark: to}, **also)
    LogEntry.objects.log_actions(cast(int, user.pk), concepts, CHANGE, f"{mark}: {not to} -> {to}")
    return concepts
