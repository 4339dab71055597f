"""What is kept of what people say, on the home page; after an upgrade, the question whether it is to be."""

from typing import Any, Final, NamedTuple

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from memory.admin import settings_audit
from memory.admin.settings_audit import ChangedMeanwhile
from memory.settings.registry import Tuning

COUNTED_MAX: Final = 10_000  # episodes
GIVEN_MAX: Final = 50_000  # what prompts were given
COUNT: Final = """
    SELECT (SELECT count(*) FROM (SELECT FROM episode LIMIT %(episodes)s) AS kept),
        count(*), count(is_used), count(*) FILTER (WHERE is_used)
    FROM (
        SELECT is_used FROM given_note WHERE at >= now() - interval '7 days' ORDER BY at DESC LIMIT %(given)s
    ) AS newest
"""
ANSWERS: Final = {
    "on": "From now on what is said is kept, secrets masked.",
    "off": "Nothing that is said is kept. The setting episodes changes that.",
}


class Counted(NamedTuple):
    """How many episodes are kept, as far as they are counted; how many memories and episodes prompts of the last week
    were given, of how many of these it is known whether the answer used them, and how many it did."""

    episodes: int
    given: int
    told: int
    used: int

    @property
    def notes(self) -> dict[str, Any]:
        """What was given, and how many of each hundred the answers use."""
        return {"notes": self.given, "percent": round(100 * self.used / self.told) if self.told else None}


def count() -> Counted:
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"episodes": COUNTED_MAX + 1, "given": GIVEN_MAX})
        return Counted(*cursor.fetchone())


def describe_remembering(tuning: Tuning, count: int) -> dict[str, Any]:
    """Without the number where there are too many to be counted for a page."""
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
