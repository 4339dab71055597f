"""Timelines of concepts, facts and memories: what changed, what was contradicted and decided, and who did it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Q, QuerySet
from django.urls import reverse

from memory.channels import Channel
from memory.models import Edge, EdgeHistory, Memory, MemoryHistory, Soas, Source
from memory.types import Place
from resolution.memories.service import SHARED
from resolution.models import Claim, Conflict, ConflictMember, Decision, DecisionChange
from resolution.pages.mirror import describe_conflicts
from resolution.pages.queries import find_decisions
from resolution.pages.words import (
    MEMORY_CHANGES,
    SPEAKING,
    Origin,
    describe_decision,
    describe_history,
    describe_verdict,
    names_in,
    percent,
    trace,
)

DECISIONS_MAX: Final = 15
MEMORY_CHANGES_MAX: Final = 50
CONFLICTS_MAX: Final = 20  # of a memory


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """An event. ``address`` is its page, ``how`` the role and the source of ``by``, and ``put_back`` the row of the
    history by which what was retired can return. ``can_undo`` is True if its decision is in force, ``is_speaker`` if
    ``by`` has a page."""

    at: datetime
    what: str
    by: str = ""
    reason: str = ""
    address: str = ""
    how: str = ""
    is_speaker: bool = False
    origin: Origin | None = None
    decision: int | None = None
    can_undo: bool = False
    put_back: int | None = None


class HistoryEntry(NamedTuple):
    """A row of the history, in words. ``can_return`` is True if it retired a fact whose place is free."""

    row: EdgeHistory
    what: str
    can_return: bool


def in_order(events: Iterable[TimelineEvent]) -> list[TimelineEvent]:
    """Sort the events, newest first."""
    return sorted(events, key=lambda event: event.at, reverse=True)


def describe_events(
    rows: Sequence[EdgeHistory], taken: Collection[Place] | None, words: Iterable[Soas] = ()
) -> list[HistoryEntry]:
    """Describe the rows, which have their concepts and dimensions. ``taken`` are the places where these have facts, or
    None if these are not known; ``words`` are others that are not looked up again."""
    known = {word.pk: word.shown for word in (*words, *(word for row in rows for word in (row.concept, row.dim)))}
    tokens = names_in((snapshot for row in rows for snapshot in (row.before, row.after)), known)
    taken = set(taken or ())
    entries = []
    for row in rows:
        slot, parent_id = (row.concept_id, row.dim_id), (row.before or {}).get("parent_id")
        is_free = not {slot, (*slot, parent_id)} & taken
        can_return = row.action == EdgeHistory.Action.RETIRE and is_free
        entries.append(HistoryEntry(row, describe_history(row, tokens), can_return))
    return entries


def words_of(row: Any) -> list[Soas]:
    """Return the words of a fact or claim that were loaded with it."""
    if isinstance(row, Edge):
        return [row.concept, row.parent, row.dim]
    words = (row.concept, row.dim, row.incoming_parent, row.existing_parent) if isinstance(row, Claim) else ()
    return [word for word in words if word is not None]


def tell_facts(entries: Iterable[HistoryEntry]) -> Iterator[TimelineEvent]:
    for row, what, can_return in entries:
        yield TimelineEvent(
            row.at, what, row.actor, row.reason,
            address=reverse("admin:memory_edgehistory_change", args=[row.pk]),
            how=f"{f'as {row.role} ' if row.role else ''}({row.get_source_display()})",
            is_speaker=row.source in SPEAKING,
            origin=trace(bytes(row.conversation or b""), row.at, row.at),
            put_back=row.pk if can_return else None,
        )  # fmt: skip


def tell_claims(claims: Iterable[Claim]) -> Iterator[TimelineEvent]:
    """Tell when the claims were made, and how they were decided or why else they closed."""
    for row in claims:
        address = row.get_absolute_url()
        yield TimelineEvent(
            row.created_at, f"contradicted: {row}", row.agent, row.evidence, address,
            is_speaker=row.incoming_source in SPEAKING,
            origin=trace(bytes(row.conversation), row.said_at, row.created_at),
        )  # fmt: skip
        if row.resolved_at is not None:
            found = row.resolution or {}
            kind, decision = found.get("kind", ""), found.get("decision")
            told = describe_verdict(kind, found, row, is_done=True)
            what = told if told != kind else f"{row.status}: {row}"  # decided with others, or by nobody
            by, reason = found.get("actor", ""), found.get("reason", "")
            yield TimelineEvent(row.resolved_at, what, by, reason, address, decision=decision)


def tell_names(names: Iterable[Any]) -> Iterator[TimelineEvent]:
    """Tell when they became aliases, each with its ``decision`` if it was a merge."""
    for row in names:
        what = f"{row.soas} became another name of {row.concept}"
        is_speaker = row.channel != Channel.OPERATOR
        yield TimelineEvent(row.at, what, row.agent, is_speaker=is_speaker, decision=row.decision)


def tell_decisions(decisions: QuerySet[Decision]) -> Iterator[TimelineEvent]:
    for row in decisions[:DECISIONS_MAX]:
        what = f"{describe_decision(row)}{' (undone)' if hasattr(row, 'undone_by') else ''}"
        address = reverse("admin:resolution_decision_change", args=[row.pk])
        yield TimelineEvent(row.at, what, row.actor, row.reason, address, f"({Source(row.source).label})")


def tell_memory(memory: Memory, *, with_conflicts: bool) -> list[TimelineEvent]:
    """Return its changes and, with them, the conflicts that it was a member of and the decisions about those."""
    rows = list(memory.history.order_by("-id")[:MEMORY_CHANGES_MAX])
    if not with_conflicts:
        return in_order(_tell_change(row, None) for row in rows)
    changes = DecisionChange.objects.filter(table_name=MemoryHistory._meta.db_table, key__in=[row.pk for row in rows])
    changes = changes.exclude(decision__kind=Decision.Kind.CONSOLIDATE, decision__run__isnull=False)  # they have a run
    decided = {one.key: one.decision for one in changes.select_related("decision__undone_by")}
    of_memory = Q(members__kind=ConflictMember.Kind.MEMORY, members__object_id=memory.pk)
    found = Conflict.objects.filter(of_memory).select_related("concept", "dim").order_by("-pk")
    conflicts = list(found[:CONFLICTS_MAX])
    others = find_decisions(conflicts).exclude(pk__in=[one.pk for one in decided.values()])
    return in_order([
        *(_tell_change(row, decided.get(row.pk)) for row in rows),
        *(
            TimelineEvent(one.conflict.detected_at, f"contradicted: {one}", address=one.conflict.get_absolute_url())
            for one in describe_conflicts(conflicts)
        ),
        *tell_decisions(others),
    ])  # fmt: skip


def _tell_change(row: MemoryHistory, decision: Decision | None) -> TimelineEvent:
    before, after = row.before or {}, row.after or {}
    changed = [" → ".join(name or SHARED for name in after["moved"])] if "moved" in after else []
    changed += [f"{before[name]} → {after[name]}" for name in ("text", "category") if name in before and name in after]
    if "confidence" in before:
        changed.append(f"{percent(before['confidence'])} → {percent(after['confidence'])}")
    what = "took others in" if "merged" in after else "was moved" if "moved" in after else MEMORY_CHANGES[row.action]
    return TimelineEvent(
        row.at, f"{what}: {'; '.join(changed)}" if changed else what, row.actor, row.reason,
        address=reverse("admin:resolution_run_change", args=[row.run]) if row.run is not None else "",
        is_speaker=row.channel != Channel.OPERATOR,
        origin=trace(bytes(row.conversation or b""), row.at, row.at),
        decision=decision.pk if decision is not None else None,
        can_undo=decision is not None and decision.kind != Decision.Kind.UNDO and not hasattr(decision, "undone_by"),
    )  # fmt: skip
