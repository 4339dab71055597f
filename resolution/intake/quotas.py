"""Quotas: how much one agent may change in an hour, and how many statements may pile up in one place. Operators,
imports and decisions are not metered."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, Protocol
from zlib import crc32

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef
from django.utils import timezone

from memory.attribution.client_names import is_registered
from memory.channels import Channel
from memory.db.connections import columns, fetch_rows
from memory.db.locks import Lock, lock_until_commit
from memory.english.doubt import SpeechAct
from memory.graph.store import Assertion, Attribution
from memory.models import Config, Edge, Source
from memory.types import SEED_DIMENSIONS, Triple
from resolution.models import AgentHour
from resolution.models.quotas import hour_of

NamedSlot = tuple[str, str]  # concept and dimension


class Attributed(Protocol):
    """Anything with a speaker and a channel."""

    @property
    def agent(self) -> str: ...
    @property
    def channel(self) -> str: ...


# The limit of each count. Those of facts and conflicts are settings.
LIMITS: Final = {
    "facts": "quota_facts_per_hour",
    "conflicts": "quota_conflicts_per_hour",
    "candidates": "quota_candidates_per_hour",
    "memories": "quota_memories_per_hour",
}
GUTASK: Final = "quota_gutask_per_hour"  # replaces the limits of facts and of memories
PER_HOUR: Final = {"quota_candidates_per_hour": 500, "quota_memories_per_hour": 100, GUTASK: 2_000}
FACTS_PER_CONCEPT_MAX: Final = 64
CONFLICT_MEMBERS_MAX: Final = 10  # open newcomers of one slot
NEW_DIMENSIONS_PER_CONCEPT_MAX: Final = 5  # dimensions that hold only facts about one concept
OF_GUTASK: Final = ("facts", "memories")
COUNTS: Final = (*LIMITS, "exceeded")
METERED: Final = (Channel.USER, Channel.GUTASK)

# What these agents, if they have a token, and the two groups of others have used up in an hour.
USED: Final = f"""
    SELECT name, {", ".join(f"coalesce({count}, 0)" for count in COUNTS)}
    FROM (SELECT name FROM agent WHERE name = ANY(%s) UNION SELECT unnest(%s::text[])) AS metered
    LEFT JOIN agent_hour ON agent_hour.agent = name AND hour = %s
"""
# In one order, and as the last rows of the transaction, so that two writers cannot deadlock.
ADD: Final = f"""
    INSERT INTO agent_hour (agent, hour, {", ".join(COUNTS)})
    SELECT agent, %s, {", ".join(COUNTS)} FROM unnest(%s::text[]{", %s::int[]" * len(COUNTS)})
    AS new (agent, {", ".join(COUNTS)}) ORDER BY agent
    ON CONFLICT (agent, hour) DO UPDATE SET
    {", ".join(f"{name} = agent_hour.{name} + excluded.{name}" for name in COUNTS)}
"""
# Of concepts, the number of facts; of dimensions, whether they keep all; of open claims, slot and parent.
CROWDING: Final = """
    SELECT 'facts', token, count(edge_id)::text, '' FROM soas JOIN urd USING (id)
    WHERE token = ANY(%(concepts)s) AND parent_id <> id GROUP BY token
    UNION ALL
    SELECT 'dimension', token, CASE WHEN is_additive THEN 'keeps all' ELSE '' END, ''
    FROM soas JOIN dimension USING (id) WHERE token = ANY(%(dimensions)s)
    UNION ALL
    SELECT concept.token, dim.token, parent.token, 'claim' FROM resolution_queue AS claim
    JOIN soas AS concept ON concept.id = concept_id JOIN soas AS dim ON dim.id = dim_id
    JOIN soas AS parent ON parent.id = incoming_parent_id
    WHERE concept.token = ANY(%(concepts)s) AND dim.token = ANY(%(dimensions)s) AND status IN ('pending', 'proposed')
