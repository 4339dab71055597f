"""The admin of agents with their tokens, and the pages of all who speak: agents, also those without a token, and the
persons behind them. A person has no row: the page is a view of the rows that name them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import action
from unfold.forms import BaseDialogForm
from unfold.views import ChangeList

from memory.access import agent_tokens
from memory.access.switches import AGENT_SWITCHES
from memory.admin.base import CountedRows, NamesChanges, Narrow, Page, by_speaker, count_all
from memory.admin.dialogs import dialog, leave_dialog
from memory.attribution.client_names import is_registered
from memory.db.connections import fetch_rows
from memory.graph.statement import make_storable
from memory.graph.store import select_supported
from memory.memories.forgetting import ForgetScope, forget
from memory.models import Agent, Edge, Episode, Evidence, Memory, Observation
from memory.templatetags.speakers import speaker_address
from memory.templatetags.times import ago
from memory.types import whole_number
from proxy.models import EVENTS_KEPT, LoopEvent, RecollectionEvent
from proxy.telemetry import live_feed
from resolution.admin.candidates import by_voice
from resolution.admin.observations import by_stater
from resolution.admin.pages import render_conflicts
from resolution.models import Candidate, Claim, Conflict, ConflictMember
from resolution.pages.words import format_date

REMEMBERED = ("episodes", "project", "allowed_projects", "allows_all_projects")
PERSONS_MAX: Final = 1_000  # behind an agent, that are looked for
PERSONS_SHOWN: Final = 100
DAYS: Final = 7  # of what was taught lately
CONFLICTS_SHOWN: Final = 10
REFUSED: Final = (
    "The token is refused from then on, by every process, and tells no agent: prompts with it are answered as without a"
    " token, unless FESTINGER_REQUIRE_TOKEN is set."
)
NEW_TOKEN: Final = "New token; the previous one is refused."
PAGE: Final = "admin:memory_agent_change"
FORGETS: Final = (
    "Episodes, memories, sentences and statements are deleted with their history, and do not come back when a client"
    " sends them again. Requests are deleted, but not the records of loops in them. Facts that nobody else has stated"
    " are retired: they stay in the history, without the sentences, and can be restored. Not touched: what was stated"
    " without a person's name, backups, other lines of recent blocks, and what is heard just now."
)
FORGETTING: Final = ("memory.delete_episode", "memory.delete_memory", "memory.delete_edge")

# Each person behind an agent with the first and the last message, the last to speak first. Walks from one person to the
# next in the indexes: an agent may have said a million messages.
PERSONS: Final = """
    WITH RECURSIVE named (person) AS (
        SELECT %(person)s::text
        UNION ALL
        SELECT (SELECT min(person) FROM (
            (SELECT person FROM episode WHERE agent = %(agent)s AND person > named.person ORDER BY person LIMIT 1)
            UNION ALL
            (SELECT person FROM memory WHERE agent = %(agent)s AND person > named.person ORDER BY person LIMIT 1)
        ) AS next) FROM named WHERE person IS NOT NULL AND %(person)s = ''
    )
    SELECT named.person, first.said_at, last.said_at
    FROM (SELECT person FROM named WHERE person IS NOT NULL LIMIT %(most)s) AS named
    LEFT JOIN LATERAL (
        SELECT said_at FROM episode WHERE agent = %(agent)s AND person = named.person ORDER BY id LIMIT 1
    ) AS first ON true
    LEFT JOIN LATERAL (
        SELECT id, said_at FROM episode WHERE agent = %(agent)s AND person = named.person ORDER BY id DESC LIMIT 1
    ) AS last ON true
    ORDER BY last.id DESC NULLS LAST
"""


# The agents with messages of a person of this name. Walks from one agent to the next in the index.
AGENTS_OF: Final = """
    WITH RECURSIVE heard (agent) AS (
        SELECT min(agent) FROM episode
        UNION ALL
        SELECT (SELECT min(agent) FROM episode WHERE agent > heard.agent) FROM heard WHERE agent IS NOT NULL
    )
    SELECT agent FROM heard
    WHERE EXISTS (SELECT FROM episode WHERE episode.agent = heard.agent AND person = %(person)s)
    ORDER BY agent LIMIT %(most)s
