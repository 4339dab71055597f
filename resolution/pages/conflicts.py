"""Conflicts as the desk, the home page and the API show them: members, what can be decided, evidence and history."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final

from django.db.models import Q
from django.urls import reverse

from memory.models import Edge, EdgeHistory, Episode, Evidence, Memory, MemoryLineage, ProjectState, Soas, Source
from memory.templatetags.times import ago
from resolution.conflicts.decide import MOVES
from resolution.conflicts.detection import disagree
from resolution.conflicts.members import OF_FACTS, MemberRow, describe_seen, find_opponent, read_rows
from resolution.models import Claim, CollisionType, Conflict, ConflictMember
from resolution.pages import queries
from resolution.pages.desk import DECISIONS_MAX, KEYS, Choice, DecisionLine, DeskMember
from resolution.pages.timeline import TimelineEvent, in_order, words_of
from resolution.pages.words import (
    STATING,
    Quote,
    date_or_none,
    describe_decision,
    describe_history,
    describe_proposal,
    explain_waiting,
    find_origins,
    format_speaker,
    join_alternatives,
    names_in,
    percent,
    quote,
    trace,
)

Kind = ConflictMember.Kind
HISTORY_MAX: Final = 40  # lines
QUOTES_MAX: Final = 5  # per member
DIMENSIONS_MAX: Final = 40  # offered for a decision
IN_LIST: Final = 3  # members named in a row of the list


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMember(DeskMember):
    """A member in words. ``existing`` is the fact that a claim disputes; ``disagrees`` is False if it had given way
    before the conflict was decided. ``row`` is None if it is gone; ``heir`` is then the claim by which it was
    superseded or moved."""

    member: ConflictMember
    row: Any
    heir: Claim | None
    is_current: bool
    is_open_claim: bool
    is_moved: bool
    disagrees: bool
    existing: Edge | None = None

    @property
    def is_asked(self) -> bool:
        return self.member.is_asked


@dataclass(frozen=True, slots=True)
class ConflictPage:
    """A conflict with its members, those of the most trusted layer first. ``seen`` is a token of what is shown, for
    decisions about it. Only the page of one conflict has the rest: ``is_found`` is False if the rules of today would
    not open it; ``fields`` are the initial values of a decision's fields, ``dimensions`` the names offered for them."""

    conflict: Conflict
    members: Sequence[PageMember]
    seen: str
    is_found: bool = True
    decided: Sequence[DecisionLine] = ()
    history: Sequence[TimelineEvent] = ()
    other_facts: Sequence[Edge] = ()
    ring: Sequence[Edge] = ()
    sentences: Sequence[Evidence] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    dimensions: Sequence[str] = ()

    @property
    def title(self) -> str:
        """The question without its explanation, which repeats the members; or the members that disagree."""
        asked, mark, _ = self.conflict.question.partition("? ")
        if asked:
            return asked + mark.strip()
        texts = [member.text for member in self.members if member.disagrees][:IN_LIST]
        return f"{join_alternatives(texts)}{'?' if self.is_alone else ''}"

    @property
    def row(self) -> Conflict:
        return self.conflict

    @property
    def concept(self) -> Soas | None:
        return self.conflict.concept

    @property
    def badges(self) -> list[tuple[str, str]]:
        """Short texts, each with its look."""
        conflict = self.conflict
        is_resolved = conflict.status == Conflict.Status.RESOLVED
        return [
            (self.type or conflict.get_slot_kind_display(), ""),
            *([(f"found by: {conflict.get_tier_display()}", "info")] if conflict.tier != Conflict.Tier.SLOT else []),
            *([(conflict.project, "")] if conflict.project else []),
            *([("stated explicitly", "warn")] if conflict.priority else []),
            *([("with a proposal", "info")] if self.proposal and self.is_open else []),
            *([] if self.is_open else [(conflict.status, "good" if is_resolved else "")]),
        ]

    @property
    def when(self) -> str:
        return f"opened {self.age}"

    @property
    def is_open(self) -> bool:
        return self.conflict.status == Conflict.Status.OPEN

    @property
    def age(self) -> str:
        return ago(self.conflict.detected_at)

    @property
    def named(self) -> Sequence[PageMember]:
        """The members that a row of the list names."""
        return self.members[:IN_LIST]

    @property
    def unnamed(self) -> int:
        return len(self.members) - len(self.named)

    @property
    def claims(self) -> list[PageMember]:
        """The open claims, in the order in which they are decided."""
        return [member for member in self.members if member.is_open_claim]

    @property
    def type(self) -> str:
        return CollisionType(self.claims[0].row.collision_type).label if self.claims else ""

    @property
    def is_of_facts(self) -> bool:
        """True if claims are disputed by nothing but facts."""
        return bool(self.claims) and all(member.member.kind in OF_FACTS for member in self.members)

    @property
    def is_alone(self) -> bool:
        """True if only claims are left: what they disputed is no longer current."""
        return self.is_of_facts and not any(member.is_current for member in self.members)

    @property
    def newest(self) -> PageMember | None:
        """The claim of a fact that only one disputes, or the newest of memories; None in other conflicts."""
        if self.is_of_facts:
            return self.claims[0] if len(self.claims) == 1 else None
        current = [member for member in self.members if member.is_current]
        is_of_memories = all(member.member.kind == Kind.MEMORY for member in current)
        return current[0] if current and is_of_memories and not self.conflict.question else None

    @property
    def movable(self) -> list[PageMember]:
        """The claims that can go to another dimension."""
        return [claim for claim in self.claims if not claim.row.is_retraction]

    @property
    def proposed(self) -> PageMember | None:
        """The claim about which the resolver proposes something."""
        return next((claim for claim in self.claims if describe_proposal(claim.row)), None)

    @property
    def proposal(self) -> str:
        return describe_proposal(self.proposed.row) if self.proposed is not None else ""

    @property
    def tried(self) -> list[PageMember]:
        """The claims that the resolver has looked at."""
        return [member for member in self.members if isinstance(member.row, Claim) and member.row.run_id]

    @property
    def choices(self) -> list[Choice]:
        """The decisions offered, in the order of their keys."""
        if not self.is_open:
            return []
        asked = next((member for member in self.members if member.is_asked), None) if self.conflict.question else None
        if self.is_of_facts:
            found, rest = [*_list_verdicts(self), *_list_moves(self)], []
        elif asked is not None:
            found, rest = _list_answers(asked, self.members), REST
        else:
            may_win = (one for one in self.members if one.row is not None and (one.is_open_claim or not _is_claim(one)))
            right = [Choice(one.key, "This is right", "", member=one.key) for one in may_win]
            found, rest = [*([] if self.conflict.question else right), *_list_moves(self)], REST
        return [*(one._replace(key=KEYS[at : at + 1]) for at, one in enumerate(found)), *rest]

    @property
    def quick(self) -> list[Choice]:
        """The choices of a row in the list: those that only need to be confirmed."""
        if not self.is_of_facts:
            return [one for one in self.choices if one.value == "dismiss"]
        return [one for one in self.choices if one.value not in MOVES][: 2 if len(self.claims) == 1 else 1]

    @property
    def page_keys(self) -> str:
        """The keys of the choices that need the page."""
        return "".join(one.key for one in self.choices if one not in self.quick)


