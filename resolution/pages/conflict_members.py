"""A conflict in words: its members (highest layer first), the evidence for each, and the history around them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any, Final

from django.db.models import Q
from django.urls import reverse

from memory.models import Edge, EdgeHistory, Episode, Memory, MemoryLineage, ProjectState
from memory.templatetags.times import ago
from resolution.conflicts.decide import describe_seen
from resolution.conflicts.detection import disagree
from resolution.conflicts.members import DisputedRow, find_opponent, read_rows
from resolution.models import Claim, Conflict, ConflictMember, Decision
from resolution.pages.conflict_detail import DECISIONS_MAX, DecisionInWords, TimelineEntry
from resolution.pages.conflict_list import ConflictRow
from resolution.pages.words import (
    STATING,
    Quote,
    by_whom,
    dated,
    describe_decision,
    describe_history,
    describe_proposal,
    existing_side,
    incoming_side,
    join_alternatives,
    names_in,
    percent,
    quote,
)

Kind = ConflictMember.Kind
STORY_MAX: Final = 40  # lines
QUOTES_MAX: Final = 3  # per member
IN_LIST: Final = 3  # members named in a row of the list
KEYS: Final = "123456789"  # keyboard shortcuts of the desk


@dataclass(frozen=True, slots=True)
class MemberInWords:
    """A member. ``key`` identifies it in forms. ``then`` is its text when it became a member, if that has changed.
    ``disagrees``: False if it had given way before the conflict was decided."""

    key: str
    layer: str
    words: str
    then: str
    holds: bool
    is_asked: bool
    state: str
    by: str = ""
    at: datetime | None = None
    confidence: str = ""
    channel: str = ""
    support: str = ""
    against: str = ""
    page: str = ""
    quotes: tuple[Quote, ...] = ()
    shortcut: str = ""
    disagrees: bool = True


@dataclass(frozen=True, slots=True)
class WholeConflict:
    """A conflict in the list or on its page; only the page has ``story``, ``decided`` and ``is_found``, which is False
    if the rules of today would not open it. For a conflict of facts, ``claim`` is the claim to be decided first, with
    the fact it disputes."""

    conflict: Conflict
    members: Sequence[MemberInWords]
    seal: str
    claim: ConflictRow | None = None
    story: Sequence[TimelineEntry] = ()
    decided: Sequence[DecisionInWords] = ()
    is_found: bool = True

    @property
    def title(self) -> str:
        """The question without its explanation, which repeats the members; or the members that disagree."""
        asked, mark, _ = self.conflict.question.partition("? ")
        members = [member for member in self.members if member.disagrees][:IN_LIST]
        return asked + mark.strip() or join_alternatives(member.words for member in members)

    @property
    def is_open(self) -> bool:
        return self.conflict.status == Conflict.Status.OPEN

    @property
    def age(self) -> str:
        return ago(self.conflict.detected_at)

    @property
    def named(self) -> Sequence[MemberInWords]:
        return self.members[:IN_LIST]

    @property
    def others(self) -> int:
        """The number of members that a row of the list does not name."""
        return len(self.members) - len(self.named)

    @property
    def yes(self) -> str:
        """The effect on the members of the answer yes."""
        gone = [member.words for member in self.members if member.holds and not member.is_asked]
        [asked] = [member.words for member in self.members if member.is_asked] or [""]
        return f"{quote([asked])} holds{f', no longer {quote(gone)}' if gone else ''}."

    @property
    def no(self) -> str:
        gone = [member.words for member in self.members if member.is_asked and member.holds]
        return f"{quote(gone)} holds no longer." if gone else "What is asked about holds no longer as it is: all stays."

    @property
    def asks(self) -> bool:
        return bool(self.conflict.question) and any(member.is_asked for member in self.members)


def read_conflicts(conflicts: Iterable[Conflict]) -> dict[int, WholeConflict]:
    """Return the conflicts by their ids, for the list. Runs a bounded number of queries."""
    by_key = {conflict.pk: conflict for conflict in conflicts}
    members = ConflictMember.objects.filter(conflict__in=by_key).select_related("conflicts_with")
    disputed: dict[int, list[DisputedRow]] = {key: [] for key in by_key}
    for one in read_rows(list(members)):
        disputed[one.member.conflict_id].append(one)
    return {key: _describe(by_key[key], rows, claim=_find_first_claim(rows)) for key, rows in disputed.items()}


def _find_first_claim(rows: Sequence[DisputedRow]) -> ConflictRow | None:
    """Return the claim to be decided first, or None if the conflict is not about facts only."""
    claims = [one for one in rows if isinstance(one.row, Claim)]
    if not claims or not all(isinstance(one.row, Claim | Edge) for one in rows):
        return None
    first = min(claims, key=lambda one: (not one.waits, -one.row.priority, one.row.created_at, one.row.pk))
    claim = first.row
    claim.support, claim.open_claims = first.member.support, sum(one.waits for one in claims)
    edge = find_opponent(claim, (one.row for one in rows if isinstance(one.row, Edge)))
    return ConflictRow(claim, existing_side(claim, edge), incoming_side(claim), describe_proposal(claim))


def read_conflict(conflict: Conflict) -> WholeConflict:
    """Return a conflict for its page: with the evidence for each member, their history, and the decisions."""
    rows = read_rows(list(conflict.members.select_related("conflicts_with")))
    about = Decision.objects.filter(Q(conflict=conflict) | Q(claim__conflict=conflict))
    decisions = about.select_related(*Decision.NAMES, "undone_by").order_by("-id")
    decided = [
        DecisionInWords(row, describe_decision(row.kind, row.arguments, row.claim)) for row in decisions[:DECISIONS_MAX]
    ]
    is_by_rules = not conflict.question and conflict.tier != Conflict.Tier.MODEL
    is_open = conflict.status == Conflict.Status.OPEN and not any(one.waits for one in rows)
    return _describe(
        conflict,
        rows,
        quotes=_find_quotes(rows),
        story=_tell_story(rows),
        decided=decided,
        is_found=not (is_by_rules and is_open) or disagree(conflict),
    )


def unseal(seal: str) -> tuple[int, str] | None:
    """Return the conflict's id and what was seen of it, or None if this is no seal of a whole conflict."""
    word, _, rest = seal.partition(":")
    number, _, digest = rest.partition(":")
    is_key = word == "conflict" and number.isascii() and number.isdigit() and len(number) < 19
    return (int(number), digest) if is_key else None


