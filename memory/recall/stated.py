"""Judges what a prompt states, for its own block alone, by the rule by which the worker will place it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from memory.attribution.client_names import voice_of
from memory.cache.places import keeps_all, list_edges
from memory.cache.state import Cache
from memory.channels import TENTATIVE
from memory.english.doubt import SpeechAct
from memory.english.name_shapes import find_doubt
from memory.english.spelling import find_spelling
from memory.english.statements import CueMatch
from memory.graph.fact_syntax import find_mistake
from memory.graph.judging import Act, Incoming, Judgement, Manner, StandingFact, climb, concerns, judge
from memory.graph.statement import select_statements
from memory.learning.reader import Reading
from memory.recall.selection import channel_of_edge
from memory.timing import STATEMENTS_MAX
from memory.types import EdgeRow, Place, Triple, TripleIds


@dataclass(frozen=True, slots=True)
class Stated:
    """A prompt's statements against facts, by their places: ``instead`` of which something else holds, None for
    nothing; ``rivals``: other parents, the newest first, or the fact's own if it is denied. ``labels``: the parents as
    typed."""

    instead: dict[Place, CueMatch | None] = field(default_factory=dict)
    rivals: dict[Place, list[str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


def judge_prompt(cache: Cache, readings: Sequence[Reading], now: float, agent: str) -> Stated:
    """Judge the statements of new messages."""
    stated, keeps = Stated(), partial(keeps_all, cache)
    for reading in readings:
        said = select_statements(reading.triples or (), may_change=reading.role == "user", keeps_all=keeps)
        for match, manner in islice((one for one in said if one[0].channel not in TENTATIVE), STATEMENTS_MAX):
            judgement, edge = _judge(cache, match, manner, now, agent)
            if edge is None:
                continue
            parent = cache.canonical(match.parent)
            stated.labels[parent] = find_spelling(match.written, match.parent)
            if judgement.act in (Act.REPLACE, Act.RETIRE):
                stated.instead[edge.place] = match if judgement.act is Act.REPLACE else None
            elif judgement.act is Act.CONFLICT:
                is_denial = manner.kind is SpeechAct.RETRACTS
                rival = cache.soas_by_id.get(edge.parent_id, "") if is_denial else parent
                stated.rivals.setdefault(edge.place, []).insert(0, rival)
    return stated


NOTHING_STATED = Stated()
_NOTHING = Judgement(Act.NOTHING), None


def _judge(cache: Cache, match: CueMatch, manner: Manner, now: float, agent: str) -> tuple[Judgement, EdgeRow | None]:
    """Judge a statement; also return the fact that it is against."""
    words = subject, said, dimension = tuple(map(cache.canonical, (match.subject, match.parent, match.dimension)))
    concept, parent, dim = map(cache.soas_by_token.get, words)
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
        for edge in list_edges(cache, concept.id, dim_id)
    ]
    facts = [one for one in facts if not one[0].is_additive or one[0].is_root or concerns(one[1].parent, said, manner)]
    judgement = judge(
        Incoming(dim.id, said, match.channel, manner, now),
        [fact for _, fact in facts],
        _Around(cache, concept.id),
        supersedes=dim.id in cache.superseding_dims,
        keeps_all=dim.id in cache.additive_dims,
    )
    return judgement, next((edge for edge, fact in facts if fact is judgement.fact), None)


def _make_standing(cache: Cache, edge: EdgeRow, agent: str) -> StandingFact:
    parent, is_own = cache.soas_by_id.get(edge.parent_id, ""), voice_of(edge.agent) == voice_of(agent)
    return StandingFact(
        edge.dim_id, parent, channel_of_edge(edge), edge.is_root, is_own=is_own, is_additive=edge.is_additive
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
        row, edges = self.cache.soas_by_token.get(word), partial(list_edges, self.cache)
        return climb(lambda at: (e.parent_id for e in edges(at, dim_id)), row.id if row is not None else 0)