REST: Final = [
    Choice("no_action", "Leave as it is", "The contradiction is known, and accepted.", "a"),
    Choice("dismiss", "Dismiss", "They do not contradict each other.", "d"),
]


def _is_claim(member: PageMember) -> bool:
    return isinstance(member.row, Claim)


def _list_verdicts(page: ConflictPage) -> list[Choice]:
    """List the choices between a fact and the claims that dispute it."""
    claims = page.claims
    current = next((member for member in page.members if member.is_current), None)
    rejected = f"{quote(claim.text for claim in claims)}: rejected. Repeated by the same source, it changes nothing."
    keep = Choice("dismiss", "Reject" if current is None else "Keep existing", rejected)
    choices = [keep._replace(member=(current or claims[0]).key)]
    for claim in claims:
        label = "Accept" if current is None else "Remove it" if claim.row.is_retraction else "Use new"
        superseded = f"{quote([str(claim.existing)])}: superseded." if claim.existing is not None else ""
        others = f" {quote(one.text for one in claims if one is not claim)}: rejected." if len(claims) > 1 else ""
        effect = f"{superseded}{others}".strip() or "It becomes a fact."
        choices.append(Choice(claim.key, label, effect, member=claim.key))
    return choices


def _list_moves(page: ConflictPage) -> list[Choice]:
    """List the choices that put facts in other dimensions."""
    both = Choice("decompose", "Both are true", "Each in a dimension of its own.")
    other = Choice("relocate", "Other dimension", "The new fact is true, but belongs elsewhere.")
    if not page.movable:
        return []
    return [both, other] if any(claim.existing is not None for claim in page.movable) else [other]