"""


@dataclass(frozen=True, slots=True)
class OverLimit:
    """The limit that a statement exceeds. ``until`` is None if only an operator can make room."""

    setting: str
    until: datetime | None

    @property
    def retry_after_s(self) -> int | None:
        return max(1, round((self.until - timezone.now()).total_seconds())) if self.until is not None else None

    def __str__(self) -> str:
        what = "too much was said in this hour" if self.until is not None else "there is too much of it"
        return f"It is not stored: {what} ({self.setting})."


@dataclass(slots=True)
class Crowding:
    """The counts in the places that some statements are about."""

    facts: Counter[str] = field(default_factory=Counter)  # by concept
    lonely: Counter[str] = field(default_factory=Counter)  # by concept: dimensions that only hold its own facts
    dimensions: set[str] = field(default_factory=set)  # existing ones among those named
    additive: set[str] = field(default_factory=set)  # those of them that keep all
    disputed: Mapping[NamedSlot, set[str]] = field(default_factory=lambda: defaultdict(set))  # parents of open claims


class Quotas:
    """The quotas as the statements of one transaction use them up. Nothing is stored before ``write``."""

    def __init__(self, standing: Mapping[Triple, Triple]) -> None:
        """``standing`` maps the statements' triples to the facts in their places."""
        self._standing = standing
        self._placed: dict[NamedSlot | Triple, Triple] = {}  # by slot or, in dimensions that keep all, by triple
        self._hour = hour_of(timezone.now())
        self._used: dict[str, Counter[str]] = {}
        self._new: dict[str, Counter[str]] = defaultdict(Counter)
        self._expected: dict[str, Counter[str]] = defaultdict(Counter)  # statements not placed yet
        self._crowding = Crowding()

    def read(self, assertions: Iterable[Assertion]) -> None:
        """Read the counts for the statements. Must be called before the other methods."""
        new = [
            one
            for one in assertions
            if one.manner.kind is SpeechAct.RETRACTS or self._standing.get(one.triple) != one.triple
        ]
        if not new:
            return
        self.read_used(one.attribution for one in new)
        self._crowding = _find_crowding([one.triple for one in new])

    def read_used(self, said: Iterable[Attributed]) -> None:
        """Read only what these speakers have used up in this hour; until the commit nobody else does. Otherwise two
        workers would each give a stranger what is left."""
        agents = {one.agent for one in said}
        lock_until_commit(Lock.QUOTA, {crc32(name.encode()) >> 1 if is_registered(name) else 0 for name in agents})
        others = [AgentHour.STRANGERS, AgentHour.LOCAL_GUTASK]
        for group, *counts in fetch_rows(USED, [[*agents], others, self._hour]):
            self._used[group] = Counter(dict(zip(COUNTS, counts, strict=True)))

    def find_excess(self, assertion: Assertion) -> OverLimit | None:
        """Return the limit that the statement would exceed in the graph or the queue. If there is none, count the
        statement."""
        triple, said = assertion.triple, assertion.attribution
        if assertion.manner.kind is SpeechAct.RETRACTS:
            return self._find_retraction_excess(said)
        slot, crowding = (triple.concept, triple.dimension), self._crowding
        place = triple if triple.dimension in crowding.additive else slot
        standing = self._placed.get(place) or self._standing.get(triple)
        is_concluded = said.channel == Channel.EXPLAINED  # a conclusion fills an empty slot or becomes a candidate
        if standing == triple or (said.channel not in METERED and not (is_concluded and standing is None)):
            return None
        disputed = crowding.disputed.get(slot, ())
        if standing is not None and triple.parent in disputed:
            return None  # a repeat
        count = "facts" if standing is None else "conflicts"
        excess = self._find_crowd(triple, len(disputed), is_free=standing is None) or self._find_overuse(count, said)
        if excess is not None:
            self._new[self._group_of(said)]["exceeded"] += 1
            return excess
        self._expected[self._group_of(said)][count] += 1
        if standing is not None:
            crowding.disputed[slot].add(triple.parent)
            return None
        self._placed[place] = triple
        crowding.facts[triple.concept] += 1
        if triple.dimension not in crowding.dimensions:
            crowding.dimensions.add(triple.dimension)
            crowding.lonely[triple.concept] += 1
        return None

    def _find_retraction_excess(self, said: Attribution) -> OverLimit | None:
        excess = self._find_overuse("facts", said) if said.channel in METERED else None
        self._new[self._group_of(said)]["exceeded"] += excess is not None
        return excess

    def find_excess_of(self, count: Literal["candidates", "memories"], said: Attributed) -> OverLimit | None:
        """Return the limit that one more candidate or memory would exceed."""
        excess = self._find_overuse(count, said)
        if excess is not None:
            self._new[self._group_of(said)]["exceeded"] += 1
        return excess

    def count(self, name: str, said: Attributed) -> None:
        self._new[self._group_of(said)][name] += 1

    def write(self) -> None:
        if any(count for counts in self._new.values() for count in counts.values()):
            rows = [(agent, *(counts[name] for name in COUNTS)) for agent, counts in self._new.items()]
            with connection.cursor() as cursor:
                cursor.execute(ADD, [self._hour, *columns(rows, 1 + len(COUNTS))])

    def _find_overuse(self, count: str, said: Attributed) -> OverLimit | None:
        if said.channel == Channel.EXPLAINED:  # bounded by the limit on the model's calls
            return None
        group = self._group_of(said)
        now = max(self._new[group][count], self._expected[group][count])
        if self._used.get(group, Counter())[count] + now < self._limit(group, count):
            return None
        return OverLimit(_limit_of(group, count), self._hour + timedelta(hours=1))

    def _limit(self, group: str, count: str) -> int:
        limit = _limit_of(group, count)
        return PER_HOUR[limit] if limit in PER_HOUR else int(getattr(Config.tuning(), limit))

    def _find_crowd(self, triple: Triple, disputed: int, *, is_free: bool) -> OverLimit | None:
        crowding = self._crowding
        if not is_free:
            return OverLimit("conflict_members_max", None) if disputed >= CONFLICT_MEMBERS_MAX else None
        if crowding.facts[triple.concept] >= FACTS_PER_CONCEPT_MAX:
            return OverLimit("facts_per_concept_max", None)
        is_new = triple.dimension not in crowding.dimensions
        if is_new and crowding.lonely[triple.concept] >= NEW_DIMENSIONS_PER_CONCEPT_MAX:
            return OverLimit("new_dimensions_per_concept_max", None)
        return None

    def _group_of(self, said: Attributed) -> str:
        if said.agent in self._used:
            return said.agent
        # Without a token, gutask is only answered on the local machine.
        # What it forgets counts for it, too, though it takes back no more than a user could (forgetting.py).
        is_gutask = said.channel == Channel.GUTASK or (isinstance(said, Attribution) and said.source == Source.GUTASK)
        return AgentHour.LOCAL_GUTASK if is_gutask else AgentHour.STRANGERS


