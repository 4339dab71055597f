"""The charts of the home page: the fragment with those of another range."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from proxy.telemetry import hourly_stats


@require_GET
def charts(request: HttpRequest) -> HttpResponse:
    """The charts of ``range``, as they stand on the home page."""
    if not request.user.has_perm("proxy.view_hourlyfigures"):
        raise PermissionDenied
    return render(request, "proxy/home/charts_of_range.html", {"charts": hourly_stats.charts(request.GET.get("range"))})