def _list_answers(asked: PageMember, members: Iterable[PageMember]) -> list[Choice]:
    others = quote(member.text for member in members if member.is_current and not member.is_asked)
    yes = f"{quote([asked.text])} is current{f'; superseded: {others}' if others else ''}."
    no = f"{quote([asked.text])}: superseded." if asked.is_current else "It is superseded already: nothing changes."
    return [Choice("yes", "Yes", yes), Choice("no", "No", no)]


# --- reading ---


def read_conflicts(conflicts: Iterable[Conflict]) -> dict[int, ConflictPage]:
    """Return the conflicts by their ids, as a list shows them. Runs a bounded number of queries."""
    by_key = {conflict.pk: conflict for conflict in conflicts}
    members = ConflictMember.objects.filter(conflict__in=by_key).select_related("conflicts_with")
    rows: dict[int, list[MemberRow]] = {key: [] for key in by_key}
    for one in read_rows(list(members)):
        rows[one.member.conflict_id].append(one)
    return {key: _describe(by_key[key], rows[key]) for key in by_key}


def read_seen(conflict_id: int) -> str:
    """Return the token of the conflict as it is now."""
    return read_conflicts(Conflict.objects.filter(pk=conflict_id))[conflict_id].seen


def load_page(conflict_id: int, claim_id: int | None = None) -> ConflictPage | None:
    """Return a conflict with all that an operator needs to decide it, or None if there is none. ``claim_id`` is the
    claim in view, for which dimensions are offered."""
    conflict = Conflict.objects.select_related("concept", "dim").filter(pk=conflict_id).first()
    if conflict is None:
        return None
    rows = read_rows(list(conflict.members.select_related("conflicts_with")))
    page = _describe(conflict, rows)
    history = _read_history(rows)
    quotes = _find_quotes(page.members, history)
    focus = next((one.row for one in page.movable if one.row.pk == claim_id), None)
    claim = focus or next((one.row for one in page.movable), None)
    is_by_rules = not conflict.question and conflict.tier != Conflict.Tier.MODEL
    others = read_other_facts(page)
    fields, dimensions = _offer_dimensions(claim, others) if claim is not None else ({}, [])
    return replace(
        page,
        members=[replace(one, quotes=quotes.get(one.key, ())) for one in page.members],
        is_found=not (is_by_rules and page.is_open and not page.claims) or disagree(conflict),
        decided=[
            DecisionLine(row, describe_decision(row)) for row in queries.find_decisions([conflict])[:DECISIONS_MAX]
        ],
        history=_tell_history(rows, history),
        other_facts=others,
        ring=read_ring(page) if page.is_open else (),
        sentences=queries.find_sentences(conflict.concept_id) if conflict.concept_id is not None else (),
        fields=fields,
        dimensions=dimensions,
    )


def read_other_facts(page: ConflictPage) -> list[Edge]:
    """Return the facts about the concept in other dimensions."""
    concept_id, dim_id = page.conflict.concept_id, page.conflict.dim_id
    if concept_id is None or dim_id is None:
        return []
    return queries.list_other_facts(concept_id, dim_id)


def read_ring(page: ConflictPage) -> list[Edge]:
    """Return the facts with which a claim of the conflict would close a cycle."""
    claims = (one.row for one in page.members if _is_claim(one) and one.row.collision_type == CollisionType.CYCLE)
    return next(map(queries.find_ring, claims), [])


def _offer_dimensions(claim: Claim, facts: Iterable[Edge]) -> tuple[dict[str, str], list[str]]:
    """Return the initial values of the fields, and the names offered: the proposal's, then the splits of this
    dimension, then the most used, except those in which the concept already has a fact."""
    taken = {edge.dim_id for edge in facts} | {claim.dim_id}
    free = queries.find_dimensions(split_from_id=claim.dim_id).exclude(pk__in=taken)[:DIMENSIONS_MAX]
    names = [row.soas.token for row in free]
    splits = [row.soas.token for row in free if row.split_from_id == claim.dim_id]
    proposal = claim.proposal if isinstance(claim.proposal, dict) else {}
    existing, new = splits[:2] if len(splits) > 1 else (claim.dim.token, "".join(splits))
    usual = {"existing_dimension": existing, "new_dimension": new, "dimension": ""}
    wanted = {key: proposal.get(key) or "" for key in usual}
    offered = dict.fromkeys(filter(None, (*wanted.values(), *names, claim.dim.token)))
    return {key: wanted[key] or usual[key] for key in usual}, list(offered)


