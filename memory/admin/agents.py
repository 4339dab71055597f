"""The admin of agents, of sentences that they said, and of the processes that are alive."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.timesince import timesince
from django.views.decorators.http import require_POST

from memory.access import agent_tokens
from memory.access.switches import AGENT_SWITCHES
from memory.admin.base import NamesChanges, Page, ReadOnly, WordSearch, column, link
from memory.models import Agent, Evidence, Heartbeat

REMEMBERED = ("episodes", "project", "allowed_projects", "allows_all_projects")


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    class Meta:
        model = Agent
        fields = ("name", "scope", *AGENT_SWITCHES, "can_teach", *REMEMBERED)
        help_texts = {"name": "Shown in conflicts and histories. It cannot be changed later."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in {"can_teach", "episodes"} & self.fields.keys():
            self.fields[name].required = False  # a form sent without it means the default

    def clean_name(self) -> str:
        try:
            return agent_tokens.clean_name(self.cleaned_data["name"])
        except agent_tokens.AgentMistake as mistake:
            raise ValidationError(f"This name cannot be used: {mistake}.") from mistake


@admin.register(Agent)
class AgentAdmin(NamesChanges, Page):
    form = AgentForm
    list_display = ("name", "scope", *AGENT_SWITCHES, "can_teach", "episodes", "project", "created_at")
    list_select_related = ("project",)
    list_filter = ("scope", *AGENT_SWITCHES, "can_teach", "episodes")
    search_fields = ("name",)
    ordering = ("name",)
    change_form_outer_after_template = "memory/agent_actions.html"
    delete_confirmation_template = "memory/revoke_token.html"
    own_views = {"<int:agent_id>/rotate/": "rotate"}
    fixed_fields = ("name", "created_at")

    def get_fields(self, request: HttpRequest, obj: Agent | None = None) -> tuple[str, ...]:
        return ("name", "scope", *AGENT_SWITCHES, "can_teach", *REMEMBERED, *(("created_at",) if obj else ()))

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # One way to save, because the token is shown next.
        one_way = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, one_way | (extra_context or {}))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.shown_once = agent_tokens.new_token()  # for the answer to this request, and nothing else
            obj.token_hash = agent_tokens.token_hash(obj.shown_once)
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self.show_token(request, obj, obj.shown_once, "was created")

    @method_decorator(require_POST)
    def rotate(self, request: HttpRequest, agent_id: int) -> HttpResponse:
        agent = get_object_or_404(Agent, pk=agent_id)
        if not self.has_change_permission(request, agent):
            raise PermissionDenied
        if request.POST.get("seen") != agent.token_mark:  # the form was sent again, by a reload for example
            text = "Nothing was changed: there is already a new token. It was shown once; if you lost it, make another."
            self.message_user(request, text, messages.WARNING)
            return redirect("admin:memory_agent_change", agent.pk)
        token = agent_tokens.rotate(agent)
        self.log_change(request, agent, "New token; the previous one is refused.")
        return self.show_token(request, agent, token, "has a new token; the previous one is refused from now on")

    def show_token(self, request: HttpRequest, agent: Agent, token: str, what: str) -> HttpResponse:
        """Render the page that shows the token, the only time it is shown."""
        # Not after a redirect, which would have to store the token somewhere.
        context = {"title": f"The token of {agent}", "opts": self.opts, "agent": agent, "token": token, "what": what}
        return TemplateResponse(request, "memory/token.html", self.admin_site.each_context(request) | context)


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnly, Page):
    list_display = ("name", "host", "pid", "at", "ago")
    ordering = ("name", "-at")
    fields = ("name", "host", "pid", "at", "ago")
    readonly_fields = ("ago",)

    @admin.display(description="how long ago")
    def ago(self, heartbeat: Heartbeat) -> str:
        seconds = (timezone.now() - heartbeat.at).total_seconds()
        return f"{max(0, round(seconds))} s" if seconds < 120 else timesince(heartbeat.at)


@admin.register(Evidence)
class EvidenceAdmin(WordSearch, ReadOnly, Page):
    list_display = ("sentence", "concept_link", "role", "agent", "said_at")
    list_display_links = ("sentence",)
    list_select_related = ("concept",)
    fields = ("concept_link", "sentence", "role", "agent", "said_at")
    readonly_fields = ("concept_link",)
    sortable_by = ()
    ordering = ("-id",)  # of half a million rows in the order of their times, a page would sort all

    concept_link = column("concept", link)
