"""The admin pages of recollections and of loops, and the live view."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET
from unfold.contrib.filters.admin import TextFilter

from memory.admin.base import (
    LINK,
    DayFilter,
    ListFilter,
    Page,
    ReadOnly,
    by_speaker,
    column,
    link,
    render_preformatted,
)
from memory.english.phrases import format_count
from memory.graph.statement import make_storable
from memory.models import Config
from memory.templatetags.speakers import speaker
from proxy.admin.request_lines import NEAR, find_messages, has_lost_block, tell_requests
from proxy.formats import FORMATS
from proxy.models import EVENTS_KEPT, LoopEvent, RecollectionEvent
from proxy.prompts.search import FAILED, LATE
from proxy.telemetry import live_feed
from proxy.telemetry.live_feed import LOOKED_AT_MAX, SHOWN, FeedFilter, FeedRow, ids_of

APART_MAX: Final = timedelta(minutes=10)
REQUESTS_MAX: Final = 50  # of a conversation, on one page
MESSAGES_MAX: Final = 100  # without a request
OPENING: Final = re.compile(r"[0-9a-f]{32}")
REQUEST: Final = re.compile(r"[0-9a-f]{8,16}")  # an id, or how it begins


class WireFilter(ListFilter):
    title = "wire format"
    parameter_name = "wire"
    options = [(wire.name, wire.name) for wire in FORMATS.values()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(wire=self.value()) if self.value() else queryset


class SeenFilter(ListFilter):
    """Filters by the agents or the models of the last prompts: both are read at once for a page."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        page = vars(request)
        if "seen" not in page:
            page["seen"] = live_feed.list_seen()
        return [(name, name) for name in sorted(page["seen"][self.parameter_name] | {self.value() or ""}) if name]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{str(self.parameter_name): self.value()}) if self.value() else queryset


class AgentFilter(SeenFilter):
    title = parameter_name = "agent"


class ModelFilter(SeenFilter):
    title = parameter_name = "model"


class PersonFilter(TextFilter):
    """Filters by a person, as clients name them."""

    title = parameter_name = "person"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return by_speaker(queryset, "", make_storable(self.value() or "").strip())