"""


class Listed(NamedTuple):
    """Rows that a list shows: what they are called, the rows, and the query of the list's address; none: no link.
    ``dated``: the field by whose day the list can be filtered."""

    label: str
    rows: QuerySet[Any]
    query: dict[str, str] | None
    dated: str = ""

    @property
    def permission(self) -> str:
        meta = self.rows.model._meta
        return f"{meta.app_label}.view_{meta.model_name}"

    @property
    def address(self) -> str:
        meta = self.rows.model._meta
        if self.query is None:
            return ""
        return f"{reverse(f'admin:{meta.app_label}_{meta.model_name}_changelist')}?{urlencode(self.query)}"

    def since(self, begin: datetime) -> "Listed":
        """The rows from that day on."""
        query = (self.query or {}) | {f"{self.dated}_from": begin.date().isoformat()}
        return self._replace(rows=self.rows.filter(**{f"{self.dated}__gte": begin}), query=query)


def find_agents_of(person: str) -> list[str]:
    """Return the agents behind which somebody of this name has spoken: each agent knows its own persons."""
    return [agent for (agent,) in fetch_rows(AGENTS_OF, {"person": person, "most": PERSONS_SHOWN})] if person else []


def start_of_today() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def named_in(given: QueryDict) -> tuple[str, str]:
    """Return the agent and the person that an address or a form names."""
    return make_storable(given.get("agent", "")), make_storable(given.get("person", ""))


def list_given(agent: str, person: str) -> list[Listed]:
    """Return the lists of what came of a speaker's prompts. Loops name no person: theirs are those of the requests."""
    today = start_of_today()
    day = today.date().isoformat()
    query = {"agent": agent, "person": person} if person else {"agent": agent}
    events, loops = by_speaker(RecollectionEvent.objects.all(), agent, person), LoopEvent.objects.filter(agent=agent)
    if person:
        loops = loops.filter(request__in=events.values("request"))
    return [
        Listed("Prompts today", events.filter(at__gte=today), query | dict.fromkeys(("at_from", "at_to"), day)),
        Listed(f"Prompts in {EVENTS_KEPT.days} days", events, query),
        Listed("With a block", events.exclude(block=""), {**query, "block": "1"}),
        Listed("Loops", loops, None if person else query),
    ]


def list_taught(agent: str, person: str) -> list[Listed]:
    """Return the lists of what is there because of a speaker, each as it opens."""
    query = {"agent": agent, "person": person} if person else {"agent": agent}
    kinds: Sequence[tuple[str, QuerySet[Any], Narrow, str]] = (
        ("Facts", Edge.objects.exclude(concept=F("parent")), select_supported, "said_at"),
        ("Memories", Memory.objects.filter(status=Memory.Status.ACTIVE), by_speaker, "said_at"),
        ("Candidates", Candidate.objects.filter(state=Candidate.State.OPEN), by_voice, "last_said_at"),
        ("Statements", Observation.objects.all(), by_stater, "created_at"),
        ("Sentences", Evidence.objects.all(), by_speaker, ""),
        ("Episodes", Episode.objects.all(), by_speaker, "said_at"),
    )
    return [Listed(label, narrow(rows, agent, person), query, dated) for label, rows, narrow, dated in kinds]


def find_conflicts(agent: str, person: str) -> QuerySet[Conflict]:
    """Return the open conflicts about a speaker's facts, memories and claims, the newest first. Claims name no
    person."""
    # Looked up from the members: those of open conflicts are few, and the facts of an agent may be many.
    facts = select_supported(Edge.objects.filter(pk=OuterRef("object_id")), agent, person)
    memories = by_speaker(Memory.objects.filter(pk=OuterRef("object_id")), agent, person)
    kinds = ConflictMember.Kind
    members = ConflictMember.objects.filter(
        Q(Exists(facts), kind=kinds.EDGE) | Q(Exists(memories), kind=kinds.MEMORY),
        conflict__status=Conflict.Status.OPEN,
    )
    of_speaker = Q(pk__in=members.values("conflict"))
    if not person:
        of_speaker |= Q(pk__in=Claim.objects.filter(agent=agent).values("conflict"))
    return Conflict.objects.filter(of_speaker, status=Conflict.Status.OPEN).order_by("-pk")


