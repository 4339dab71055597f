"""Changes settings and logs who changed which: a line of the admin's log for each, ``zero_hit_max: 3 -> 1``.

Changes by commands, or directly in the database, have no line; the row's own time shows that there was one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory import llm
from memory.models import Config, LanguageModel
from memory.settings import registry

# Never an anonymous one in practice: the log refuses them.
Operator = User | AnonymousUser

# By setting: what runs after its change in the same transaction. Apps that this one does not know add theirs when
# ready.
followers: dict[str, Callable[[], object]] = {}


@dataclass(eq=False)
class ChangedMeanwhile(Exception):
    """Somebody else has changed the setting since it was shown. Nothing was saved."""

    key: str


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change of a setting. ``by`` is empty for a change outside the admin."""

    at: datetime
    by: str
    what: str


@transaction.atomic
def change(changes: Mapping[str, tuple[str, str]], user: Operator) -> list[str]:
    """Store new texts of settings, all or none, and run their followers. ``changes``: by key the text that was shown
    and the new one. Returns a line for each that differs. Raises ChangedMeanwhile."""
    now = timezone.now()
    lines = []
    for key, (shown, new) in sorted(changes.items()):
        if shown == new:
            continue
        # A condition on the row instead of a lock: between showing and storing an operator may take an hour.
        if not Config.objects.filter(key=key, value=shown).update(value=new, updated_at=now):
            raise ChangedMeanwhile(key)
        lines.append((key, f"{key}: {shown or 'none'} -> {new or 'none'}"))
        if key in followers:
            followers[key]()
    user_id, kind = cast(int, user.pk), ContentType.objects.get_for_model(Config)
    LogEntry.objects.bulk_create(
        LogEntry(user_id=user_id, content_type=kind, object_id=key, object_repr=key, action_flag=CHANGE,
                 change_message=line, action_time=now)
        for key, line in lines
    )  # fmt: skip
    return [line for _, line in lines]


def read_chosen_models() -> dict[str, int | None]:
    """Return the ids of the models that the settings name."""
    tuning = Config.tuning()
    return {key: getattr(tuning, key) for key in llm.WITHOUT}


def uses(model: LanguageModel) -> list[str]:
    return [key for key, chosen in read_chosen_models().items() if chosen == model.pk]


@transaction.atomic
def choose(key: str, model: LanguageModel | None, user: Operator) -> list[str]:
    """Let the setting name the model, or none; return the lines of what changed. Raises ChangedMeanwhile."""
    shown = Config.objects.get(key=key).value
    return change({key: (shown, registry.as_text(model.pk if model else None))}, user)


def last_changes(rows: Mapping[str, Config]) -> dict[str, LastChange]:
    """Return the last change of each setting by key, without settings that were never changed. One query."""
    entries = list_changes().order_by("object_id", "-action_time").distinct("object_id")
    logged = {str(entry.object_id): entry for entry in entries}
    found = {}
    for key, row in rows.items():
        entry = logged.get(key)
        # A row that is newer than its last line was changed by a command, or in the database.
        if entry is not None and row.updated_at <= entry.action_time:
            found[key] = LastChange(entry.action_time, entry.user.get_username(), entry.change_message)
        elif entry is not None or row.value != registry.defaults().get(key):
            found[key] = LastChange(row.updated_at, "", "")
    return found


def list_changes() -> QuerySet[LogEntry]:
    kind = ContentType.objects.get_for_model(Config)
    return LogEntry.objects.filter(content_type=kind).select_related("user")