# --- members ---


def _describe(conflict: Conflict, rows: Sequence[MemberRow]) -> ConflictPage:
    texts = {one.member.pk: one.text for one in rows}
    edges = [one.row for one in rows if isinstance(one.row, Edge)]
    decided = conflict.resolution if isinstance(conflict.resolution, dict) else {}
    named = [decided.get("winner"), *decided.get("superseded", ()), *decided.get("dismissed", ())]
    sides = {f"{one['kind']}:{one['id']}" for one in named if one}
    sides |= {_key_of(one) for one in rows if one.is_current or isinstance(one.row, Claim) or one.heir is not None}
    members = [
        replace(
            _put_in_words(one, edges),
            against=texts.get(one.member.conflicts_with_id or 0, ""),
            disagrees=len(sides) < 2 or _key_of(one) in sides,
        )
        for one in sorted(rows, key=_order)
    ]
    return ConflictPage(conflict, members, f"{conflict.pk}:{describe_seen(rows)}")


def _order(one: MemberRow) -> tuple[float, ...]:
    """The most trusted layer first: facts before claims, claims as they are decided, memories newest first."""
    row = one.row
    if isinstance(row, Claim):
        return (-one.member.trust, 1, -row.priority, row.created_at.timestamp(), row.pk)
    return (-one.member.trust, 0, -row.said_at.timestamp() if isinstance(row, Memory) else -inf, one.member.pk or 0)


def _put_in_words(one: MemberRow, edges: Sequence[Edge]) -> PageMember:
    member, row = one.member, one.row
    claim = row if isinstance(row, Claim) else None
    existing = find_opponent(claim, edges) if claim is not None else None
    agent, source = _read(row, "agent", "actor"), _read(row, "incoming_source", "source")
    if isinstance(row, Memory):
        by = f"{agent} ({row.person})" if row.person else agent
    else:
        by = format_speaker(agent, source) if source else agent
    said_at = _read(row, "said_at", "set_at", "at")
    confidence = _read(row, "incoming_confidence", "confidence")
    known = row is not None and claim is None
    return PageMember(
        member=member,
        row=row,
        heir=one.heir,
        key=_key_of(one),
        layer=member.get_kind_display().lower(),
        text=one.text,
        before=member.text if member.text not in ("", one.text) else "",
        state=_name_state(one),
        is_current=one.is_current,
        is_open_claim=one.is_open_claim,
        is_moved=one.is_moved,
        disagrees=True,
        by=by,
        at=date_or_none(said_at) if said_at else None,
        confidence=percent(confidence) if confidence != "" else "",
        channel=row.get_channel_display() if hasattr(row, "get_channel_display") else "",
        source=Source(source).label if source in Source.values else "",
        role=_read(row, "role"),
        support=", ".join(dict.fromkeys(name for name, _ in member.support if name != agent)),
        note=explain_waiting(row, existing) if claim is not None and one.is_open_claim else "",
        page=reverse(f"admin:memory_{row._meta.model_name}_change", args=[row.pk]) if known else "",
        existing=existing,
    )


def _read(row: Any, *names: str) -> Any:
    """Return the first of these columns that the row has, "" for none."""
    return next((getattr(row, name) for name in names if hasattr(row, name)), "")


def _key_of(one: MemberRow) -> str:
    return f"{one.member.kind}:{one.member.object_id}"


def _name_state(one: MemberRow) -> str:
    """Return what a member that is neither current nor an open claim has become."""
    if one.is_current or one.is_open_claim:
        return ""
    if one.row is None:
        return "moved" if one.is_moved else "superseded" if one.heir is not None else "deleted"
    return "earlier" if isinstance(one.row, EdgeHistory) else str(one.row.get_status_display()).lower()


# --- evidence and history ---


