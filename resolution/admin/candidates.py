"""Admin pages for what is not recalled until somebody vouches for it: candidates, and templates of programs."""

from collections import Counter

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory.admin.base import (
    ListFilter,
    Page,
    ReadOnly,
    StateFilter,
    limit_selection,
    requires,
    speaker_filters,
    whose,
)
from memory.db.transactions import run_transaction
from memory.english.name_shapes import ADDRESS, HOST, INSTRUCTION, LONG
from memory.english.phrases import format_count
from memory.models import PromptOpening, Soas
from memory.templatetags.speakers import speaker
from resolution.admin.concepts.marks import set_mark
from resolution.admin.pages import actor_of, render_origin
from resolution.intake.candidates import dismiss, find_standing
from resolution.memories.templates import keep
from resolution.models import Candidate
from resolution.naming.names import TWO_NAMES, promote
from resolution.pages.words import find_origins

WHY = {
    "unsure": "speaker-only: recalled to its speaker until another source states it",
    "quoted": "quoted from a page, tool or mail",
    "assistant": "only a model has said it",
    "explained": "a model's conclusion",
    "quarantined": "its agent was quarantined",
    "another fact stands": "another fact is current in its slot",
    TWO_NAMES: "much changes with it: promoting it makes the first a name of the second, its facts included",
    "only believed": "its speaker only believes it, or was told so",
    **{shape: f"only an operator can vouch for it: {shape}" for shape in (LONG, INSTRUCTION, ADDRESS, HOST)},
}


class CandidateFilter(StateFilter):
    standard = "Waits"
    default = Candidate.State.OPEN
    options = [(value, str(label).capitalize()) for value, label in Candidate.State.choices if value != "open"]


