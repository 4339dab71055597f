"""Statements settled in batches of any size leave the world that the rules, one statement after the other, make."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from memory.graph import store
from memory.models import Dimension, Edge, EdgeHistory, Observation, Soas
from resolution import observations
from resolution.models import Candidate, Claim, DecidedTriple
from resolution.observations import settle_due

pytestmark = pytest.mark.django_db

START = datetime(2026, 11, 1, tzinfo=UTC)
QUEUES, SPLIT, SUPERSEDES, KEEPS_ALL = "type", "sort", "place", "uses"
DECIDED_AT = START + timedelta(days=2)
Key = tuple[str, str, str]  # concept, parent, dimension
Place = tuple[str, ...]  # concept, dimension; where all is kept also the parent


@dataclass(frozen=True)
class Statement:
    concept: str
    parent: str
    dimension: str
    is_isa: bool
    agent: str
    role: str
    hours: int
    conversation: int
    confidence: float

    @property
    def at(self) -> datetime:
        return START + timedelta(hours=self.hours)

    @property
    def key(self) -> Key:
        return self.concept, self.parent, self.dimension

    @property
    def place(self) -> Place:
        return (self.concept, self.dimension, *([self.parent] if self.dimension == KEEPS_ALL else []))

    @property
    def opening(self) -> bytes:
        return bytes([self.conversation]) * 16

    @property
    def digest(self) -> bytes:
        """Of the message: the same statement at another time is in another one."""
        return self.opening + sha256(f"{self.role} {self.hours}".encode()).digest()[:16]


@dataclass
class Standing:
    parent: str
    is_isa: bool
    confidence: float
    agent: str
    said_at: datetime
    last_confirmed: datetime

    def rounded(self) -> "Standing":
        """Without the last digits of a float: the rules may be written in another order of steps than the code."""
        return replace(self, confidence=round(self.confidence, 9))


@dataclass
class World:
    """The rules, as plainly as possible."""

    decided: dict[Key, tuple[list[str], bytes, str | None]]
    edges: dict[Place, Standing] = field(default_factory=dict)
    disputes: dict[Key, str] = field(default_factory=dict)  # open rows: their types
    history: list[tuple[str, str, str]] = field(default_factory=list)  # concept, dimension, action
    supporters: dict[Key, set[str]] = field(default_factory=dict)  # agents
    noted: set[tuple[Key, str]] = field(default_factory=set)

    def say(self, said: Statement) -> str:
        if said.concept == said.parent:
            return "invalid"
        decision = self.decided.get(said.key) if said.dimension != SUPERSEDES else None
        if self.confirm(said, decision[2] if decision else None):
            return "confirmed"
        if decision is not None:
            if not self.reopens(said, decision):
                return "decided"
            del self.decided[said.key]
        return self.place(said)

    def confirm(self, said: Statement, moved_to: str | None) -> bool:
        elsewhere = [SPLIT] if said.dimension == QUEUES else []
        near = [said.place, *((said.concept, there) for there in (*elsewhere, *([moved_to] if moved_to else [])))]
        standing = [(place[1], edge) for place in near if (edge := self.edges.get(place)) is not None]
        # What says more confirms, too; first of all what says the same.
        exact = [(there, edge) for there, edge in standing if edge.parent == said.parent]
        more = [(there, edge) for there, edge in standing if said.parent in self.above(edge.parent, there)]
        for dimension, edge in [*exact, *more][:1]:
            key = said.concept, edge.parent, dimension
            is_new = said.agent not in self.supporters[key]
            raised = max(edge.confidence + 0.05 * (1 - edge.confidence), said.confidence)
            is_raised = is_new and raised != edge.confidence
            edge.confidence = raised if is_new else edge.confidence
            edge.said_at, edge.last_confirmed = max(edge.said_at, said.at), max(edge.last_confirmed, said.at)
            if is_raised or (key, said.agent) not in self.noted:
                self.history.append((said.concept, dimension, "confirm"))
                self.noted.add((key, said.agent))
                self.supporters[key].add(said.agent)
            return True
        return False

    def above(self, word: str, dimension: str) -> list[str]:
        way, waiting = list[str](), [word]
        while waiting:
            at = waiting.pop()
            found = [edge.parent for place, edge in self.edges.items() if place[:2] == (at, dimension)]
            waiting += [parent for parent in found if parent not in way]
            way += found
        return way

    def reopens(self, said: Statement, decision: tuple[list[str], bytes, str | None]) -> bool:
        agents, conversation, _ = decision
        late = said.at - DECIDED_AT > timedelta(days=7)
        return said.agent not in agents or (late and said.opening != conversation)

    def place(self, said: Statement) -> str:
        slot = (said.concept, said.dimension)
        old = self.edges.get(said.place)
        is_ring = said.concept in self.above(said.parent, said.dimension)
        says_more = old is not None and not is_ring and old.parent in self.above(said.parent, said.dimension)
        is_late = old is not None and not says_more and said.at < old.said_at
        supporters = self.supporters[said.concept, old.parent, said.dimension] if old is not None else set()
        if says_more and supporters != {said.agent} and said.dimension != SUPERSEDES:
            return "candidate"
        if is_late and said.agent in supporters:
            return "outdated"
        if old is not None and not says_more and said.dimension != SUPERSEDES:
            kinds = {True: "isa_isa", False: "ispart_ispart"}
            self.disputes.setdefault(said.key, kinds[said.is_isa] if old.is_isa == said.is_isa else "misclassification")
            return "conflict"
        if is_late:
            return "outdated"
        if is_ring:
            self.disputes.setdefault(said.key, "cycle")
            return "conflict"
        self.edges[said.place] = Standing(said.parent, said.is_isa, said.confidence, said.agent, said.at, said.at)
        self.supporters[said.key] = {said.agent}
        self.noted -= {(said.key, agent) for agent in ("dobby", "winky")}
        self.history.append((*slot, "supersede" if old else "insert"))
        self.disputes.pop(said.key, None)
        if old is not None:
            self.turn(slot, old.is_isa, said.is_isa)
        return "superseded" if old else "inserted"

    def turn(self, slot: tuple[str, str], was_isa: bool, is_isa: bool) -> None:
        """What was said against the old fact of the slot is said against the new one."""
        kinds = {(True, True): "isa_isa", (False, False): "ispart_ispart"}
        for key, kind in self.disputes.items():
            if (key[0], key[2]) == slot and kind != "cycle":
                claimed = was_isa != (kind == "misclassification")
                self.disputes[key] = kinds.get((is_isa, claimed), "misclassification")


names = st.sampled_from(["ant", "bee"])
statements = st.builds(
    Statement,
    concept=names,
    parent=st.sampled_from(["ant", "bee", "owl", "owl", "elk"]),
    dimension=st.sampled_from([QUEUES, SPLIT, SUPERSEDES, SUPERSEDES, KEEPS_ALL, KEEPS_ALL]),
    is_isa=st.booleans(),
    agent=st.sampled_from(["dobby", "winky"]),
    role=st.sampled_from(["user", "tool"]),
    hours=st.sampled_from([0, 1, 2, 24 * 12]),
    conversation=st.integers(1, 2),
    confidence=st.sampled_from([0.5, 0.8]),
)
decisions = st.dictionaries(
    st.tuples(names, st.sampled_from(["owl", "ant"]), st.sampled_from([QUEUES, SUPERSEDES])),
    st.tuples(
        st.lists(st.sampled_from(["dobby", "winky"]), min_size=1, unique=True),
        st.sampled_from([b"\x01" * 16, b""]),
        st.sampled_from([None, SPLIT]),
    ),
    max_size=3,
)


def prepare(decided: dict[Key, tuple[list[str], bytes, str | None]]) -> None:
    names = (QUEUES, SPLIT, SUPERSEDES, KEEPS_ALL)
    ids = store.ensure_tokens([*names, *(word for key in decided for word in key)])
    for name in names:
        store.ensure_dimension(ids[name], is_isa=True, keeps_all=name == KEEPS_ALL)
    Dimension.objects.filter(pk=ids[SPLIT]).update(split_from_id=ids[QUEUES])
    Dimension.objects.filter(pk=ids[SUPERSEDES]).update(on_collision="supersede")
    for (concept, parent, dimension), (agents, conversation, moved_to) in decided.items():
        DecidedTriple.objects.create(
            concept_id=ids[concept], parent_id=ids[parent], dim_id=ids[dimension], agents=agents, kind="dismissed",
            conversation=conversation, decided_at=DECIDED_AT, moved_to_id=ids[moved_to] if moved_to else None,
        )  # fmt: skip


def observe(said: list[Statement]) -> None:
    Observation.objects.bulk_create(
        [
            Observation(
                kind="triple", digest=one.digest, concept=one.concept, parent=one.parent, dimension=one.dimension,
                is_isa=one.is_isa, confidence=one.confidence, role=one.role, agent=one.agent, said_at=one.at,
            )
            for one in said
        ],
        ignore_conflicts=True,
    )  # fmt: skip


def in_order(batch: list[Statement]) -> list[Statement]:
    return sorted(batch, key=lambda one: (one.dimension, one.at))


def told_once(said: list[Statement]) -> list[Statement]:
    """Without what is merely resent: the same in the same message."""
    found: dict[object, Statement] = {}
    for one in said:
        found.setdefault((one.digest, one.key, one.is_isa), one)
    return list(found.values())


def stored() -> tuple[object, ...]:
    words = dict(Soas.objects.values_list("pk", "token"))
    edges = {
        tuple(words[word_id] for word_id in edge.place): Standing(
            edge.parent.token, edge.is_isa, edge.confidence, edge.agent, edge.said_at, edge.last_confirmed
        ).rounded()
        for edge in Edge.objects.select_related("concept", "parent", "dim")
        if not edge.is_root
    }
    open_rows = Claim.objects.filter(status="pending").select_related("concept", "incoming_parent", "dim")
    disputes = {(row.concept.token, row.incoming_parent.token, row.dim.token): row.collision_type for row in open_rows}
    decided = DecidedTriple.objects.values_list("concept__token", "parent__token", "dim__token")
    history = EdgeHistory.objects.order_by("pk").values_list("concept__token", "dim__token", "action")
    return edges, disputes, set(decided), sorted(history)


@given(
    said=st.lists(statements, min_size=4, max_size=20),
    portion=st.integers(1, 20),
    batch=st.integers(1, 10),
    decided=decisions,
)
def test_any_batching_equals_one_after_the_other(
    said: list[Statement], portion: int, batch: int, decided: dict[Key, tuple[list[str], bytes, str | None]]
) -> None:
    decided = {key: value for key, value in decided.items() if key[0] != key[1]}
    world = World(dict(decided))
    expected, usual = [], observations.BATCH
    fresh = told_once(said)
    with transaction.atomic():
        prepare(decided)
        observations.BATCH = batch
        try:
            for start in range(0, len(fresh), portion):
                observe(said[: said.index(fresh[min(start + portion, len(fresh)) - 1]) + 1])  # all is sent again
                settle_due()
        finally:
            observations.BATCH = usual
        rows = Observation.objects.order_by("pk")
        outcomes = list(rows.values_list("concept", "parent", "dimension", "outcome"))
        found = stored()
        transaction.set_rollback(True)
    for start in range(0, len(fresh), portion):
        waiting = fresh[start : start + portion]
        for first in range(0, len(waiting), batch):
            expected += [(one, world.say(one)) for one in in_order(waiting[first : first + batch])]
    assert sorted(outcomes) == sorted((*one.key, outcome) for one, outcome in expected)
    standing = {place: edge.rounded() for place, edge in world.edges.items()}
    assert found == (standing, world.disputes, set(world.decided), sorted(world.history))


ways = st.sampled_from([{}, {}, {"says": "changes"}, {"says": "corrects"}, {"says": "retracts"}, {"is_hedged": True}])


def settled(said: list[tuple[Statement, dict[str, object]]], batch: int) -> tuple[object, ...]:
    """The world that these make, in batches of this size."""
    usual, observations.BATCH = observations.BATCH, batch
    with transaction.atomic():
        prepare({})
        for one, way in said:
            observe([one])
            Observation.objects.filter(pk=Observation.objects.latest("pk").pk).update(**way)
        try:
            settle_due()
        finally:
            observations.BATCH = usual
        outcomes = list(Observation.objects.order_by("pk").values_list("outcome", flat=True))
        candidates = Candidate.objects.values_list(
            "concept", "parent", "dimension", "state", "conversations", "said_count"
        )
        found = (*stored(), outcomes, sorted(candidates))
        transaction.set_rollback(True)
    return found


@given(said=st.lists(st.tuples(statements, ways), min_size=2, max_size=12), batch=st.integers(2, 12))
def test_what_is_corrected_or_only_believed_depends_on_no_batch(
    said: list[tuple[Statement, dict[str, object]]], batch: int
) -> None:
    fresh = {(one.digest, one.key, one.is_isa): (one, way) for one, way in said}
    in_turn = sorted(fresh.values(), key=lambda pair: (pair[0].dimension, pair[0].at))

    assert settled(in_turn, batch) == settled(in_turn, 1)