def _read_history(rows: Sequence[MemberRow]) -> list[EdgeHistory]:
    """Return the changes in the members' slots and the statements of the members' facts, newest first."""
    wanted, concepts = Q(pk=None), set()
    for one in rows:
        for concept_id, dim_id in one.slots:
            concepts.add(concept_id)
            moved_away = Q(action=EdgeHistory.Action.MOVE, before__dim_id=dim_id)
            wanted |= Q(Q(dim_id=dim_id) | moved_away, concept_id=concept_id)
        if isinstance(one.row, Edge):
            concepts.add(one.row.concept_id)
            said = Q(after__parent_id=one.row.parent_id, action__in=STATING)
            wanted |= Q(said, concept_id=one.row.concept_id)
    if not concepts:
        return []
    return list(EdgeHistory.objects.filter(wanted, concept_id__in=concepts).order_by("-at", "-id")[:HISTORY_MAX])


def _find_quotes(members: Sequence[PageMember], history: Sequence[EdgeHistory]) -> dict[str, list[Quote]]:
    """Return the sentences in which the members were said, newest first, by the members' keys."""
    found = _quote_episodes(members)
    for one in members:
        row = one.row
        if isinstance(row, Edge):
            found[one.key] = _quote_statements(row, history)
        elif isinstance(row, Claim) and row.evidence:
            origin = trace(bytes(row.conversation), row.said_at, row.created_at)
            found[one.key] = [Quote(row.agent, row.role, one.at, row.evidence, origin=origin)]
        elif isinstance(row, EdgeHistory | ProjectState) and row.reason:
            found[one.key] = [Quote(one.by, "", one.at, row.reason)]
    return {key: quotes[:QUOTES_MAX] for key, quotes in found.items()}


def _quote_episodes(members: Sequence[PageMember]) -> dict[str, list[Quote]]:
    memories = {one.row.pk: one.key for one in members if isinstance(one.row, Memory)}
    if not memories:
        return {}
    lineage = MemoryLineage.objects.filter(memory__in=memories, kind=MemoryLineage.Kind.EPISODE).order_by("-id")
    said = [(line.row, memories[line.memory_id]) for line in lineage[: HISTORY_MAX * QUOTES_MAX]]
    episodes = Episode.objects.defer("lexemes").in_bulk([key for key, _ in said])
    found: dict[str, list[Quote]] = {}
    for episode_id, key in said:
        if (episode := episodes.get(episode_id)) is not None:
            words = Quote(episode.agent, episode.role, episode.said_at, episode.text)
            found.setdefault(key, []).append(words)
    return found


def _quote_statements(edge: Edge, history: Iterable[EdgeHistory]) -> list[Quote]:
    said = [
        row
        for row in history
        if row.reason and row.action in STATING and row.concept_id == edge.concept_id
        and row.after and row.after["parent_id"] == edge.parent_id
    ]  # fmt: skip
    origins = find_origins(edge) if said else []
    quotes = []
    for row in said:
        same = (one for one in origins if (one.sentence, one.agent) == (row.reason, row.actor))
        by = format_speaker(row.actor, row.source)
        quotes.append(Quote(by, row.role, row.at, row.reason, origin=next(same, None)))
    return quotes


def _tell_history(rows: Sequence[MemberRow], history: Sequence[EdgeHistory]) -> list[TimelineEvent]:
    """Tell what happened to the members and in their slots, newest first."""
    slots = {slot for one in rows for slot in one.slots}
    states = Q(pk=None)
    for one in rows:
        if isinstance(one.row, ProjectState):
            states |= Q(project_id=one.row.project_id, category=one.row.category, key=one.row.key)
    known = {word.pk: word.shown for one in rows for word in words_of(one.row)}
    tokens = names_in((picture for row in history for picture in (row.before, row.after)), known)
    lines = [
        TimelineEvent(row.at, describe_history(row, tokens), format_speaker(row.actor, row.source), row.reason)
        for row in history
        if any((row.concept_id, side["dim_id"]) in slots for side in (row.before, row.after) if side)
    ]
    if states != Q(pk=None):
        values = ProjectState.objects.filter(states).select_related("project").order_by("-id")[:HISTORY_MAX]
        lines += [TimelineEvent(state.set_at, f"set: {state}", state.actor, state.reason) for state in values]
    for memory in (one.row for one in rows if isinstance(one.row, Memory)):
        lines.append(TimelineEvent(memory.said_at, f"remembered: {memory}", memory.agent))
        if memory.archived_at is not None:
            gone = f"{memory.get_status_display().lower()}: {memory}"
            lines.append(TimelineEvent(memory.archived_at, gone))
    return in_order(lines)[:HISTORY_MAX]