class HolderFilter(ListFilter):
    title = "for whom"
    parameter_name = "for"
    standard = "All"
    options = [("speaker", "For its speaker"), ("nobody", "For nobody")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> QuerySet[Candidate]:
        if self.value() is None:
            return queryset
        return queryset.filter(for_speaker="") if self.value() == "nobody" else queryset.exclude(for_speaker="")


def by_voice(rows: QuerySet[Candidate], agent: str, person: str) -> QuerySet[Candidate]:
    """Narrow candidates to those that an agent has stated, or that hold for a person."""
    if person:
        return rows.filter(for_person=person, **({"for_speaker": agent} if agent else {}))
    return rows.filter(Q(for_speaker=agent) | Q(voices__contains=[[agent]]))


@admin.register(Candidate)
class CandidateAdmin(ReadOnly, Page):
    list_display = ("fact", "sentence", "why_it_waits", "holds_for", "who", "said_count", "last_said_at")
    list_filter = (CandidateFilter, HolderFilter, "channel", *speaker_filters(by_voice))
    list_filter_submit = True
    search_fields = ("concept__startswith", "parent__startswith")
    search_help_text = "How the concept or the parent begins."
    sortable_by = ()
    ordering = ("-last_said_at", "-id")
    actions = ("promote_them", "dismiss_them", "mute_them")
    fieldsets = (
        (None, {"fields": ("fact", "sentence", "why_it_waits", "holds_for", "against", "channel", "confidence")}),
        (
            "Who has said it",
            {"fields": ("who", "where_it_was_said", "said_count", "conversations", "first_said_at", "last_said_at")},
        ),
        ("What became of it", {"fields": ("state", "resolved_by", "resolved_at")}),
    )
    readonly_fields = ("fact", "sentence", "why_it_waits", "holds_for", "against", "who", "where_it_was_said")

    has_decide_permission = requires("resolution.change_candidate")
    has_mute_permission = requires("memory.change_soas")

    @admin.display(description="fact")
    def fact(self, row: Candidate) -> str:
        return str(row)

    @admin.display(description="as it was said")
    def sentence(self, row: Candidate) -> SafeString | str:
        return format_html("“{}”", row.evidence) if row.evidence else "-"

    @admin.display(description="reason")
    def why_it_waits(self, row: Candidate) -> str:
        return WHY.get(row.why, f"over the setting {row.why}")

    @admin.display(description="visible to")
    def holds_for(self, row: Candidate) -> SafeString | str:
        return speaker(row.for_speaker, row.for_person) if row.for_speaker else "-"

    @admin.display(description="against")
    def against(self, row: Candidate) -> str:
        """Return the current fact in the candidate's slot, or "-"."""
        standing = find_standing({row.triple}).get(row.triple)
        return str(standing) if standing is not None and standing != row.triple else "-"

    @admin.display(description="who")
    def who(self, row: Candidate) -> SafeString:
        names = ((speaker(agent), channel) for agent, channel in row.voices)
        return format_html_join(", ", "{} ({})", names)

    @admin.display(description="where")
    def where_it_was_said(self, row: Candidate) -> SafeString | str:
        said = [(one.sentence, one.agent, render_origin(one)) for one in find_origins(row)]
        return format_html_join("", "“{}” {}, {}<br>", said) or "in no prompt"

    @admin.action(description="Promote", permissions=["decide"])
    def promote_them(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> None:
        keys, more = limit_selection(queryset.filter(state=Candidate.State.OPEN))
        became: Counter[str] = Counter()
        for key in keys:
            outcome = promote(key, actor_of(request))
            became[outcome.status if outcome is not None else "skipped"] += 1
        if disputed := became.pop("conflict", 0):
            told = f"{disputed:,} contradict what is known: they wait in the conflicts now."
            self.message_user(request, told, messages.WARNING)
        if refused := became.pop("invalid", 0) + became.pop("skipped", 0):
            self.message_user(request, f"{refused:,} could not be promoted.", messages.WARNING)
        if count := sum(became.values()):
            self.message_user(request, f"{count:,} promoted{more}.", messages.SUCCESS)

    @admin.action(description="Dismiss: not worth knowing", permissions=["decide"])
    def dismiss_them(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> None:
        keys, more = limit_selection(queryset.filter(state=Candidate.State.OPEN))
        count = run_transaction(lambda: dismiss(keys, actor_of(request)))
        self.message_user(request, f"{count:,} dismissed{more}. They stay so when they are said again.")

    @admin.action(description="Mute the concept, and dismiss", permissions=["decide", "mute"])
    def mute_them(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> None:
        keys, more = limit_selection(queryset.filter(state=Candidate.State.OPEN))
        tokens = Candidate.objects.filter(pk__in=keys).values("concept")
        words = list(Soas.objects.filter(token__in=tokens).values_list("pk", flat=True))
        muted = len(set_mark("muted", words, request.user, to=True))
        count = run_transaction(lambda: dismiss(keys, actor_of(request)))
        told = f"{format_count(muted, 'concept')} muted, {format_count(count, 'candidate')} dismissed{more}."
        self.message_user(request, told)


class OpeningFilter(StateFilter):
    standard = "A program's template"
    default = PromptOpening.State.TEMPLATE
    options = [("own", "Somebody's own words")]


@admin.register(PromptOpening)
class PromptOpeningAdmin(ReadOnly, Page):
    list_display = ("opening", "whose", "conversations", "found_at")
    list_filter = (OpeningFilter,)
    sortable_by = ()
    ordering = ("-id",)
    fields = ("text", "whose", ("state", "found_at", "hidden_at"), "conversations")
    readonly_fields = ("whose", "conversations")
    whose = whose
    actions = ("keep_them",)
    has_keep_permission = requires("resolution.change_candidate")

    @admin.display(description="begins with")
    def opening(self, row: PromptOpening) -> str:
        return f"{row.text[:100]}…"

    @admin.display(description="conversations")
    def conversations(self, row: PromptOpening) -> int:
        return len(row.seen)

    @admin.action(description="No template: keep what it says", permissions=["keep"])
    def keep_them(self, request: HttpRequest, queryset: QuerySet[PromptOpening]) -> None:
        keys, more = limit_selection(queryset.filter(state=PromptOpening.State.TEMPLATE))
        told = f"{keep(keys):,} kept{more}: a worker puts back what they said within seconds."
        self.message_user(request, told, messages.SUCCESS)
