"""Quotas: how much one agent may change in an hour, and how many statements may pile up in one place. Operators,
imports and decisions are not metered."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, Literal, NamedTuple, Protocol
from zlib import crc32

from django.db.models import Count, Exists, F, OuterRef
from django.utils import timezone

from memory.attribution.client_names import is_registered
from memory.channels import Channel
from memory.db.connections import Write, columns, fetch_rows
from memory.db.locks import Lock, lock_until_commit
from memory.english.doubt import SpeechAct
from memory.graph.store import Assertion, Attribution, Held
from memory.models import Edge, Source
from memory.settings.registry import read_rows
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

# The settings; what these agents, if they have a token, and the two groups of others have used up in an hour; and how
# many facts these concepts have.
USED: Final = f"""
    SELECT 'config', key, ARRAY[value] FROM config
    UNION ALL
    SELECT 'used', name, ARRAY[{", ".join(f"coalesce({count}, 0)::text" for count in COUNTS)}]
    FROM (SELECT name FROM agent WHERE name = ANY(%s) UNION SELECT unnest(%s::text[])) AS metered
    LEFT JOIN agent_hour ON agent_hour.agent = name AND hour = %s
    UNION ALL
    SELECT 'facts', token, ARRAY[count(edge_id)::text] FROM soas JOIN urd USING (id)
    WHERE token = ANY(%s) AND parent_id <> id GROUP BY token
"""
# In one order, so that two writers cannot deadlock.
ADD: Final = f"""
    INSERT INTO agent_hour (agent, hour, {", ".join(COUNTS)})
    SELECT agent, %s, {", ".join(COUNTS)} FROM unnest(%s::text[]{", %s::int[]" * len(COUNTS)})
    AS new (agent, {", ".join(COUNTS)}) ORDER BY agent
    ON CONFLICT (agent, hour) DO UPDATE SET
    {", ".join(f"{name} = agent_hour.{name} + excluded.{name}" for name in COUNTS)}
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


class Place(NamedTuple):
    """The place that a statement is about: the fact in it, whether its dimension exists and keeps all,
    and the parents that open claims give the slot."""

    standing: Triple | None = None
    has_dimension: bool = True
    keeps_all: bool = False
    disputed: Collection[str] = ()


EMPTY: Final = Place()


