"""Finds what one agent has added to the graph or retracted from it, and who else vouches for it."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from memory.attribution.client_names import voice_of
from memory.channels import SURE, Channel, is_weaker
from memory.db.connections import chunks
from memory.english.phrases import format_count
from memory.graph import store
from memory.graph.snapshots import Snapshot
from memory.models import Agent, Alias, Edge, EdgeHistory, Source
from memory.timing import FIRST_DATED, is_dated
from resolution.conflicts.queue import OPEN
from resolution.models import Claim, Decision
from resolution.quarantine.memory_suspects import SuspectMemory, find_memories

PORTION: Final = 100  # facts read together
UNDATED: Final = Q(said_at__lt=datetime.fromtimestamp(FIRST_DATED, UTC))
STATED: Final = (EdgeHistory.Action.INSERT, EdgeHistory.Action.SUPERSEDE, EdgeHistory.Action.CONFIRM)


@dataclass(frozen=True, slots=True)
class Heard:
    """A row of the history in which somebody stated a fact."""

    agent: str
    source: str
    channel: str
    at: datetime
    words: str
    replaced: Snapshot | None  # the fact that it replaced


@dataclass(frozen=True, slots=True)
class Suspect:
    """A fact that the agent brought. ``voucher`` is the strongest independent statement of it; ``replaced`` is the fact
    that was there before the agent spoke."""

    edge: Edge
    words: str
    voucher: Heard | None = None
    replaced: Snapshot | None = None
    is_corroborated: bool = False  # by several vouchers


@dataclass(slots=True)
class Suspects:
    """The result of looking for suspects. ``facts`` with a voucher stay, with the voucher's confidence; the same is
    true of ``memories``. ``retracted`` are the rows of the history, newest first, in which the agent retracted facts of
    others: these return. ``names`` are aliases that the agent gave."""

    facts: list[Suspect] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    retracted: list[EdgeHistory] = field(default_factory=list)
    names: list[Alias] = field(default_factory=list)
    memories: list[SuspectMemory] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.facts or self.claims or self.retracted or self.names or self.memories)

    @property
    def unvouched(self) -> list[Suspect]:
        return [one for one in self.facts if one.voucher is None]

    def describe(self) -> str:
        """Return what becomes candidates, such as "3 facts and 1 memory"."""
        facts = format_count(len(self.unvouched), "fact")
        count = len(self.unvouched_memories)
        return f"{facts} and {format_count(count, 'memory', 'memories')}" if count else facts

    @property
    def unvouched_memories(self) -> list[SuspectMemory]:
        return [one for one in self.memories if one.voucher is None]


def find_suspects(agent: str, since: datetime | None = None) -> Suspects:
    """Find what is there because this agent said it, optionally only since then: facts, open claims, retractions,
    aliases, memories."""
    edges = Edge.objects.filter(agent=agent).exclude(source__in=[Source.OPERATOR, Source.FESTINGER])
    said = Claim.objects.filter(agent=agent, status__in=OPEN).exclude(incoming_source=Source.OPERATOR)
    if since is not None:
        # Statements without a date, from before the conversation was first read, count from when they were read.
        edges = edges.filter(Q(said_at__gte=since) | UNDATED & Q(last_confirmed__gte=since))
        said = said.filter(Q(said_at__gte=since) | UNDATED & Q(created_at__gte=since))
    found = Suspects(
        claims=list(said.select_related("concept", "dim", "incoming_parent").order_by("pk")),
        retracted=_find_retracted(agent, since),
        names=_find_names(agent, since),
    )
    registered = frozenset(Agent.objects.values_list("name", flat=True))
    for portion in chunks(_in_words(edges), PORTION):
        statements = _find_statements(portion)
        for edge in portion:
            suspect = _suspect(edge, statements, since, lambda other: _is_independent(other, agent, registered))
            if suspect is not None:
                found.facts.append(suspect)
    found.memories = find_memories(agent, since, partial(_is_voice, agent, registered))
    return found


def _in_words(edges: QuerySet[Edge]) -> Iterable[Edge]:
    return edges.select_related("concept", "parent", "dim").order_by("concept_id", "dim_id").iterator()


def _key(edge: Edge) -> tuple[int, int]:
    return edge.concept_id, edge.parent_id


def _find_retracted(agent: str, since: datetime | None) -> list[EdgeHistory]:
    """Return retractions of facts that were not the agent's own, if nobody else has said anything about the slot
    since."""
    later = EdgeHistory.objects.filter(concept=OuterRef("concept"), dim=OuterRef("dim"), pk__gt=OuterRef("pk"))
    rows = EdgeHistory.objects.filter(
        ~Exists(later.exclude(actor=agent).exclude(action=EdgeHistory.Action.CONFIRM)),
        action=EdgeHistory.Action.RETIRE, actor=agent,
    ).exclude(source__in=[Source.OPERATOR, Source.FESTINGER])  # fmt: skip
    rows = rows.filter(at__gte=since) if since is not None else rows
    found = rows.select_related("concept", "dim").order_by("-pk")
    return [row for row in found if row.before is not None and not _is_of(row.before, agent, since)]


def _find_names(agent: str, since: datetime | None) -> list[Alias]:
    """Return the aliases that the agent gave. Aliases left by its renamings are not included: each renaming is its own
    run."""
    rows = Alias.objects.filter(agent=agent).exclude(channel=Channel.OPERATOR)
    rows = rows.filter(at__gte=since) if since is not None else rows
    merged = Decision.objects.filter(kind=Decision.Kind.MERGE, actor=agent, undone_by=None)
    left = set(merged.values_list("arguments__concept", flat=True))
    found = rows.select_related("soas", "concept").order_by("pk")
    return [row for row in found if row.soas.token not in left]


def find_own_names(ids: Iterable[int]) -> dict[int, int]:
    """Map the ids of aliases to their concepts: for these ids, and for all aliases of these concepts."""
    return dict(
        Alias.objects.filter(Q(pk__in=(known := set(ids))) | Q(concept__in=known)).values_list("pk", "concept_id")
    )


def _find_statements(edges: Sequence[Edge]) -> Mapping[tuple[int, int], list[Heard]]:
    """Return who stated these facts, by concept and parent, oldest first. Includes statements from before a fact was
    moved."""
    # Include what was said under names that have become aliases since, by a merge for example.
    own = find_own_names(word_id for edge in edges for word_id in _key(edge))
    concepts = {edge.concept_id for edge in edges}
    concepts |= {other for other, concept in own.items() if concept in concepts}
    rows = EdgeHistory.objects.filter(concept_id__in=concepts, action__in=STATED)
    found: dict[tuple[int, int], list[Heard]] = defaultdict(list)

    def add(concept_id: int, parent_id: int, heard: Heard) -> None:
        found[own.get(concept_id, concept_id), own.get(parent_id, parent_id)].append(heard)

    for row in rows.exclude(role=store.IMPORTED).order_by("pk"):
        replaced = row.before if row.action == EdgeHistory.Action.SUPERSEDE else None
        statement = Heard(row.actor, row.source, row.channel, row.at, row.reason, replaced)
        if row.after is not None:
            add(row.concept_id, row.after["parent_id"], statement)
    # Operators who decided for a fact vouch for it.
    decided = Decision.objects.filter(
        claim__concept_id__in=concepts,
        source=Source.OPERATOR,
        kind__in=[Decision.Kind.UPDATE, Decision.Kind.RELOCATE, Decision.Kind.DECOMPOSE],
        undone_by=None,
    )
    columns = ("claim__concept_id", "claim__incoming_parent_id", "actor", "source", "at", "reason")
    for concept_id, parent_id, actor, source, at, reason in decided.values_list(*columns):
        add(concept_id, parent_id, Heard(actor, source, Channel.OPERATOR, at, reason, None))
    return found


def _suspect(
    edge: Edge,
    statements: Mapping[tuple[int, int], Sequence[Heard]],
    since: datetime | None,
    is_independent: Callable[[Heard], bool],
) -> Suspect | None:
    heard = statements[_key(edge)]
    own = [one for one in heard if one.agent == edge.agent]
    if since is not None and own and own[0].at < since:
        return None  # the fact was there before and was only repeated
    vouchers = [one for one in heard if is_independent(one)]
    strongest = vouchers[0] if vouchers else None
    for other in vouchers[1:]:
        strongest = other if strongest is None or is_weaker(strongest.channel, other.channel) else strongest
    replaced = next((one.replaced for one in own if one.replaced), None)
    while replaced is not None and _is_of(replaced, edge.agent, since):  # that one is quarantined, too
        before = statements.get((edge.concept_id, replaced["parent_id"]), ())
        replaced = next((one.replaced for one in before if one.agent == edge.agent and one.replaced), None)
    is_corroborated = len({voice_of(one.agent) for one in vouchers}) > 1
    return Suspect(edge, own[-1].words if own else "", strongest, replaced, is_corroborated)


def _is_of(fact: Snapshot, agent: str, since: datetime | None) -> bool:
    said_at = datetime.fromisoformat(fact["said_at"])
    at = said_at if is_dated(said_at.timestamp()) else datetime.fromisoformat(fact["last_confirmed"])
    return fact["agent"] == agent and (since is None or at >= since)


def _is_independent(said: Heard, agent: str, registered: Collection[str]) -> bool:
    """True if somebody else said it. Without a token, speakers cannot be told apart."""
    if said.source in (Source.OPERATOR, Source.FESTINGER):
        return True
    return said.agent != agent and _is_voice(agent, registered, said.agent, said.channel)


def _is_voice(agent: str, registered: Collection[str], other: str, channel: str) -> bool:
    return channel == Channel.OPERATOR or (channel in SURE and (other in registered or agent in registered))
