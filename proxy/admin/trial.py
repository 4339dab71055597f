"""The page *Try a text*: shows what a text or a whole request would be given, and would leave behind. Nothing is
stored."""

from dataclasses import replace
from typing import Any, Final

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_http_methods

from memory.admin.base import add_pages
from memory.graph.statement import PERSON_MAX
from memory.models import Agent, Project
from proxy import runtime
from proxy.access.caller import impersonate
from proxy.explanation import Explanation, Untriable, explain_in_server, read_body
from proxy.formats import FORMATS
from proxy.prompts.dry_run import TEXT_PATH, write_prompt
from proxy.telemetry.live_feed import ids_of

TEXT_MAX: Final = 1_000_000  # characters
AGENT_MAX: Final = 120
NOBODY: Final = "anonymous@127.0.0.1"
# The speakers of a text. The other choices are the path of a request, or ANY_REQUEST.
ROLES: Final = {
    "user": "what a user says",
    "assistant": "what the model says",
    "tool": "what a tool returns",
    "system": "a system text",
}
ANY_REQUEST: Final = "request"
KINDS: Final = {**ROLES, ANY_REQUEST: "the body of a request", **{key: f"a body for {key}" for key in FORMATS}}
# The badge for each outcome of a statement.
BADGES: Final = {
    "inserted": "good", "confirmed": "good", "superseded": "good", "retired": "good", "conflict": "bad",
    "candidate": "warn", "over_quota": "warn",
}  # fmt: skip
# They may choose any agent and person, so they need the permission to see what is remembered of everybody.
SEES_REMEMBERED: Final = ("memory.view_memory", "memory.view_episode", "memory.view_projectstate")


@require_http_methods(["GET", "POST"])
@permission_required("memory.view_edge", raise_exception=True)
def try_text(request: HttpRequest) -> HttpResponse:
    # Posted although nothing changes: a request does not fit into a URL, and prompts do not belong in logs.
    text = request.POST.get("text", "")[:TEXT_MAX].replace("\r\n", "\n")  # as browsers end lines
    kind = request.POST.get("kind", "user")
    agent = request.POST.get("agent", "").strip()[:AGENT_MAX]
    person, project = request.POST.get("person", "").strip()[:PERSON_MAX], request.POST.get("project", "")
    searches = request.user.has_perms(SEES_REMEMBERED)
    projects = list(Project.objects.order_by("slug").values_list("pk", "slug")) if searches else []
    context: dict[str, Any] = {
        "title": "Try a text",
        "text": text,
        "kind": kind,
        "kinds": KINDS,
        "agent": agent,
        "nobody": NOBODY,
        "agents": Agent.objects.order_by("name").values_list("name", flat=True),
        "person": person,
        "project": project,
        "projects": projects,
        "searches": searches,
    }
    if request.method == "POST":
        chosen = next((pk for pk, _ in projects if str(pk) == project), None)
        try:
            context |= show(look_at(text, kind, agent or NOBODY, person, chosen, searches=searches))
        except Untriable as mistake:
            context["mistake"] = str(mistake)
    return render(request, "proxy/trial.html", {**admin.site.each_context(request), **context})


def look_at(text: str, kind: str, agent: str, person: str, project: int | None, *, searches: bool) -> Explanation:
    """Raises Untriable."""
    if not text.strip():
        raise Untriable("There is no text to try.")
    if kind in ROLES:
        place, body = TEXT_PATH, write_prompt(text, kind)
    else:
        place, body = read_body(text, kind if kind in FORMATS else "")
    caller = impersonate(runtime.current().cache, agent, person, project)
    caller = caller if searches else replace(caller, project=None)
    return explain_in_server(place, body, caller, searches=searches)


def show(told: Explanation) -> dict[str, Any]:
    ids = ids_of({word for word, _ in told.concepts})
    return {
        "told": told,
        "concepts": [(word, ids.get(word), why) for word, why in told.concepts],
        "stated": [(stated, BADGES.get(stated.status, "")) for stated in told.stated],
    }


add_pages(lambda: [path("try/", admin.site.admin_view(try_text), name="proxy_try")])
