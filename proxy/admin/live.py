"""The live view: the last recollections as they are served, and the fragment with which the page follows them."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memory.models import Config
from proxy.telemetry import live_feed
from proxy.telemetry.live_feed import FeedFilter, Mark


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """The last events, the newest first."""
    wanted = read_filters(request)
    served, mark = live_feed.newest(wanted)
    agents, models = live_feed.names()
    shown = {
        "title": "Live",
        "agents": sorted({*agents, wanted.agent} - {""}),
        "models": sorted({*models, wanted.model} - {""}),
        "wanted": wanted,
        "rows_max": live_feed.ROWS_MAX,
    }
    context = {**admin.site.each_context(request), **shown, **rows_shown(served, mark)}
    return render(request, "proxy/live.html", context)


@require_GET
def rows(request: HttpRequest) -> HttpResponse:
    """The events since a mark, and the next mark."""
    served, mark = live_feed.since(Mark.read(request.GET.get("since", "")), read_filters(request))
    return render(request, "proxy/live_rows.html", rows_shown(served, mark))


def read_filters(request: HttpRequest) -> FeedFilter:
    if not request.user.has_perm("proxy.view_recollectionevent"):
        raise PermissionDenied
    told = request.GET
    return FeedFilter(told.get("agent", ""), told.get("model", ""), with_block=told.get("block") == "1")


def rows_shown(served: list[live_feed.Served], mark: Mark) -> dict[str, Any]:
    return {"served": served, "mark": mark, "keeps_prompt_text": Config.tuning().keeps_prompt_text}