class BlockFilter(ListFilter):
    title = "block"
    parameter_name = "block"
    options = [("1", "with a block")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.exclude(block="") if self.value() == "1" else queryset


class EventAdmin(ReadOnly, Page):
    """The events of requests, the newest first: the order that has an index."""

    sortable_by = ("at",)
    search_fields = ("request__startswith",)
    ordering = ("-at",)

    @admin.display(description="agent")
    def sender(self, event: Any) -> SafeString | str:
        return speaker(event.agent, getattr(event, "person", ""))  # loops name none


@admin.register(RecollectionEvent)
class RecollectionEventAdmin(EventAdmin):
    list_name = "recollections"
    list_display = ("at", "sender", "request", "model", "wire", "concepts", "block_characters", "milliseconds")
    list_filter = (AgentFilter, ModelFilter, WireFilter, BlockFilter, ("at", DayFilter), PersonFilter)
    list_filter_submit = True
    search_fields = ("block__icontains",)
    search_help_text = "Search by injected text or request ID"
    fields = (
        "what_was_said",
        "what_was_found",
        "taught",
        "whole_conversation",
        "sender",
        "at",
        "model",
        "wire",
        "request",
        "client_request",
        "what_became_of_concepts",
        "block_as_it_was",
        "style",
        "not_done",
        "loops_met",
        "unread",
        "added_latency",
    )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("live/", view(live_page), name="proxy_live"),
            path("live/rows/", view(live_rows), name="proxy_live_rows"),
            path("origin/", view(origin), name="proxy_origin"),
            path("conversation/<str:opening>/", view(conversation_page), name="proxy_conversation"),
        ]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RecollectionEvent]:
        return super().get_queryset(request).annotate(block_length=Length("block"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if REQUEST.fullmatch(search_term):
            return queryset.filter(request__startswith=search_term), False
        # No index has the words of blocks: among millions it would take too long to find none.
        horizon = queryset.order_by("-at").values_list("at", flat=True)[LOOKED_AT_MAX - 1 : LOOKED_AT_MAX].first()
        recent = queryset.filter(at__gte=horizon) if search_term and horizon else queryset
        return super().get_search_results(request, recent, search_term)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        event: Any = super().get_object(request, object_id, from_field)
        if event is not None:
            # Looked up here and not in the displays: Django calls each of them several times for one page.
            event.keeps_prompt_text = Config.tuning().keeps_prompt_text
            event.ids = ids_of(set(event.reasons))
            [event.told] = tell_requests([event], request.user.has_perm, request.path)
        return event

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        told = "Request {} is not there. It is written within a second, and kept for {} days. {}"
        again = format_html('<a href="{}" class="{}">Try again</a>', request.path, LINK)
        messages.warning(request, format_html(told, object_id, EVENTS_KEPT.days, again))
        return redirect("admin:proxy_recollectionevent_changelist")

    @admin.display(description="conversation")
    def whole_conversation(self, event: RecollectionEvent) -> SafeString | str:
        if not event.conversation:
            return "not known"
        page = reverse("admin:proxy_conversation", args=[event.conversation])
        return format_html('<a href="{}" class="{}">all its requests</a>', page, LINK)

    @admin.display(description="taught")
    def taught(self, event: Any) -> SafeString | str:
        taught = event.told.taught
        return render_to_string("proxy/taught.html", {"taught": taught}) if taught else "nothing"

    @admin.display(description="recalled, asked")
    def concepts(self, event: RecollectionEvent) -> str:
        told = FeedRow(event, (), {})
        return ", ".join([*(word for word, _, _ in told.shown), *told.given])

    block_characters = column("block_length", lambda count: format_count(count, "character"), "block", empty="-")
    milliseconds = column("enrich_ms", "{:.1f}".format, "ms")
    added_latency = column("enrich_ms", "{:.1f} ms".format, "added latency")
    unread = column("unread_characters", lambda count: format_count(count, "character"), "unread text")

    @admin.display(description="block")
    def block_as_it_was(self, event: RecollectionEvent) -> SafeString | str:
        if has_lost_block(event):
            return "no longer kept: something in it was set aside or forgotten"
        return render_preformatted(event.block) if event.block else "nothing"

    @admin.display(description="skipped steps")
    def not_done(self, event: RecollectionEvent) -> str:
        left_out = [f"{switch}: {why}" for switch, why in event.restrictions.items()]
        left_out += [f"search: {event.search}"] if event.search in (LATE, FAILED) else []
        return "; ".join(left_out) or "none"

    @admin.display(description="concepts")
    def what_became_of_concepts(self, event: Any) -> SafeString | str:
        if not event.reasons:
            return "none was salient"
        words = sorted(event.reasons, key=lambda word: (event.reasons[word] not in SHOWN, word))
        shown = {
            "rows": [(word, event.ids.get(word), event.reasons[word]) for word in words],
            "left_out": event.reasons_left_out,
            "json": json.dumps(event.reasons, indent=2, ensure_ascii=False, sort_keys=True),
        }
        return render_to_string("proxy/reasons.html", shown)

    @admin.display(description="lines")
    def what_was_found(self, event: Any) -> SafeString:
        took = f", {event.search_ms:.1f} ms" if event.search_ms is not None else ""
        search = f"Search: {event.search or 'nothing was searched'}{took}"
        return render_to_string("proxy/request_lines.html", {"search": search, "lines": event.told.lines})

    @admin.display(description="loops")
    def loops_met(self, event: Any) -> SafeString | str:
        told = [
            link(loop, f"{loop.get_kind_display()}, {loop.count} times: {', '.join(loop.steps)}")
            for loop in event.told.loops
        ]
        return format_html_join("", "{}<br>", ((each,) for each in told)) or "none"

    @admin.display(description="last message of a user")
    def what_was_said(self, event: Any) -> SafeString:
        """Show the text only while an operator wants it kept; otherwise the messages that are stored anyway."""
        setting = link(Config(key="live_prompt_text"))
        if not event.keeps_prompt_text:
            told = render_to_string("proxy/messages.html", {"said": event.told.said})
            return told if event.told.said else format_html("Not kept: the setting {} is off.", setting)
        text = render_preformatted(event.prompt_text) if event.prompt_text else "Nothing was kept of this one."
        return format_html("{}<p>The text of prompts is kept, because the setting {} is on.</p>", text, setting)


@admin.register(LoopEvent)
class LoopEventAdmin(EventAdmin):
    list_display = ("at", "sender", "request", "model", "wire", "kind", "count", "steps_taken")
    list_filter = ("kind", WireFilter, ("at", DayFilter))
    list_filter_submit = True
    fields = (
        "recollection",
        "at",
        "sender",
        "model",
        "wire",
        "kind",
        "count",
        "period",
        "steps_taken",
        "repeated_in_lines",
    )

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        event: Any = super().get_object(request, object_id, from_field)
        if event is not None:
            event.given = RecollectionEvent.objects.filter(pk=event.request).only("pk").first()
        return event

    @admin.display(description="request")
    def recollection(self, event: Any) -> SafeString | str:
        return link(event.given) if event.given is not None else event.request

    steps_taken = column("steps", ", ".join)
    repeated_in_lines = column("repeated", lambda lines: render_preformatted("\n".join(lines)))


# --- from a statement to its request ---


@require_GET
def origin(request: HttpRequest) -> HttpResponse:
    """Redirect to the request of a conversation in which something was said."""
    if not request.user.has_perm("proxy.view_recollectionevent"):
        raise PermissionDenied
    conversation = request.GET.get("conversation", "")
    try:
        said_at = datetime.fromtimestamp(float(request.GET.get("at", "")), UTC)
    except (ValueError, OverflowError, OSError):
        said_at = timezone.now()
    events = RecollectionEvent.objects.exclude(conversation="").filter(conversation=conversation)
    found = events.filter(at__lte=said_at + NEAR, at__gte=said_at - APART_MAX).order_by("-at").first()
    if found is not None:
        return redirect("admin:proxy_recollectionevent_change", found.pk)
    messages.warning(request, f"That request is no longer kept: requests are for {EVENTS_KEPT.days} days.")
    if not (events.exists() or OPENING.fullmatch(conversation)):
        return redirect("admin:proxy_recollectionevent_changelist")
    return redirect("admin:proxy_conversation", conversation)


# --- a conversation ---


@require_GET
def conversation_page(request: HttpRequest, opening: str) -> HttpResponse:
    """Show the requests of a conversation in order, the last ones or those ``before`` one: what was said, given, taught
    and repeated; and the messages of which no request is kept any more."""
    may = request.user.has_perm
    if not may("proxy.view_recollectionevent"):
        raise PermissionDenied
    if not OPENING.fullmatch(opening):
        raise Http404
    events = RecollectionEvent.objects.filter(conversation=opening).order_by("-at", "-request")
    first = events.filter(pk=request.GET.get("before", "")).values_list("at", flat=True).first()
    shown = list((events.filter(at__lt=first) if first else events)[: REQUESTS_MAX + 1])
    told = tell_requests(shown[:REQUESTS_MAX][::-1], may, request.get_full_path())
    has_more = len(shown) > REQUESTS_MAX
    earlier = find_messages(opening) if may("memory.view_episode") and not has_more else None
    if earlier is not None and told:
        earlier = earlier.filter(said_at__lt=told[0].event.at - NEAR)
    context = {
        "title": "Conversation",
        "requests": told,
        "earlier": earlier[:MESSAGES_MAX] if earlier is not None else (),
        "speakers": sorted({(one.event.agent, one.event.person) for one in told}),
        "models": sorted({one.event.model for one in told}),
        "before": told[0].event.pk if has_more else "",
        "days": EVENTS_KEPT.days,
    }
    return render(request, "proxy/conversation.html", {**admin.site.each_context(request), **context})


# --- the live view ---


@require_GET
def live_page(request: HttpRequest) -> HttpResponse:
    """Render the live view: the last recollections as they are served, the newest first."""
    rows = list_rows(request)
    wanted = rows["wanted"]
    seen = live_feed.list_seen()
    shown = {
        "title": "Live",
        "agents": sorted(seen["agent"] | {wanted.agent} - {""}),
        "models": sorted(seen["model"] | {wanted.model} - {""}),
        "rows_max": live_feed.ROWS_MAX,
    }
    return render(request, "proxy/live.html", {**admin.site.each_context(request), **shown, **rows})


@require_GET
def live_rows(request: HttpRequest) -> HttpResponse:
    """Render the rows of the live view anew, for a page that follows."""
    return render(request, "proxy/live_rows.html", list_rows(request))


def list_rows(request: HttpRequest) -> dict[str, Any]:
    if not request.user.has_perm("proxy.view_recollectionevent"):
        raise PermissionDenied
    asked = request.GET
    wanted = FeedFilter(asked.get("agent", ""), asked.get("model", ""), with_block=asked.get("block") == "1")
    keeps_prompt_text = Config.tuning().keeps_prompt_text
    return {"wanted": wanted, "rows": live_feed.latest(wanted), "keeps_prompt_text": keeps_prompt_text}
