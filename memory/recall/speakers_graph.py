"""The graph as one prompt sees it: the facts that all share, those that hold for its speaker alone, and beside them
what the prompt itself states or asks to forget."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from memory.attribution.client_names import voice_of
from memory.attribution.forget_requests import Topic
from memory.cache.own_facts import NONE, Facts, Holder
from memory.cache.state import Cache, channel_of_edge
from memory.channels import TENTATIVE
from memory.english.doubt import SpeechAct
from memory.english.name_shapes import find_doubt
from memory.english.spelling import find_spelling
from memory.english.statements import CueMatch
from memory.graph.fact_syntax import find_mistake
from memory.graph.judging import Effect, Judgement, Manner, NewFact, StandingFact, ancestors, is_about, judge
from memory.graph.statement import select_statements
from memory.learning.reader import Reading
from memory.timing import STATEMENTS_MAX
from memory.types import EdgeRow, Place, Triple, TripleIds

RIVALS_MAX: Final = 3  # values of a disputed fact that are shown beside the current one


@dataclass(frozen=True, slots=True)
class Stated:
    """A prompt's statements against facts, by their places: ``instead`` of which something else holds, None for
    nothing; ``rivals``: other parents, the newest first, or the fact's own if it is denied. ``labels``: the parents as
    typed."""

    instead: dict[Place, CueMatch | None] = field(default_factory=dict)
    rivals: dict[Place, list[str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


NOTHING_STATED: Final = Stated()


@dataclass(frozen=True, slots=True)
class SpeakersGraph:
    """``own``: the facts that hold for the speaker alone; ``stated``: what the prompt states; ``topics``: what it asks
    to forget, which counts as gone before it is set aside."""

    cache: Cache
    own: Facts = field(default_factory=dict)
    stated: Stated = NOTHING_STATED
    topics: Sequence[Topic] = ()

    @classmethod
    def of(
        cls, cache: Cache, speaker: Holder | None, topics: Sequence[Topic] = (), stated: Stated = NOTHING_STATED
    ) -> "SpeakersGraph":
        """Make the graph of a speaker; None sees only what all share."""
        own = cache.own_facts.of(speaker, cache.tuning.share_unsure) if speaker is not None else NONE
        return cls(cache, own, stated, topics)

    def parent_of(self, edge: EdgeRow) -> str:
        instead = self.stated.instead.get(edge.place)
        return self.cache.canonical(instead.parent) if instead else self.cache.soas_by_id.get(edge.parent_id, "")

    def label_of(self, token: str) -> str:
        """Return the token as it is typed."""
        is_known = token in self.cache.soas_by_token
        return self.cache.label_of(token) if is_known else self.stated.labels.get(token) or token

    def knows(self, concept_id: int) -> bool:
        return concept_id in self.cache.urd_by_concept or concept_id in self.own

    def edges_about(self, concept_id: int) -> Sequence[EdgeRow]:
        """Return the edges, the strongest first; in a slot that holds one fact, the shared one."""
        edges: Sequence[EdgeRow] = self.cache.urd_by_concept.get(concept_id, ())
        if (own := self.own.get(concept_id)) is not None:
            alone = [edge for edge in own if self.cache.find_edge(edge.ids) is None]
            edges = [*(edge for edge in edges if not edge.is_root), *alone, *(edge for edge in edges if edge.is_root)]
        return [edge for edge in edges if not self.forgets(edge)] if self.topics else edges

    def find_edge(self, ids: TripleIds) -> EdgeRow | None:
        """Return the edge in the place of this triple, the shared one if there is one."""
        edge = self.cache.find_edge(ids)
        if edge is None:
            in_slot = [own for own in self.own.get(ids.concept_id, ()) if own.dim_id == ids.dim_id]
            edge = next((own for own in in_slot if not own.is_additive or own.parent_id == ids.parent_id), None)
        return None if edge is None or self.forgets(edge) else edge

    def forgets(self, edge: EdgeRow) -> bool:
        """True if the prompt asks to forget the fact."""
        if not self.topics or edge.is_root:
            return False
        concept, parent = (self.cache.soas_by_id.get(key, "") for key in (edge.concept_id, edge.parent_id))
        return any(topic.is_of(concept, parent) for topic in self.topics)

    def find_dispute(self, edge: EdgeRow) -> tuple[bool, tuple[str, ...]]:
        """Return whether the fact is disputed, and by which other values, the newest first; a retraction names none."""
        standing, instead = self.parent_of(edge), self.stated.instead.get(edge.place)
        open_claims = self.cache.pending_conflicts.get(edge.concept_id, {}).get(edge.dim_id)
        claimed = [*self.stated.rivals.get(edge.place, ()), *(open_claims or ())]
        if edge.is_additive:  # another parent that would close a cycle does not count against this one
            return standing in claimed, ()
        own = [one for one in self.own.get(edge.concept_id, ()) if one.dim_id == edge.dim_id and not self.forgets(one)]
        said = [self.cache.soas_by_id.get(one.parent_id, "") for one in own if one.parent_id != edge.parent_id]
        rivals = [parent for parent in dict.fromkeys(filter(None, (*said, *claimed))) if parent != standing]
        is_disputed = bool(rivals) or (instead is None and (open_claims is not None or bool(claimed)))
        return is_disputed, tuple(rivals[:RIVALS_MAX])


def judge_prompt(cache: Cache, readings: Sequence[Reading], now: float, agent: str) -> Stated:
    """Judge the statements of a prompt's new messages, for its own block alone, by the rule by which the worker will
    place them."""
    stated = Stated()
    for reading in readings:
        said = select_statements(reading.triples or (), may_change=reading.role == "user", keeps_all=cache.keeps_all)
        for match, manner in islice((one for one in said if one[0].channel not in TENTATIVE), STATEMENTS_MAX):
            judgement, edge = _judge(cache, match, manner, now, agent)
            if edge is None:
                continue
            parent = cache.canonical(match.parent)
            stated.labels[parent] = find_spelling(match.written, match.parent)
            if judgement.effect in (Effect.SUPERSEDED, Effect.RETIRED):
                stated.instead[edge.place] = match if judgement.effect is Effect.SUPERSEDED else None
            elif judgement.effect is Effect.CONFLICT:
                is_denial = manner.kind is SpeechAct.RETRACTS
                rival = cache.soas_by_id.get(edge.parent_id, "") if is_denial else parent
                stated.rivals.setdefault(edge.place, []).insert(0, rival)
    return stated


_NOTHING: Final = Judgement(Effect.NEEDLESS), None


def _judge(cache: Cache, match: CueMatch, manner: Manner, now: float, agent: str) -> tuple[Judgement, EdgeRow | None]:
    """Judge a statement; also return the fact that it is against."""
    subject, said, dimension = map(cache.canonical, (match.subject, match.parent, match.dimension))
    concept, parent, dim = map(cache.soas_by_token.get, (subject, said, dimension))
    is_odd = bool(find_mistake(Triple(subject, said, dimension, match.is_isa)))
    if manner.kind is not SpeechAct.RETRACTS:
        is_odd = is_odd or bool(find_doubt(match.subject, match.parent, match.dimension, match.written))
    if concept is None or dim is None or is_odd:
        return _NOTHING
    if parent is not None and TripleIds(concept.id, dim.id, parent.id) in cache.decided.get(concept.id, ()):
        return _NOTHING  # the worker knows whether that reopens it
    manner = manner._replace(instead_of=cache.canonical(manner.instead_of))
    facts = [
        (edge, _make_standing(cache, edge, agent))
        for dim_id in (dim.id, *sorted(cache.splits_of(dim.id)))
        for edge in cache.list_edges(concept.id, dim_id)
    ]
    facts = [one for one in facts if not one[0].is_additive or one[0].is_root or is_about(one[1].parent, said, manner)]
    judgement = judge(
        NewFact(dim.id, said, match.channel, manner, now),
        [fact for _, fact in facts],
        _Around(cache, concept.id),
        supersedes=dim.id in cache.superseding_dims,
        keeps_all=dim.id in cache.additive_dims,
    )
    return judgement, next((edge for edge, fact in facts if fact is judgement.fact), None)


def _make_standing(cache: Cache, edge: EdgeRow, agent: str) -> StandingFact:
    parent, is_own = cache.soas_by_id.get(edge.parent_id, ""), voice_of(edge.agent) == voice_of(agent)
    return StandingFact(
        edge.dim_id,
        parent,
        channel_of_edge(edge),
        edge.is_root,
        is_own=is_own,
        is_sole=is_own and not edge.is_corroborated,
        is_additive=edge.is_additive,
    )


@dataclass(frozen=True, slots=True)
class _Around:
    """The graph around a concept, as this process knows it (memory.graph.judging.Graph)."""

    cache: Cache
    concept_id: int

    def is_above(self, dim_id: int, upper: str, lower: str) -> bool:
        return any(self.cache.soas_by_id.get(word_id) == upper for word_id in self._climb(dim_id, lower))

    def closes_cycle(self, dim_id: int, parent: str) -> bool:
        return self.concept_id in self._climb(dim_id, parent)

    def _climb(self, dim_id: int, word: str) -> Iterator[int]:
        row, edges = self.cache.soas_by_token.get(word), self.cache.list_edges
        return ancestors(lambda at: (edge.parent_id for edge in edges(at, dim_id)), row.id if row is not None else 0)