class Quotas:
    """The quotas as the statements of one transaction use them up. Nothing is stored before ``write``."""

    def __init__(self) -> None:
        self._placed: dict[NamedSlot | Triple, Triple] = {}  # by slot or, in dimensions that keep all, by triple
        self._hour = hour_of(timezone.now())
        self._settings = read_rows({})[0]
        self._used: dict[str, Counter[str]] = {}
        self._facts: Counter[str] = Counter()  # by concept
        self._disputed: dict[NamedSlot, set[str]] = defaultdict(set)  # parents of claims that are new here
        self._dimensions: set[str] = set()  # new ones
        self._new: dict[str, Counter[str]] = defaultdict(Counter)
        self._expected: dict[str, Counter[str]] = defaultdict(Counter)  # statements not placed yet

    def read(self, said: Collection[Attributed], concepts: Iterable[str] = (), *, is_locked: bool = False) -> None:
        """Read what these speakers have used up in this hour, and how many facts these concepts have. ``is_locked``:
        the caller holds ``locks_of`` the speakers."""
        if not is_locked:
            lock_until_commit(Lock.QUOTA, locks_of(said)[1])
        others, settings = [AgentHour.STRANGERS, AgentHour.LOCAL_GUTASK], dict[str, str]()
        for kind, name, values in fetch_rows(USED, [[*{one.agent for one in said}], others, self._hour, [*concepts]]):
            if kind == "config":
                settings[name] = values[0]
            elif kind == "used":
                self._used[name] = Counter(dict(zip(COUNTS, map(int, values), strict=True)))
            else:
                self._facts[name] = int(values[0])
        self._settings = read_rows(settings)[0]

    def find_excess(self, assertion: Assertion, place: Place = EMPTY) -> OverLimit | None:
        """Return the limit that the statement would exceed in the graph or the queue. If there is none, count the
        statement."""
        triple, said = assertion.triple, assertion.attribution
        if assertion.manner.kind is SpeechAct.RETRACTS:
            return self._note(self._find_overuse("facts", said) if said.channel in METERED else None, said)
        slot = triple.concept, triple.dimension
        key = triple if place.keeps_all else slot
        standing = self._placed.get(key) or place.standing
        is_concluded = said.channel == Channel.EXPLAINED  # a conclusion fills an empty slot or becomes a candidate
        if standing == triple or (said.channel not in METERED and not (is_concluded and standing is None)):
            return None
        disputed = self._disputed[slot].union(place.disputed)
        if standing is not None and triple.parent in disputed:
            return None  # a repeat
        count = "facts" if standing is None else "conflicts"
        is_new = not place.has_dimension and triple.dimension not in self._dimensions
        crowd = self._find_crowd(triple.concept, is_new) if standing is None else None
        if standing is not None and len(disputed) >= CONFLICT_MEMBERS_MAX:
            crowd = "conflict_members_max"
        excess = OverLimit(crowd, None) if crowd is not None else self._find_overuse(count, said)
        if excess is not None:
            return self._note(excess, said)
        self._expected[self._group_of(said)][count] += 1
        if standing is not None:
            self._disputed[slot].add(triple.parent)
            return None
        self._placed[key] = triple
        self._facts[triple.concept] += 1
        if is_new:
            self._dimensions.add(triple.dimension)
            self._own[triple.concept] += 1
        return None

    def find_excess_of(self, count: Literal["candidates", "memories"], said: Attributed) -> OverLimit | None:
        """Return the limit that one more candidate or memory would exceed."""
        return self._note(self._find_overuse(count, said), said)

    def count(self, name: str, said: Attributed) -> None:
        self._new[self._group_of(said)][name] += 1

    def write(self) -> list[Write]:
        """Return what stores the counts."""
        rows = [(agent, *(counts[name] for name in COUNTS)) for agent, counts in self._new.items() if counts.total()]
        return [(ADD, [self._hour, *columns(rows, 1 + len(COUNTS))])] if rows else []

    def _note(self, excess: OverLimit | None, said: Attributed) -> OverLimit | None:
        self._new[self._group_of(said)]["exceeded"] += excess is not None
        return excess

    def _find_overuse(self, count: str, said: Attributed) -> OverLimit | None:
        if said.channel == Channel.EXPLAINED:  # bounded by the limit on the model's calls
            return None
        group = self._group_of(said)
        now = max(self._new[group][count], self._expected[group][count])
        limit = GUTASK if group == AgentHour.LOCAL_GUTASK and count in OF_GUTASK else LIMITS[count]
        most = PER_HOUR[limit] if limit in PER_HOUR else int(getattr(self._settings, limit))
        is_over = self._used.get(group, Counter())[count] + now >= most
        return OverLimit(limit, self._hour + timedelta(hours=1)) if is_over else None

    def _find_crowd(self, concept: str, is_new_dimension: bool) -> str | None:
        if self._facts[concept] >= FACTS_PER_CONCEPT_MAX:
            return "facts_per_concept_max"
        is_lonely = is_new_dimension and self._own[concept] >= NEW_DIMENSIONS_PER_CONCEPT_MAX
        return "new_dimensions_per_concept_max" if is_lonely else None

    @cached_property
    def _own(self) -> Counter[str]:
        """By concept: dimensions that hold only facts about it. Only asked of statements with new dimensions."""
        facts = Edge.objects.filter(concept__token__in=[*self._facts]).exclude(concept=F("parent")).order_by()
        others = Edge.objects.filter(dim=OuterRef("dim")).exclude(concept=OuterRef("concept"))
        alone = facts.exclude(channel=Channel.OPERATOR).exclude(dim__token__in=[name for name, *_ in SEED_DIMENSIONS])
        alone = alone.exclude(Exists(others.exclude(concept=F("parent"))))
        return Counter(dict(alone.values_list("concept__token").annotate(count=Count("pk"))))

    def _group_of(self, said: Attributed) -> str:
        if said.agent in self._used:
            return said.agent
        # Without a token, gutask is only answered on the local machine.
        # What it forgets counts for it, too, though it takes back no more than a user could (forgetting.py).
        is_gutask = said.channel == Channel.GUTASK or (isinstance(said, Attribution) and said.source == Source.GUTASK)
        return AgentHour.LOCAL_GUTASK if is_gutask else AgentHour.STRANGERS


def locks_of(said: Iterable[Attributed]) -> Held:
    """Return the locks, and their numbers, on what counts for these speakers. Without them two workers would each give
    a stranger what is left."""
    numbers = {crc32(one.agent.encode()) >> 1 if is_registered(one.agent) else 0 for one in said}
    return [Lock.QUOTA.value] * len(numbers), [*numbers]


def prune(now: datetime) -> int:
    return AgentHour.objects.filter(hour__lt=now - AgentHour.KEPT).delete()[0]
