"""The admin's look: colours, files, and the menu."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

Item = dict[str, Any]


def rows(title: str, icon: str, model: str) -> Item:
    """The list of a model, for those who may look at it. ``model``: as in memory.soas."""
    app, name = model.split(".")
    return page(title, icon, f"admin:{app}_{name}_changelist", f"{app}.view_{name}")


def page(title: str, icon: str, address: str, permission: str = "") -> Item:
    return {"title": title, "icon": icon, "link": reverse_lazy(address), "permission": may(permission)}


def may(permission: str) -> Callable[[HttpRequest], bool]:
    return lambda request: not permission or request.user.has_perm(permission)


def style(name: str) -> Callable[[HttpRequest], str]:
    return lambda request: static(f"festinger/{name}")


UNFOLD = {
    "SITE_TITLE": "Festinger",
    "SITE_HEADER": "Festinger",
    "SITE_SYMBOL": "psychology",
    "SITE_URL": None,
    "STYLES": [style("festinger.css")],
    "DASHBOARD_CALLBACK": "proxy.admin.home.context",
    "SIDEBAR": {
        "show_search": False,
        "navigation": [
            {
                "items": [
                    page("Home", "home", "admin:index"),
                    rows("Conflicts", "balance", "resolution.conflict"),
                ],
            },
            {
                "title": "The world",
                "separator": True,
                "items": [
                    rows("Concepts", "category", "memory.soas"),
                    rows("Facts", "share", "memory.edge"),
                    rows("Dimensions", "straighten", "memory.dimension"),
                ],
            },
            {
                "title": "What happened",
                "separator": True,
                "items": [
                    rows("Decisions", "gavel", "resolution.decision"),
                    rows("Runs", "play_circle", "resolution.run"),
                    rows("History", "history", "memory.edgehistory"),
                    rows("Decided triples", "rule", "resolution.decidedtriple"),
                    rows("Observations", "hearing", "memory.observation"),
                    rows("Evidence", "format_quote", "memory.evidence"),
                    rows("Recollections", "lightbulb", "proxy.recollectionevent"),
                    rows("Loop events", "all_inclusive", "proxy.loopevent"),
                    rows("Model calls", "receipt_long", "memory.llmcall"),
                ],
            },
            {
                "title": "Operating",
                "separator": True,
                "items": [
                    rows("Config", "tune", "memory.config"),
                    rows("Language models", "smart_toy", "memory.languagemodel"),
                    rows("Agents", "badge", "memory.agent"),
                    rows("Heartbeats", "ecg_heart", "memory.heartbeat"),
                    rows("Schedules", "schedule", "django_celery_beat.periodictask"),
                    rows("Accounts", "person", "auth.user"),
                    rows("Groups", "group", "auth.group"),
                ],
            },
        ],
    },
}
