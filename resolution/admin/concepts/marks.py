"""Sets marks on concepts, finds who last changed them, and reports changes to operators with an *Undo* button."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, cast

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, FloatField, Func
from django.db.models.functions import Cast, Greatest
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from memory.db.transactions import in_transaction
from memory.models import Soas
from resolution.admin.pages import with_button

ConceptMark = Literal["muted", "common"]
MARKS: Final[tuple[ConceptMark, ...]] = ("muted", "common")
# The message in the log, and the words of the page for it.
WORDS: Final = {
    "is_muted: False -> True": "muted",
    "is_muted: True -> False": "unmuted",
    "is_common: False -> True": "marked as a common word",
    "is_common: True -> False": "called a name",
}
NAMED_MAX: Final = 10  # concepts that are named in a message about many
_BECOME: Final = {"muted": ("no longer muted", "muted"), "common": ("names now", "common words now")}
# The flusher's formula, on the count at the time of the update.
SALIENCY: Final = Func(Cast(Greatest(F("encounter_count"), 1), FloatField()), function="log")


@dataclass(frozen=True, slots=True)
class Marked:
    """A change of a mark, with who made it and when."""

    what: str
    by: str
    at: datetime


@in_transaction
def set_mark(mark: ConceptMark, keys: Collection[int], user: User | AnonymousUser, *, to: bool) -> list[Soas]:
    """Set or remove a mark, log each change, and return the concepts that it changed."""
    field = f"is_{mark}"
    differing = Soas.objects.select_for_update(no_key=True).filter(pk__in=keys, **{field: not to})
    concepts = list(differing.only("token").order_by("pk"))
    marked = Soas.objects.filter(pk__in=[concept.pk for concept in concepts])
    marked.update(**{field: to}, **({"saliency": 0.0 if to else SALIENCY} if mark == "common" else {}))
    LogEntry.objects.log_actions(cast(int, user.pk), concepts, CHANGE, f"{field}: {not to} -> {to}")
    return concepts


def last_changes(concept: Soas) -> list[Marked]:
    """Return the last change of each mark, newest first. Runs one query."""
    about = {"content_type__app_label": "memory", "content_type__model": "soas", "object_id": str(concept.pk)}
    entries = LogEntry.objects.filter(**about, change_message__in=WORDS).select_related("user")
    newest = entries.order_by("change_message", "-pk").distinct("change_message")
    by_mark: dict[str, LogEntry] = {}
    for entry in sorted(newest, key=lambda entry: entry.pk, reverse=True):
        by_mark.setdefault(entry.change_message.partition(":")[0], entry)
    return [
        Marked(WORDS[entry.change_message], entry.user.get_username(), entry.action_time) for entry in by_mark.values()
    ]


def report_marked(
    request: HttpRequest, mark: ConceptMark, changed: Sequence[Soas], *, to: bool, back: str, more: str = ""
) -> SafeString | str:
    """Return a message about the changed concepts, with a button that undoes it and returns to the page ``back``."""
    become = _BECOME[mark][to]
    if not changed:
        return f"0 {become}{more}."
    named = ", ".join(concept.token for concept in changed[:NAMED_MAX])
    others = f" and {len(changed) - NAMED_MAX:,} more" if len(changed) > NAMED_MAX else ""
    return offer_undo(request, f"{len(changed):,} {become}: {named}{others}{more}.", mark, changed, to=to, back=back)


def offer_undo(
    request: HttpRequest, said: SafeString | str, mark: ConceptMark, changed: Iterable[Soas], *, to: bool, back: str
) -> SafeString:
    keys = ",".join(str(concept.pk) for concept in changed)
    fields = {"next": back, "mark": mark, "to": "false" if to else "true", "keys": keys}
    return with_button(request, said, "Undo", reverse("admin:memory_soas_marks"), **fields)
