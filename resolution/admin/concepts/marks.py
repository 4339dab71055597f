"""Sets marks on concepts, tells who last changed them, and reports changes to operators with an *Undo* button."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final, Literal, cast

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, FloatField, Func, QuerySet
from django.db.models.functions import Cast, Greatest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString

from memory.admin.base import ACTION_MAX, Page, limit_selection, next_page
from memory.admin.dialogs import with_button
from memory.db.transactions import in_transaction
from memory.models import Soas
from memory.types import whole_number
from resolution.admin.pages import changes

ConceptMark = Literal["muted", "common"]
# What concepts are without the mark, and with it.
BECOME: Final[dict[ConceptMark, tuple[str, str]]] = {
    "muted": ("no longer muted", "muted"),
    "common": ("names now", "common words now"),
}
# The message in the log, and the words of the page for it.
LOGGED: Final = {
    "is_muted: False -> True": "muted",
    "is_muted: True -> False": "unmuted",
    "is_common: False -> True": "marked as a common word",
    "is_common: True -> False": "called a name",
}
NAMED_MAX: Final = 10  # concepts that are named in a message about many
# The flusher's formula, on the count at the time of the update.
SALIENCY: Final = Func(Cast(Greatest(F("encounter_count"), 1), FloatField()), function="log")


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


def last_changes(concept: Soas) -> list[tuple[str, str, datetime]]:
    """Return the last changes of the concept's marks, newest first, with who made each and when. Runs one query."""
    about = {"content_type__app_label": "memory", "content_type__model": "soas", "object_id": str(concept.pk)}
    entries = LogEntry.objects.filter(**about, change_message__in=LOGGED).select_related("user").order_by("-pk")
    return [(LOGGED[row.change_message], row.user.get_username(), row.action_time) for row in entries[: len(BECOME)]]


def report_marked(
    request: HttpRequest, mark: ConceptMark, changed: Sequence[Soas], *, to: bool, back: str, more: str = ""
) -> SafeString | str:
    """Return a message about the changed concepts, with a button that undoes it and returns to the page ``back``."""
    told = f"{len(changed):,} {BECOME[mark][to]}"
    if not changed:
        return f"{told}{more}."
    named = ", ".join(concept.token for concept in changed[:NAMED_MAX])
    others = f" and {len(changed) - NAMED_MAX:,} more" if len(changed) > NAMED_MAX else ""
    keys = ",".join(str(concept.pk) for concept in changed)
    fields = {"next": back, "mark": mark, "to": "false" if to else "true", "keys": keys}
    return with_button(request, f"{told}: {named}{others}{more}.", "Undo", reverse("admin:memory_soas_marks"), **fields)


def make_marking(
    description: str, mark: ConceptMark, *, to: bool
) -> Callable[[Page, HttpRequest, QuerySet[Soas]], None]:
    """Return an action of the list that sets or removes a mark."""

    @admin.action(description=description, permissions=["change"])
    def mark_all(page: Page, request: HttpRequest, queryset: QuerySet[Soas]) -> None:
        keys, more = limit_selection(queryset.filter(**{f"is_{mark}": not to}))
        changed = set_mark(mark, keys, request.user, to=to)
        said = report_marked(request, mark, changed, to=to, back=request.get_full_path(), more=more)
        page.message_user(request, said, messages.SUCCESS)

    return mark_all


class SetsMarks:
    """A mixin with the actions of the list that set marks, and the view to which the buttons of other pages post."""

    mute = make_marking("Mute: never recall, never ask", "muted", to=True)
    unmute = make_marking("Unmute", "muted", to=False)
    mark_common = make_marking("Mark as common words: their saliency stays 0", "common", to=True)
    mark_names = make_marking("Mark as names, no longer common words", "common", to=False)

    @changes("memory.change_soas")
    def set_marks(self, request: HttpRequest) -> HttpResponse:
        """Set a mark on the concepts with the given ``keys``."""
        mark, to = cast(ConceptMark, request.POST.get("mark", "")), request.POST.get("to") == "true"
        keys = [key for text in request.POST.get("keys", "").split(",") if (key := whole_number(text)) is not None]
        back = next_page(request) or reverse("admin:memory_soas_changelist")
        if mark in BECOME:
            changed = set_mark(mark, keys[:ACTION_MAX], request.user, to=to)
            messages.success(request, report_marked(request, mark, changed, to=to, back=back))
        return redirect(back)
