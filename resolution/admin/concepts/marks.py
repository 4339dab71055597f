"""What operators are told when they marked concepts, with the button that takes it back."""

from collections.abc import Iterable, Sequence
from typing import Final

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from memory.models import Soas
from resolution.admin.concepts import flags
from resolution.admin.pages import with_button

MARKS: Final = {"muted": flags.mute, "common": flags.set_common}
NAMED_MAX: Final = 10  # concepts that are named in a message about many
_BECOME: Final = {"muted": ("no longer muted", "muted"), "common": ("names now", "common words now")}


def report_marked(
    request: HttpRequest, mark: str, changed: Sequence[Soas], *, to: bool, back: str, more: str = ""
) -> SafeString | str:
    """What became of several concepts. ``back``: the page to go to after *Undo*."""
    become = _BECOME[mark][to]
    if not changed:
        return f"0 {become}{more}."
    named = ", ".join(concept.token for concept in changed[:NAMED_MAX])
    others = f" and {len(changed) - NAMED_MAX:,} more" if len(changed) > NAMED_MAX else ""
    return offer_undo(request, f"{len(changed):,} {become}: {named}{others}{more}.", mark, changed, to=to, back=back)


def offer_undo(
    request: HttpRequest, said: SafeString | str, mark: str, changed: Iterable[Soas], *, to: bool, back: str
) -> SafeString:
    keys = ",".join(str(concept.pk) for concept in changed)
    fields = {"next": back, "mark": mark, "to": "false" if to else "true", "keys": keys}
    return with_button(request, said, "Undo", reverse("admin:memory_soas_marks"), **fields)
