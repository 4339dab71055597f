"""Leaves out of one prompt what its message asks to forget, before that is set aside."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memory.attribution.forget_requests import Topic
from memory.cache.own_facts import Holder
from memory.cache.state import Cache
from memory.types import EdgeRow


@contextmanager
def leave_out(cache: Cache, topics: Sequence[Topic], holder: Holder) -> Iterator[None]:
    """Let the notes and the facts about the topics count as gone. ``holder``: whose facts of their own."""
    if not topics:
        yield
        return
    facts = {key: list(cache.urd_by_concept[key]) for key in find_concepts(cache, topics)}
    own, kept = cache.own_facts, cache.own_facts.leave_out(holder, lambda edge: is_about(cache, edge, topics))
    for key, edges in facts.items():
        cache.put_edges(key, [edge for edge in edges if edge.is_root or not is_about(cache, edge, topics)])
    cache.own_facts, cache.left_out = kept, topics
    try:
        yield
    finally:
        cache.own_facts, cache.left_out = own, ()
        for key, edges in facts.items():
            cache.put_edges(key, edges)


def find_concepts(cache: Cache, topics: Sequence[Topic]) -> set[int]:
    """Return the concepts with facts that the topics name."""
    tokens = {name for topic in topics for name in topic.names}
    rows = (cache.soas_by_token[token] for token in tokens & cache.soas_by_token.keys())
    return {row.id for row in rows if row.id in cache.urd_by_concept}


def is_about(cache: Cache, edge: EdgeRow, topics: Sequence[Topic]) -> bool:
    """True if a fact is about any of the topics."""
    concept, parent = (cache.soas_by_id.get(key, "") for key in (edge.concept_id, edge.parent_id))
    return any(topic.is_of(concept, parent) for topic in topics)