def _limit_of(group: str, count: str) -> str:
    return GUTASK if group == AgentHour.LOCAL_GUTASK and count in OF_GUTASK else LIMITS[count]


def _find_crowding(triples: Iterable[Triple]) -> Crowding:
    triples = list(triples)
    concepts, dimensions = {one.concept for one in triples}, {one.dimension for one in triples}
    found = Crowding()
    named = {"concepts": list(concepts), "dimensions": list(dimensions)}
    for first, second, third, kind in fetch_rows(CROWDING, named):
        if kind == "claim":
            found.disputed[first, second].add(third)
        elif first == "facts":
            found.facts[second] = int(third)
        else:
            found.dimensions.add(second)
            found.additive.update([second] if third else [])
    if dimensions - found.dimensions:
        facts = Edge.objects.filter(concept__token__in=concepts).exclude(concept=F("parent")).order_by()
        others = Edge.objects.filter(dim=OuterRef("dim")).exclude(concept=OuterRef("concept"))
        alone = facts.exclude(channel=Channel.OPERATOR).exclude(dim__token__in=[name for name, *_ in SEED_DIMENSIONS])
        alone = alone.exclude(Exists(others.exclude(concept=F("parent"))))
        found.lonely.update(dict(alone.values_list("concept__token").annotate(count=Count("pk"))))
    return found


def prune(now: datetime) -> int:
    return AgentHour.objects.filter(hour__lt=now - AgentHour.KEPT).delete()[0]
