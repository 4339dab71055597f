"""A message that was taken for new, and what it teaches besides the words it names."""

from collections.abc import Iterator
from dataclasses import dataclass

from memory.cache.state import Cache
from memory.domain.cues.extractor import CueMatch
from memory.domain.first_seen import MICROSECOND
from memory.domain.messages import Message
from memory.domain.recall.saliency import HOUR
from memory.domain.statement import Observed
from memory.domain.text.snippets import sentence_stating, share_a_sentence
from memory.domain.types import TripleIds
from memory.ingest.reader import Reading, said_in

# Whose mention of a concept together with its parent says that the fact still holds.
CONFIRMING_ROLES = frozenset({"user", "system"})
CONFIRMED_EVERY_S = HOUR


@dataclass(frozen=True, slots=True)
class Heard:
    """``key``: the digest of the conversation's opening, then the message's own. ``text`` is empty where too much of
    it waits already; ``counted`` are the names that were counted when it came."""

    key: bytes
    reading: Reading
    text: str
    agent: str
    at: float  # seconds since the epoch
    counted: frozenset[str]


def statements(cache: Cache, heard: Heard) -> Iterator[Observed]:
    """What the message states, each once, with the sentence it is stated in, in the order of the text."""
    triples: dict[tuple[str, str, str, bool], CueMatch] = {}
    for triple in heard.reading.triples or ():
        triples.setdefault((triple.subject, triple.parent, triple.dimension, triple.is_isa), triple)
    if not triples:
        return
    text = said_in(cache, Message(heard.reading.role, heard.text)).text
    for index, triple in enumerate(triples.values()):
        yield Observed(
            key=heard.key,
            subject=triple.subject,
            parent=triple.parent,
            dimension=triple.dimension,
            is_isa=triple.is_isa,
            confidence=triple.confidence,
            role=heard.reading.role,
            agent=heard.agent,
            at=heard.at + index * MICROSECOND,
            evidence=sentence_stating(text, triple.start, triple.end) if text else "",
        )


def unexplained(cache: Cache, heard: Heard) -> list[str]:
    """The concepts that a user named so often by now that a language model is to be asked what they are."""
    if heard.reading.role != "user":
        return []
    threshold, rows = cache.tuning.saliency_write_threshold, cache.soas_by_token
    named = ((name, rows.get(name)) for name in heard.reading.names - heard.reading.parts)
    return [
        name
        for name, row in named
        if row is not None
        and row.saliency >= threshold
        and not (row.is_common or row.is_muted)
        and row.id not in cache.urd_by_concept
    ]


def confirmed(cache: Cache, heard: Heard) -> set[TripleIds]:
    """The facts that were not confirmed lately and whose concept and parent stand together in one sentence."""
    if heard.reading.role not in CONFIRMING_ROLES or not heard.text:
        return set()
    pairs: dict[tuple[str, str], list[TripleIds]] = {}
    spoken = set(heard.reading.words.split())
    for name in heard.reading.names & cache.soas_by_token.keys():
        for edge in cache.urd_by_concept.get(cache.soas_by_token[name].id, ()):
            parent = cache.soas_by_id.get(edge.parent_id, "")
            is_old = (edge.last_confirmed or 0.0) < heard.at - CONFIRMED_EVERY_S
            if is_old and parent in spoken and not edge.is_root:
                pairs.setdefault((name, parent), []).append(TripleIds(edge.concept_id, edge.dim_id, edge.parent_id))
    if not pairs:
        return set()
    text = said_in(cache, Message(heard.reading.role, heard.text)).text
    return {triple for pair in share_a_sentence(text, pairs) for triple in pairs[pair]}