def _describe(
    conflict: Conflict, rows: Sequence[DisputedRow], *, quotes: Mapping[str, list[Quote]] | None = None, **more: Any
) -> WholeConflict:
    seal = f"conflict:{conflict.pk}:{describe_seen(rows)}"
    # Sort memories newest first; other layers keep their order.
    rows = sorted(rows, key=lambda one: -one.row.said_at.timestamp() if isinstance(one.row, Memory) else -inf)
    texts = {one.member.pk: one.text for one in rows}
    may_win = (one for one in rows if one.row is not None and (one.waits or not isinstance(one.row, Claim)))
    winners = list(may_win) if not conflict.question else []
    shortcuts = dict(zip((one.member.pk for one in winners), KEYS, strict=False))
    decided = conflict.resolution if isinstance(conflict.resolution, dict) else {}
    named = [decided.get("winner"), *decided.get("superseded", ()), *decided.get("dismissed", ())]
    sides = {f"{one['kind']}:{one['id']}" for one in named if one}
    sides |= {_key_of(one) for one in rows if one.holds or isinstance(one.row, Claim) or one.heir is not None}
    sides = sides if len(sides) > 1 else {_key_of(one) for one in rows}
    members = [
        _put_in_words(one, texts, (quotes or {}).get(_key_of(one), ()), shortcuts.get(one.member.pk, ""), sides)
        for one in rows
    ]
    return WholeConflict(conflict, members, seal, **more)


def _put_in_words(
    one: DisputedRow, texts: Mapping[int, str], quotes: Iterable[Quote], shortcut: str, sides: Collection[str]
) -> MemberInWords:
    member, row = one.member, one.row
    agents = (agent for agent, _ in member.support)
    own = getattr(row, "agent", getattr(row, "actor", ""))
    told: dict[str, Any] = {}
    if isinstance(row, Claim):
        told = {
            "by": by_whom(row.agent, row.incoming_source), "at": dated(row.said_at),
            "confidence": percent(row.incoming_confidence), "channel": row.get_channel_display(),
            "page": row.get_absolute_url(),
        }  # fmt: skip
    elif isinstance(row, Edge):
        told = {
            "by": by_whom(row.agent, row.source), "at": dated(row.said_at), "confidence": percent(row.confidence),
            "channel": row.get_channel_display(), "page": reverse("admin:memory_edge_change", args=[row.pk]),
        }  # fmt: skip
    elif isinstance(row, EdgeHistory):
        page = reverse("admin:memory_edgehistory_change", args=[row.pk])
        told = {"by": by_whom(row.actor, row.source), "at": row.at, "page": page}
    elif isinstance(row, Memory):
        told = {
            "by": f"{row.agent}{f' ({row.person})' if row.person else ''}", "at": dated(row.said_at),
            "confidence": percent(row.confidence), "channel": row.get_channel_display(),
            "page": reverse("admin:memory_memory_change", args=[row.pk]),
        }  # fmt: skip
    elif isinstance(row, ProjectState):
        page = reverse("admin:memory_projectstate_change", args=[row.pk])
        told = {"by": row.actor, "at": row.set_at, "page": page}
    return MemberInWords(
        key=_key_of(one),
        layer=member.get_kind_display().lower(),
        words=one.text,
        then=member.text if member.text not in ("", one.text) else "",
        holds=one.holds,
        is_asked=member.is_asked,
        state=_name_state(one),
        support=", ".join(dict.fromkeys(agent for agent in agents if agent != own)),
        against=texts.get(member.conflicts_with_id or 0, ""),
        quotes=tuple(quotes),
        shortcut=shortcut,
        disagrees=_key_of(one) in sides,
        **told,
    )


