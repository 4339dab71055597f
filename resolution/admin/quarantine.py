"""The quarantine page: takes an agent's statements out of the graph."""

from datetime import datetime

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminTextInputWidget

from memory.models import Agent
from resolution.admin.pages import actor_of
from resolution.models import Run
from resolution.pages.words import describe_history, names_in
from resolution.quarantine import describe_quarantine, find_suspects, quarantine

SHOWN = 50  # rows of each: facts, claims, memories, retractions
NAMES_OFFERED = 200


class QuarantineForm(forms.Form):
    agent = forms.CharField(
        max_length=120,
        label="Agent, with or without a token",
        widget=UnfoldAdminTextInputWidget(attrs={"list": "agents", "autocomplete": "off"}),
    )
    since = forms.DateTimeField(
        required=False,
        label="Only what it said first since",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"],
    )


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("resolution.change_conflict", raise_exception=True)
@permission_required("memory.delete_edge", raise_exception=True)
def quarantine_page(request: HttpRequest) -> HttpResponse:
    """Preview the quarantine on GET; carry it out on POST."""
    given = request.POST or request.GET
    form = QuarantineForm(given) if given.get("agent") else QuarantineForm()
    context = {**admin.site.each_context(request), "title": "Quarantine an agent", "form": form}
    if form.is_bound and form.is_valid():
        agent: str = form.cleaned_data["agent"]
        since: datetime | None = form.cleaned_data["since"]
        found = find_suspects(agent, since)
        if request.method == "POST" and found:
            run = quarantine(found, actor_of(request), Run.Trigger.QUARANTINE, describe_quarantine(agent, since))
            messages.success(request, f"{found.describe()} went to the candidates.")
            return redirect("admin:resolution_run_change", run.pk)
        context |= {"found": found, "facts": found.facts[:SHOWN], "claims": found.claims[:SHOWN], "agent": agent}
        context["memories"] = found.memories[:SHOWN]
        tokens = names_in(row.before for row in found.retracted[:SHOWN])
        context["retracted"] = [describe_history(row, tokens) for row in found.retracted[:SHOWN]]
    context["agents"] = Agent.objects.order_by("name").values_list("name", flat=True)[:NAMES_OFFERED]
    return TemplateResponse(request, "resolution/quarantine.html", context)
