"""Shows a prompt what its own statements change, before the workers have placed them: both judge by the same rule."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import eq

from memory.cache.places import keeps_all, list_edges
from memory.cache.state import Cache
from memory.domain.channels import TENTATIVE, Channel, is_weaker
from memory.domain.cues.matches import CueMatch
from memory.domain.cues.modality import SpeechAct
from memory.domain.fact_syntax import find_mistake
from memory.domain.forgetting import Topic
from memory.domain.judging import PLAIN, Act, Decided, Incoming, Judgement, Manner, StandingFact, climb, concerns, judge
from memory.domain.name_shapes import find_doubt
from memory.domain.recall.selection import channel_of_edge
from memory.domain.statement import is_reopened, select_statements
from memory.domain.text.spelling import find_spelling
from memory.domain.timing import STATEMENTS_MAX
from memory.domain.types import EdgeRow, Triple, TripleIds
from memory.domain.voices import voice_of
from memory.learning.reader import Reading
from memory.recall.left_out import find_concepts, is_about


def anticipate(
    cache: Cache, readings: Sequence[Reading], now: float, *, agent: str = "", conversation: bytes = b""
) -> None:
    """Change this process's copy of the graph as the workers will: a fact is replaced or taken out, or its slot is
    marked as disputed. ``readings`` are of new messages; ``conversation`` is the digest of its opening."""
    # The workers know more (statements of this hour, what others write meanwhile), so the changes expire.
    cache.forget_old_disputes(now)
    for place, stored in cache.expectations.pop_old(now, cache.soas_by_id):
        cache.put_edge(place, stored)
    for reading in readings:
        may_change = reading.role == "user"
        said = select_statements(reading.triples or (), may_change=may_change, keeps_all=partial(keeps_all, cache))
        for match, manner in islice((one for one in said if one[0].channel not in TENTATIVE), STATEMENTS_MAX):
            judgement = judge_statement(cache, match, manner, now, agent=agent, conversation=conversation)
            if judgement.fact is None:
                continue
            fact, concept_id = judgement.fact, cache.soas_by_token[match.subject].id
            standing = _list_standing(cache, concept_id, fact.dim_id, partial(eq, fact.parent))[0]
            if judgement.act is Act.REPLACE:
                _expect(cache, standing, match, now, agent)
            elif judgement.act is Act.RETIRE:
                _expect(cache, standing, None, now, agent)
            elif judgement.act is Act.CONFLICT:
                is_retraction = manner.kind is SpeechAct.RETRACTS
                parent = fact.parent if is_retraction else cache.canonical(match.parent)
                cache.dispute((concept_id, fact.dim_id), parent, now)


def expect_forgotten(cache: Cache, topic: Topic, now: float, agent: str) -> None:
    """Take out the facts about the topic that only this agent has stated: the workers will retire them."""
    for concept in find_concepts(cache, [topic]):
        for edge in list(cache.urd_by_concept[concept]):
            is_own = voice_of(edge.agent) == voice_of(agent) and not edge.is_corroborated
            is_weak = not is_weaker(Channel.USER, channel_of_edge(edge))
            if is_own and is_weak and not edge.is_root and is_about(cache, edge, [topic]):
                _expect(cache, edge, None, now, agent)


def _expect(cache: Cache, standing: EdgeRow, match: CueMatch | None, now: float, agent: str) -> None:
    """Expect that the statement takes the place of ``standing``, or, if None, that ``standing`` is taken out."""
    edge, concept_id, dim_id = None, standing.concept_id, standing.dim_id
    if match is not None:
        parent = cache.canonical(match.parent)
        row = cache.soas_by_token.get(parent)
        parent_id = row.id if row is not None else cache.make_up(parent, find_spelling(match.written, match.parent))
        # With the confidence to be shown: it is said in this very prompt.
        edge = EdgeRow(
            concept_id, parent_id, dim_id, match.is_isa, 1.0, "inferred", now, match.channel, agent=agent,
            is_additive=standing.is_additive,
        )  # fmt: skip
        cache.drop_claim((concept_id, dim_id), parent)
    place = standing.place
    cache.expectations.note(place, edge, standing, cache.soas_by_id.get(standing.parent_id, ""), now)
    cache.put_edge(place, edge)


def _list_standing(cache: Cache, concept_id: int, dim_id: int, is_about: Callable[[str], bool]) -> list[EdgeRow]:
    """Return the edges in the slot; where all is kept only those that a statement is about."""
    edges, words = list_edges(cache, concept_id, dim_id), cache.soas_by_id
    return [edge for edge in edges if not edge.is_additive or edge.is_root or is_about(words.get(edge.parent_id, ""))]


def judge_statement(
    cache: Cache, match: CueMatch, manner: Manner, now: float, *, agent: str = "", conversation: bytes = b""
) -> Judgement:
    """Judge what a statement that is said now will do. Changes nothing."""
    subject, parent_word, dimension = map(cache.canonical, (match.subject, match.parent, match.dimension))
    manner = manner._replace(instead_of=cache.canonical(manner.instead_of))
    if find_mistake(Triple(subject, parent_word, dimension, match.is_isa)):
        return Judgement(Act.INVALID)
    concept, dim = cache.soas_by_token.get(match.subject), cache.soas_by_token.get(match.dimension)
    parent = cache.soas_by_token.get(match.parent)
    dim_id, decided, edges = dim.id if dim is not None else 0, Decided(), list[EdgeRow]()
    supersedes = dim_id in cache.superseding_dims
    if concept is not None and dim is not None:
        if parent is not None and not supersedes:
            ids = TripleIds(concept.id, dim.id, parent.id)
            decided = _find_decided(cache, ids, agent, conversation, now)
        dims = [dim.id, decided.moved_to, *sorted(cache.splits_of(dim.id) - {decided.moved_to})]
        if manner != PLAIN:
            moved = {
                cache.decided[ids].moved_to for ids in cache.decided_of.get(concept.id, ()) if ids.dim_id == dim_id
            }
            others = tuple(sorted(other for other in moved if other is not None and other not in dims))
            decided, dims = decided._replace(others=others), [*dims, *others]
        for place in dict.fromkeys(dims):
            if place is not None:
                is_about = partial(concerns, said_parent=parent_word, manner=manner)
                edges += _list_standing(cache, concept.id, place, is_about)
    judgement = judge(
        Incoming(dim_id, parent_word, match.channel, manner, now),
        [
            StandingFact(
                edge.dim_id,
                cache.soas_by_id.get(edge.parent_id, ""),
                channel_of_edge(edge),
                edge.is_root,
                is_own=voice_of(edge.agent) == voice_of(agent),
                is_additive=edge.is_additive,
            )
            for edge in edges
        ],
        _Around(cache, concept.id if concept is not None else 0),
        decided=decided,
        supersedes=supersedes,
        keeps_all=dim_id in cache.additive_dims,
    )
    if judgement.act in (Act.CONFIRM, Act.NOTHING, Act.INVALID) or manner.kind is SpeechAct.RETRACTS:
        return judgement
    if match.channel in TENTATIVE or find_doubt(match.subject, match.parent, match.dimension, match.written):
        return Judgement(Act.CANDIDATE, judgement.fact)
    return judgement


def _find_decided(cache: Cache, ids: TripleIds, agent: str, conversation: bytes, now: float) -> Decided:
    ruling = cache.decided.get(ids)
    if ruling is None:
        return Decided()
    is_open = is_reopened(ruling.agents, ruling.conversation, ruling.decided_at, agent, conversation, now)
    return Decided(ruling.moved_to, keeps_out=not is_open)


@dataclass(frozen=True, slots=True)
class _Around:
    """The graph around a concept, as this process knows it (memory.domain.judging.Graph)."""

    cache: Cache
    concept_id: int

    def is_above(self, dim_id: int, upper: str, lower: str) -> bool:
        row = self.cache.soas_by_token.get(upper)
        return row is not None and row.id in self._climb(dim_id, lower)

    def closes_cycle(self, dim_id: int, parent: str) -> bool:
        return self.concept_id in self._climb(dim_id, parent)

    def _climb(self, dim_id: int, word: str) -> Iterator[int]:
        row, edges = self.cache.soas_by_token.get(word), partial(list_edges, self.cache)
        return climb(lambda at: (e.parent_id for e in edges(at, dim_id)), row.id if row is not None else 0)