def _key_of(one: DisputedRow) -> str:
    return f"{one.member.kind}:{one.member.object_id}"


def _name_state(one: DisputedRow) -> str:
    if one.holds:
        return "holds"
    if one.row is None:
        return "moved" if one.is_moved else "superseded" if one.heir is not None else "is gone"
    if isinstance(one.row, Claim):
        return "claimed" if one.waits else f"claimed, {one.row.get_status_display()}"
    return "is history" if isinstance(one.row, EdgeHistory) else f"holds no longer: {one.row.get_status_display()}"


# --- evidence and history ---


def _find_quotes(rows: Sequence[DisputedRow]) -> dict[str, list[Quote]]:
    """Return the sentences in which the members were said, by the members' keys."""
    found: dict[str, list[Quote]] = {}
    memories = {one.member.object_id: _key_of(one) for one in rows if isinstance(one.row, Memory)}
    lineage = MemoryLineage.objects.filter(memory__in=memories, kind=MemoryLineage.Kind.EPISODE).order_by("-id")
    said = [(line.row, memories[line.memory_id]) for line in lineage[: STORY_MAX * QUOTES_MAX]]
    episodes = Episode.objects.defer("lexemes").in_bulk([key for key, _ in said])
    for episode_id, key in said:
        if (episode := episodes.get(episode_id)) is not None:
            words = Quote(episode.agent, episode.role, episode.said_at, episode.text)
            found.setdefault(key, []).append(words)
    for one in rows:
        if isinstance(one.row, Edge):
            stated = EdgeHistory.objects.filter(
                concept_id=one.row.concept_id, after__parent_id=one.row.parent_id, action__in=STATING
            ).exclude(reason="")
            found[_key_of(one)] = [
                Quote(by_whom(row.actor, row.source), row.role, row.at, row.reason)
                for row in stated.order_by("-id")[:QUOTES_MAX]
            ]
        elif isinstance(one.row, Claim) and one.row.evidence:
            said_by = by_whom(one.row.agent, one.row.incoming_source)
            found[_key_of(one)] = [Quote(said_by, one.row.role, dated(one.row.said_at), one.row.evidence)]
        elif isinstance(one.row, EdgeHistory | ProjectState) and one.row.reason:
            at = one.row.at if isinstance(one.row, EdgeHistory) else one.row.set_at
            found[_key_of(one)] = [Quote(one.row.actor, "", at, one.row.reason)]
    return {key: quotes[:QUOTES_MAX] for key, quotes in found.items()}


def _tell_story(rows: Sequence[DisputedRow]) -> list[TimelineEntry]:
    """Return the history of the members and their slots, oldest first."""
    facts, states = Q(pk=None), Q(pk=None)
    for one in rows:
        for concept_id, dim_id in one.slots:
            facts |= Q(concept_id=concept_id, dim_id=dim_id)
        if isinstance(one.row, ProjectState):
            states |= Q(project_id=one.row.project_id, category=one.row.category, key=one.row.key)
    history = list(EdgeHistory.objects.filter(facts).order_by("-id")[:STORY_MAX])
    tokens = names_in(picture for row in history for picture in (row.before, row.after))
    lines = [
        TimelineEntry(row.at, describe_history(row, tokens), by_whom(row.actor, row.source), row.reason)
        for row in history
    ]
    settled = ProjectState.objects.filter(states).order_by("-id")[:STORY_MAX]
    lines += [TimelineEntry(state.set_at, f"set: {state}", state.actor, state.reason) for state in settled]
    for memory in (one.row for one in rows if isinstance(one.row, Memory)):
        lines.append(TimelineEntry(memory.said_at, f"remembered: {memory}", memory.agent, ""))
        if memory.archived_at is not None:
            gone = f"{memory.get_status_display()}: {memory}"
            lines.append(TimelineEntry(memory.archived_at, gone, "", ""))
    return sorted(lines, key=lambda line: line.at)[-STORY_MAX:]
