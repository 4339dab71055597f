"""What is kept of what people say, on the home page; after an upgrade, the question whether it is to be."""

from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from memory.admin import settings_audit
from memory.admin.settings_audit import ChangedMeanwhile
from memory.models import Episode
from memory.settings.registry import Tuning

COUNTED_MAX: Final = 10_000
ANSWERS: Final = {
    "on": "From now on what is said is kept, secrets masked.",
    "off": "Nothing that is said is kept. The setting episodes changes that.",
}


def describe_remembering(tuning: Tuning) -> dict[str, Any]:
    """Without the number where there are too many to be counted for a page."""
    count = Episode.objects.order_by()[: COUNTED_MAX + 1].count()
    return {
        "is_asked": tuning.episodes == "ask",
        "is_on": tuning.episodes in ("on", "all"),
        "days": tuning.episode_days,
        "count": count,
        "is_counted_whole": count <= COUNTED_MAX,
        "counted_max": COUNTED_MAX,
    }


@require_POST
def answer(request: HttpRequest) -> HttpResponse:
    """Of an operator to the question; whoever answers second is told what it is now."""
    if not request.user.has_perm("memory.change_config"):
        raise PermissionDenied
    chosen = request.POST.get("keep", "")
    if chosen in ANSWERS:
        try:
            settings_audit.change({"episodes": ("ask", chosen)}, request.user)
            messages.success(request, ANSWERS[chosen])
        except ChangedMeanwhile:
            messages.warning(request, "Nothing was changed: somebody else has answered. See the setting episodes.")
    return redirect("admin:index")
