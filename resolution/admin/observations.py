"""Admin pages for what is on its way into the graph: messages that wait for the learner, and observations."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory.admin.base import (
    DayFilter,
    ListFilter,
    Page,
    ReadOnly,
    TriedAgain,
    as_token,
    limit_selection,
    link,
    requires,
    speaker_filters,
    word_ids,
)
from memory.english.phrases import as_predicate, tells_dimension
from memory.models import HeardMessage, Observation, Soas
from memory.templatetags.speakers import speaker
from resolution.admin.pages import render_origin
from resolution.intake import leases
from resolution.pages.words import date_or_none, trace_observation

OUTCOMES = dict(Observation.Outcome.choices)


class WaitingFilter(ListFilter):
    title = "what they wait for"
    parameter_name = "state"
    options = [("waiting", "a worker"), ("aside", "somebody to look: set aside")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[HeardMessage]) -> QuerySet[HeardMessage]:
        if self.value() not in ("waiting", "aside"):
            return queryset
        return queryset.filter(next_attempt_at__isnull=self.value() == "aside")


@admin.register(HeardMessage)
class HeardMessageAdmin(TriedAgain, ReadOnly, Page):
    """The texts are never shown: they belong to their speakers."""

    list_name = "queued messages"
    empty = "Messages that a worker has yet to read: usually none, for it takes them within a second."
    list_display = ("created_at", "role", "agent", "length", "attempts", "state", "trouble")
    list_filter = (WaitingFilter,)
    sortable_by = ()
    ordering = ("-id",)
    fields = (("role", "agent", "length"), ("said_at", "created_at"), ("state", "attempts"), "request", "error_text")
    readonly_fields = ("length", "state", "error_text")
    actions = ("try_again",)
    has_try_again_permission = requires("memory.add_edge")

    @admin.display(description="characters")
    def length(self, row: HeardMessage) -> int:
        return len(row.text)

    @admin.display(description="state")
    def state(self, row: HeardMessage) -> str:
        return "set aside" if row.next_attempt_at is None else "waits"

    @admin.action(description="Try again what was set aside", permissions=["try_again"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[HeardMessage]) -> None:
        aside, more = limit_selection(queryset.filter(next_attempt_at=None))
        count = HeardMessage.objects.filter(pk__in=aside, next_attempt_at=None).update(
            next_attempt_at=Now(), attempts=0, last_error=""
        )
        self.message_user(request, f"{count:,} wait again, a worker takes them within seconds{more}.", messages.SUCCESS)


class BecomeFilter(ListFilter):
    """A filter by state and outcome together, so that one index answers it."""

    title = "what became of it"
    parameter_name = "became"
    options = [("pending", "waits"), ("failed", "failed"), *((name, label.lower()) for name, label in OUTCOMES.items())]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Observation]) -> QuerySet[Observation]:
        became = self.value()
        if became in (Observation.State.PENDING, Observation.State.FAILED):
            return queryset.filter(state=became)
        return queryset.filter(state=Observation.State.DONE, outcome=became) if became in OUTCOMES else queryset


def by_stater(rows: QuerySet[Observation], agent: str, person: str) -> QuerySet[Observation]:
    """Narrow observations to statements of a speaker: those have an index."""
    named = {"agent": agent, "for_person": person}
    stated = {name: value for name, value in named.items() if value}
    return rows.filter(kind=Observation.Kind.TRIPLE, **stated)


@admin.register(Observation)
class ObservationAdmin(TriedAgain, ReadOnly, Page):
    empty = "Statements as they were read from prompts, with what became of each."
    list_display = ("read_at", "statement", "sentence", "became", "whose", "role", "trouble")
    list_display_links = ("read_at",)
    list_filter = (BecomeFilter, *speaker_filters(by_stater), ("created_at", DayFilter))
    list_filter_submit = True
    search_fields = ("concept",)
    sortable_by = ()
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("kind", "statement", "evidence", "came_in", ("whose", "role"), "read_at", "confidence",
                           "request")}),
        ("What became of it", {"fields": ("became", "attempts", "next_attempt_at", "claimed_until", "created_at",
                                          "error_text")}),
    )  # fmt: skip
    readonly_fields = ("statement", "whose", "came_in", "became", "error_text", "read_at")
    actions = ("try_again",)
    has_try_again_permission = requires("memory.add_edge")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Observation]:
        rows = super().get_queryset(request)
        for name in ("concept", "parent", "dimension"):
            found = Soas.objects.filter(token=OuterRef(name)).values("id")[:1]
            rows = rows.annotate(**{f"{name}_id": Subquery(found)})
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Observation], search_term: str
    ) -> tuple[QuerySet[Observation], bool]:
        if not (name := as_token(search_term)):
            return queryset, False
        words = Soas.objects.filter(pk__in=word_ids(name)).values_list("token", flat=True)
        # What never became a fact need not be in the vocabulary.
        return queryset.filter(concept__in=[*words, name]), False

    @admin.display(description="statement")
    def statement(self, row: Any) -> SafeString:
        concept = word(row.concept, row.concept_id)
        if row.kind == Observation.Kind.CONCEPT:
            return format_html("What is {}?", concept)
        relation = as_predicate(row.parent, row.dimension, is_isa=row.is_isa)
        parent, dimension = word(row.parent, row.parent_id), word(row.dimension, row.dimension_id)
        notes = [] if row.says == Observation.Says.STATES else [row.get_says_display().lower()]
        notes += ["only believed"] if row.is_hedged else []
        note = f" ({', '.join(notes)})" if notes else ""
        if not row.is_isa and tells_dimension(row.dimension, is_isa=False):
            return format_html("<span>{} {} {}{}</span>", concept, relation, parent, note)
        return format_html("<span>{} {} {} [{}]{}</span>", concept, relation, parent, dimension, note)

    @admin.display(description="whose")
    def whose(self, row: Observation) -> SafeString | str:
        return speaker(row.for_speaker or row.agent, row.for_person)

    @admin.display(description="said at")
    def read_at(self, row: Observation) -> datetime:
        """Return when it was said or, if that was before its conversation was first read, when it was stored."""
        return date_or_none(row.said_at) or row.created_at

    @admin.display(description="as it was said")
    def sentence(self, row: Observation) -> str:
        return f"“{row.evidence}”" if row.evidence else "-"

    @admin.display(description="came in")
    def came_in(self, row: Observation) -> SafeString | str:
        return render_origin(trace_observation(row))

    @admin.display(description="what became of it")
    def became(self, row: Observation) -> str:
        if row.state == Observation.State.DONE:
            return OUTCOMES.get(row.outcome, row.outcome).lower() or "done"
        return "failed" if row.state == Observation.State.FAILED else "waits"

    @admin.action(description="Try again what has failed", permissions=["try_again"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Observation]) -> None:
        failed, more = limit_selection(queryset.filter(state=Observation.State.FAILED))
        others, _ = limit_selection(queryset.exclude(state=Observation.State.FAILED))
        count = leases.try_again(failed)
        if count or more:
            told = f"{count:,} wait again, a worker takes them within seconds{more}."
            self.message_user(request, told, messages.SUCCESS)
        if skipped := len(failed) - count + len(others):
            why = "only what has failed is tried again, and a concept that waits already is not asked about twice"
            self.message_user(request, f"{skipped} skipped: {why}.", messages.WARNING)


def word(token: str, concept_id: int | None) -> SafeString | str:
    """Link the word to its concept if the vocabulary already has it."""
    return token if concept_id is None else link(Soas(pk=concept_id), token)
