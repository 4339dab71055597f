"""The admin's appearance: colours, style sheets and the menu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.functional import lazy

if TYPE_CHECKING:
    from django.http import HttpRequest

MenuItem = dict[str, Any]


# Not django.urls.reverse_lazy: the launcher reads the settings as a plain module, and the import takes 0.2 s and 11 MB.
def reverse(name: str) -> str:
    from django import urls

    return urls.reverse(name)


def rows(title: str, icon: str, model: str) -> MenuItem:
    """Return the menu item for the list of a model such as memory.soas, for accounts that may view it."""
    app, name = model.split(".")
    return page(title, icon, f"admin:{app}_{name}_changelist", f"{app}.view_{name}")


def page(title: str, icon: str, address: str, permission: str = "") -> MenuItem:
    def is_allowed(request: HttpRequest) -> bool:
        return not permission or request.user.has_perm(permission)

    return {"title": title, "icon": icon, "link": lazy(reverse, str)(address), "permission": is_allowed}


def section(title: str, *items: MenuItem) -> MenuItem:
    return {"title": title, "separator": True, "items": items}


def is_superuser(request: HttpRequest) -> bool:
    return request.user.is_superuser


def are_recollections(request: HttpRequest) -> bool:
    """True if the recollections' menu item is active."""
    # The live view has its own item, although its address begins with that of the list.
    begin, live = reverse("admin:proxy_recollectionevent_changelist"), reverse("admin:proxy_live")
    return request.path.startswith(begin) and not request.path.startswith(live)


def are_memories(request: HttpRequest) -> bool:
    """True if the memories' menu item is active: the search has one of its own."""
    begin, search = reverse("admin:memory_memory_changelist"), reverse("admin:memory_memory_search")
    return request.path.startswith(begin) and request.path != search


# At most twelve entries are seen at once: a section is folded unless the page is in it.
MENU: list[MenuItem] = [
    {
        "items": [
            page("Home", "home", "admin:index"),
            rows("Conflicts", "balance", "resolution.conflict"),
            rows("Candidates", "pending", "resolution.candidate"),
            rows("Runs", "play_circle", "resolution.run"),
            page("Live", "sensors", "admin:proxy_live", "proxy.view_recollectionevent"),
            page("Try a text", "science", "admin:proxy_try", "memory.view_edge"),
        ],
    },
    section(
        "Graph",
        rows("Concepts", "category", "memory.soas"),
        rows("Facts", "share", "memory.edge"),
        rows("Dimensions", "straighten", "memory.dimension"),
        page("Export and import", "swap_vert", "admin:resolution_transfer", "memory.view_edge"),
    ),
    section(
        "Memories",
        page("Search as an agent", "search", "admin:memory_memory_search", "memory.view_memory"),
        page("Project overview", "menu_book", "admin:resolution_mirrors", "memory.view_project"),
        rows("Memories", "psychology_alt", "memory.memory") | {"active": are_memories},
        rows("Episodes", "forum", "memory.episode"),
        rows("Set aside", "visibility_off", "memory.forgetrequest"),
        rows("Projects", "folder", "memory.project"),
        rows("Project state values", "flag", "memory.projectstate"),
    ),
    section(
        "Administration",
        rows("Settings", "tune", "memory.config"),
        rows("Mute patterns", "volume_off", "memory.mutepattern"),
        rows("Language models", "smart_toy", "memory.languagemodel"),
        rows("Agents", "badge", "memory.agent"),
        rows("Notifications", "notifications", "memory.notificationtarget"),
        rows("Heartbeats", "ecg_heart", "memory.heartbeat"),
        rows("Schedules", "schedule", "django_celery_beat.periodictask"),
        rows("Accounts", "person", "auth.user") | {"permission": is_superuser},
        rows("Groups", "group", "auth.group") | {"permission": is_superuser},
    ),
    section(
        "Records",
        rows("Decisions", "gavel", "resolution.decision"),
        rows("History", "history", "memory.edgehistory"),
        rows("Resolved statements", "rule", "resolution.decidedtriple"),
        rows("Queued messages", "hourglass_top", "memory.heardmessage"),
        rows("Program prompts", "precision_manufacturing", "memory.promptopening"),
        rows("Observations", "hearing", "memory.observation"),
        rows("Evidence", "format_quote", "memory.evidence"),
        rows("Recollections", "lightbulb", "proxy.recollectionevent") | {"active": are_recollections},
        rows("Loop events", "all_inclusive", "proxy.loopevent"),
        rows("Model calls", "receipt_long", "memory.llmcall"),
        rows("Deliveries", "outgoing_mail", "memory.notificationdelivery"),
    ),
]


def navigation(request: HttpRequest) -> list[MenuItem]:
    """Return the menu with the numbers of what needs an operator."""
    from resolution.pages.queue_summary import count_for_menu

    counts = count_for_menu() if request.user.is_staff else {}
    first, *sections = MENU
    items = [item | ({"badge": counts[item["title"]]} if counts.get(item["title"]) else {}) for item in first["items"]]
    return [first | {"items": items}, *sections]


UNFOLD = {
    "SITE_TITLE": "Festinger",
    "SITE_HEADER": "Festinger",
    "SITE_SYMBOL": "psychology",
    "SITE_URL": None,
    # Functions, because Unfold tries to import strings for each page. The addresses begin with STATIC_URL.
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda _: "/static/festinger/icon.svg"}],
    "STYLES": [lambda _: "/static/festinger/festinger.css"],
    "SCRIPTS": [lambda _: "/static/festinger/lists.js"],
    "DASHBOARD_CALLBACK": "proxy.admin.home.context",
    "LOGIN": {"form": "proxy.access.login.LoginForm"},
    "COMMAND": {"search_callback": "festinger_site.admin.search.find"},  # Ctrl K
    "SIDEBAR": {
        "show_search": True,
        "command_search": True,
        "navigation": navigation,
    },
}