def describe(request: HttpRequest, agent: str, person: str = "") -> dict[str, Any]:
    """Return what the page of a speaker shows, as far as the account may view it. Takes few queries, however much was
    said."""
    may = request.user.has_perm
    with connection.cursor() as cursor:
        cursor.execute(PERSONS, {"agent": agent, "person": person, "most": PERSONS_MAX})
        persons: list[tuple[str, datetime | None, datetime | None]] = cursor.fetchall()
    taught, week = list_taught(agent, person), start_of_today() - timedelta(days=DAYS - 1)
    groups = {
        "Given": list_given(agent, person),
        f"Taught in {DAYS} days": [one.since(week) for one in taught if one.dated],
        "Taught and kept": taught,
    }
    shown = {title: [one for one in rows if may(one.permission)] for title, rows in groups.items()}
    counts = iter(count_all([one.rows for rows in shown.values() for one in rows]))
    behind = [row for row in persons if row[0]] if not person else []
    found: dict[str, Any] = {
        "agent": agent,
        "person": person,
        "first": _date(min((at for _, at, _ in persons if at is not None), default=None)),
        "last": _date(max((at for _, _, at in persons if at is not None), default=None)),
        "groups": {title: [(one, next(counts)) for one in rows] for title, rows in shown.items()},
        "persons": [(name, speaker_address(agent, name), *map(_date, at)) for name, *at in behind[:PERSONS_SHOWN]],
        "persons_left_out": max(0, len(behind) - PERSONS_SHOWN),
        "may_forget": request.user.has_perms(FORGETTING),
        "forget": f"{reverse('admin:memory_agent_forget')}?{urlencode({'agent': agent, 'person': person})}",
    }
    if may("resolution.view_conflict"):
        found["conflicts"] = render_conflicts(find_conflicts(agent, person)[:CONFLICTS_SHOWN])
    return found


def _date(at: datetime | None) -> str:
    return format_date(at) if at is not None else "none"


# --- tokens ---


class TokenForm(BaseDialogForm):
    """Asks whether the token that is in force now is to be refused."""

    seen = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent = get_object_or_404(Agent, pk=whole_number(str(self.object_id)))
        self.initial["seen"] = self.agent.token_mark

    def is_outdated(self, request: HttpRequest) -> bool:
        """True, with a message, if it is another one by now: the form was sent again, for example."""
        if self.cleaned_data["seen"] == self.agent.token_mark:
            return False
        messages.warning(request, "Nothing was changed: the token has been rotated or revoked meanwhile.")
        return True


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


