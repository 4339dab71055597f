"""From what was read to a recollection: the cache and the pure rules of domain/, without a query."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memory.cache import Cache, TripleKey
from memory.domain.decided import is_reopened
from memory.domain.rendering import block
from memory.domain.rows import SoasRow, UrdEdge
from memory.domain.saliency import DAY, may_ask, priority
from memory.domain.selection import CHARACTERS_PER_TOKEN, Candidate, ShownFact, by_priority, in_force, select
from memory.reading import Reading, stated_among

# A common word is recalled for these sources' facts even where it is not written as a name.
TRUSTED = frozenset({"gutask", "operator"})

Salient = list[tuple[str, SoasRow]]


@dataclass(frozen=True, slots=True)
class Recollection:
    """The block (empty for none), the rows asked about, and per salient concept why it is in or out."""

    block: str = ""
    asked: tuple[SoasRow, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dispute:
    """A fact stated in a prompt that contradicts the one in its slot."""

    existing: UrdEdge
    incoming_parent: str
    incoming_is_isa: bool


def recollect(cache: Cache, readings: Sequence[Reading], now: float) -> Recollection:
    """What is recalled for these messages. ``now`` is in seconds since the epoch."""
    salient = _salient(cache, readings)
    if not salient:
        return Recollection()
    known, unknown, reasons = _sort(cache, salient, readings, now)
    selection = select(
        known,
        _not_stated(cache, unknown, readings, reasons),
        show=lambda edge: _show(cache, edge),
        max_concepts=cache.tuning.recollection_max_concepts,
        max_questions=cache.tuning.zero_hit_max,
        max_characters=cache.tuning.recollection_max_tokens * CHARACTERS_PER_TOKEN,
    )
    return Recollection(
        block=block(selection.lines),
        asked=tuple(candidate.row for candidate in selection.asked),
        reasons=reasons | selection.reasons,
    )


def disputes(
    cache: Cache, readings: Sequence[Reading], now: float, *, agent: str = "", conversation: bytes = b""
) -> list[Dispute]:
    """Marks the slots that new messages contradict, where placing them will queue a conflict, and returns what
    collided: the very prompt that brings a contradiction already shows its ``?``. ``conversation`` is the digest of
    its opening."""
    cache.forget_old_disputes(now)
    found = []
    for triple in (triple for reading in readings for triple in reading.triples or ()):
        concept = cache.soas_by_token.get(triple.subject)
        dim = cache.soas_by_token.get(triple.dimension)
        if concept is None or dim is None or dim.id in cache.superseding_dims:
            continue
        existing = cache.urd_by_concept_dim.get((concept.id, dim.id))
        if existing is None or existing.is_root:
            continue
        parent = cache.soas_by_token.get(triple.parent)
        if parent is not None and _is_settled(cache, (concept.id, dim.id, parent.id), agent, conversation, now):
            continue
        cache.dispute((concept.id, dim.id), now)
        found.append(Dispute(existing, triple.parent, triple.is_isa))
    return found


def _is_settled(cache: Cache, key: TripleKey, agent: str, conversation: bytes, now: float) -> bool:
    """Whether the triple is known, there or where it was moved to, or was decided about and is not reopened."""
    concept, dim, parent = key
    decided = cache.decided.get(key)
    places = {dim, *cache.splits_of(dim)} | ({decided.moved_to} if decided and decided.moved_to is not None else set())
    edges = (cache.urd_by_concept_dim.get((concept, place)) for place in places)
    if any(edge is not None and edge.parent_id == parent for edge in edges):
        return True
    return decided is not None and not is_reopened(
        decided.agents, decided.conversation, decided.decided_at, agent, conversation, now
    )


def _salient(cache: Cache, readings: Sequence[Reading]) -> Salient:
    """As ``is_salient`` says of each; written out, because of a long history it is asked of thousands."""
    threshold, row_of = cache.tuning.saliency_read_threshold, cache.soas_by_token.get
    names: set[str] = set().union(*(reading.names for reading in readings))
    return [
        (name, row)
        for name in names
        if (row := row_of(name)) is not None
        and (row.saliency >= threshold or row.novelty >= threshold)
        and not row.is_muted
    ]


def _sort(
    cache: Cache, salient: Salient, readings: Sequence[Reading], now: float
) -> tuple[list[Candidate], list[Candidate], dict[str, str]]:
    """Candidates with facts, candidates to ask about, and why the others are neither."""
    half_life = cache.tuning.recency_half_life_days * DAY
    prompt = _Prompt(readings)
    known, unknown, reasons = [], [], {}
    for word, row in salient:
        edges = cache.urd_by_concept.get(row.id)
        if row.is_common and word not in prompt.emphasised and not _has_trusted_edge(edges):
            reasons[word] = "a common word"
        elif edges:
            if facts := _in_force(cache, edges, now):
                known.append(Candidate(row, word, priority(row, now, half_life), facts))
            else:
                reasons[word] = "no facts in force"
        elif refusal := _why_not_ask(cache, word, row, prompt, now):
            reasons[word] = refusal
        else:
            unknown.append(Candidate(row, word, priority(row, now, half_life)))
    return known, unknown, reasons


class _Prompt:
    """The messages taken together; what few prompts need is put together on demand."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._readings = readings

    @cached_property
    def emphasised(self) -> set[str]:
        """Words written as a name."""
        return set().union(*(reading.emphasised for reading in self._readings))

    @cached_property
    def by_user(self) -> set[str]:
        """Names said by a user."""
        said = (reading for reading in self._readings if reading.role == "user")
        return set().union(*(reading.names - reading.parts for reading in said))


def _has_trusted_edge(edges: Sequence[UrdEdge] | None) -> bool:
    return any(edge.source in TRUSTED for edge in edges or ())


def _in_force(cache: Cache, edges: Sequence[UrdEdge], now: float) -> list[UrdEdge]:
    """Edges whose words have not arrived yet wait for them: they are announced separately."""
    tuning, names = cache.tuning, cache.soas_by_id
    return in_force(
        [edge for edge in edges if edge.parent_id in names and edge.dim_id in names],
        floor=tuning.recollection_confidence_floor,
        cutoff=now - tuning.recollection_recency_days * DAY,
        exempt=tuning.recollection_recency_exempt,
    )


def _why_not_ask(cache: Cache, word: str, row: SoasRow, prompt: _Prompt, now: float) -> str:
    if word not in prompt.by_user:
        return "unknown, but not said by a user"
    if row.is_common:
        return "a common word"
    if row.id in cache.referenced:
        return "known as a parent or a dimension"
    return "" if may_ask(row, now) else "asked about lately"


def _not_stated(
    cache: Cache, unknown: Sequence[Candidate], readings: Sequence[Reading], reasons: dict[str, str]
) -> list[Candidate]:
    """Of the first candidates those that no statement is about; why the others are not asked about goes to
    ``reasons``. Only of the first, because statements may have to be looked for."""
    in_order = by_priority(unknown)
    few = 2 * cache.tuning.zero_hit_max
    first, rest = in_order[:few], in_order[few:]
    stated = stated_among(readings, {candidate.token for candidate in first})
    reasons |= dict.fromkeys((candidate.token for candidate in rest), "too many concepts")
    reasons |= dict.fromkeys(stated, "stated in this prompt")
    return [candidate for candidate in first if candidate.token not in stated]


def _show(cache: Cache, edge: UrdEdge) -> ShownFact:
    return (
        cache.soas_by_id[edge.dim_id],
        cache.soas_by_id[edge.parent_id],
        (edge.concept_id, edge.dim_id) in cache.pending_by_concept_dim,
    )