class AgentList(ChangeList):
    """A list that also tells who is heard without a token."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.without_token = [name for name in sorted(live_feed.list_seen()["agent"]) if not is_registered(name)]


@admin.register(Agent)
class AgentAdmin(NamesChanges, Page):
    form = AgentForm
    list_display = ("name", "scope", "last_heard", "prompts_today", "token", "switched_off", "project", "created_at")
    list_select_related = ("project",)
    list_filter = ("scope", *AGENT_SWITCHES, "can_teach", "episodes")
    search_fields = ("name",)
    ordering = ("name",)
    list_after_template = "proxy/without_token.html"
    change_form_outer_before_template = "proxy/speaker_rows.html"
    own_views = {"speaker/": "speaker", "forget/": "forget"}
    fixed_fields = ("name", "token", "token_made_at", "last_used_at")
    actions_detail = ("rotate", "revoke", "quarantine")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        prompts = RecollectionEvent.objects.filter(agent=OuterRef("name"))
        return (
            super()
            .get_queryset(request)
            .annotate(
                last=Subquery(prompts.order_by("-at").values("at")[:1]),
                today=CountedRows(prompts.filter(at__gte=start_of_today()).values("pk")),
            )
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return AgentList

    def get_fieldsets(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        settings = (None, {"fields": ("name", "scope", *AGENT_SWITCHES, "can_teach", *REMEMBERED)})
        return (settings, ("Token", {"fields": self.fixed_fields[1:]})) if obj is not None else (settings,)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        agent: Any = super().get_object(request, object_id, from_field)
        if agent is not None:  # read once: Unfold asks for what it shows several times
            made = LogEntry.objects.filter(
                content_type=ContentType.objects.get_for_model(Agent), object_id=agent.pk, change_message=NEW_TOKEN
            )
            agent.made = made.values_list("action_time", flat=True).order_by("-action_time").first()
        return agent

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        gone, *others = super().get_deleted_objects(objs, request)
        told = f"{REFUSED} What it has said stays, under its name."
        return [*gone, told], *others

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Agent | None = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            context["speaker"] = describe(request, obj.name)
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    # --- columns ---

    @admin.display(description="last prompt")
    def last_heard(self, agent: Any) -> str:
        return ago(agent.last) if agent.last else "-"

    @admin.display(description="prompts today")
    def prompts_today(self, agent: Any) -> str:
        return f"{agent.today:,}"

    @admin.display(description="off")
    def switched_off(self, agent: Agent) -> str:
        return ", ".join(name for name in AGENT_SWITCHES if not getattr(agent, name)) or "-"

    @admin.display(description="token")
    def token(self, agent: Agent) -> str:
        """Return how it is told from others: of those made before version 0.3.0 only the hash is stored."""
        shown = agent.token_start or (f"SHA-256 {agent.fingerprint}" if agent.fingerprint else "")
        return f"{shown}…" if shown else "revoked"

    @admin.display(description="made")
    def token_made_at(self, agent: Any) -> str:
        return format_date(agent.made or agent.created_at)

    @admin.display(description="last used for a prompt")
    def last_used_at(self, agent: Any) -> str:
        return format_date(agent.last) if agent.last else f"not in the last {EVENTS_KEPT.days} days"

    # --- the token ---

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # One way to save, because the token is shown next.
        one_way = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, one_way | (extra_context or {}))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.shown_once = agent_tokens.set_token(obj)  # for the answer to this request, and nothing else
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self.show_token(request, obj, obj.shown_once, "was created")

    @action(
        description="Rotate token", permissions=["change"],
        dialog=dialog("Rotate token", REFUSED, TokenForm),
    )  # fmt: skip
    def rotate(self, request: HttpRequest, form: TokenForm, object_id: str) -> HttpResponse:
        if form.is_outdated(request):
            return leave_dialog(request, PAGE, object_id)
        token = agent_tokens.rotate(form.agent)
        self.log_change(request, form.agent, NEW_TOKEN)
        return self.show_token(request, form.agent, token, "has a new token; the previous one is refused from now on")

    @action(
        description="Revoke token", permissions=["change"],
        dialog=dialog("Revoke token", f"{REFUSED} All else stays.", TokenForm),
    )  # fmt: skip
    def revoke(self, request: HttpRequest, form: TokenForm, object_id: str) -> HttpResponse:
        if not form.is_outdated(request):
            agent_tokens.revoke(form.agent)
            self.log_change(request, form.agent, "The token was revoked.")
            self.message_user(request, f"The token of {form.agent} is refused from now on.", messages.SUCCESS)
        return leave_dialog(request, PAGE, object_id)

    def show_token(self, request: HttpRequest, agent: Agent, token: str, what: str) -> HttpResponse:
        """Render the page that shows the token, the only time it is shown."""
        # Not after a redirect, which would have to store the token somewhere.
        context = {"title": f"The token of {agent}", "opts": self.opts, "agent": agent, "token": token, "what": what}
        # From a dialog, in its place.
        headers = {"HX-Retarget": "#dialog", "HX-Reselect": "#dialog"} if "HX-Request" in request.headers else None
        return TemplateResponse(
            request, "memory/token.html", self.admin_site.each_context(request) | context, headers=headers
        )

    # --- who speaks ---

    def has_quarantine_permission(self, request: HttpRequest, object_id: str = "") -> bool:
        return request.user.has_perms(("memory.delete_edge", "resolution.change_conflict"))

    @action(description="Quarantine …", permissions=["quarantine"])
    def quarantine(self, request: HttpRequest, object_id: str) -> HttpResponse:
        agent = get_object_or_404(Agent, pk=whole_number(object_id))
        return redirect(f"{reverse('admin:resolution_run_quarantine')}?{urlencode({'agent': agent.name})}")

    def speaker(self, request: HttpRequest) -> HttpResponse:
        """Show the page of a person, or of an agent without a token; go to the page of one with a token."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        agent, person = named_in(request.GET)
        row = Agent.objects.filter(name=agent).first() if not person else None
        if row is not None or not agent:
            return redirect(PAGE, row.pk) if row is not None else redirect("admin:memory_agent_changelist")
        context = {
            "title": f"{'Person' if person else 'Agent'} {person or agent}",
            "speaker": describe(request, agent, person),
        }
        return TemplateResponse(request, "proxy/speaker.html", self.admin_site.each_context(request) | context)

    def forget(self, request: HttpRequest) -> HttpResponse:
        """Show what would be forgotten of a person or an agent; on POST, forget it."""
        if not request.user.has_perms(FORGETTING):
            raise PermissionDenied
        agent, person = named_in(request.POST or request.GET)
        if not agent:
            return redirect("admin:memory_agent_changelist")
        scope = ForgetScope(agent=agent, person=person)
        if request.method == "POST":
            told = f"{forget(scope)} forgotten for good."
            LogEntry.objects.create(
                user_id=request.user.pk or 0, content_type=ContentType.objects.get_for_model(Agent),
                object_repr=f"{'a person behind ' if person else ''}{agent}: {told}"[:200], action_flag=DELETION,
            )  # fmt: skip
            self.message_user(request, told, messages.SUCCESS)
            return redirect(speaker_address(agent))
        context = {
            "title": f"Forget {f'{person}, behind {agent}' if person else f'all that {agent} said'}",
            "found": forget(scope, is_trial=True),
            "explained": FORGETS,
            "agent": agent,
            "person": person,
            "elsewhere": [(each, speaker_address(each, person)) for each in find_agents_of(person) if each != agent],
            "back": speaker_address(agent, person),
        }
        return TemplateResponse(request, "resolution/forget.html", self.admin_site.each_context(request) | context)
