"""Finds the facts that a prompt asks for: `What runs on tyr-1?`"""

from typing import Final

from memory.cache.state import Cache
from memory.english.tokenizer import find_words
from memory.search.lexemes import find_lexemes
from memory.search.ranking import weigh
from memory.types import TripleIds

SHARE: Final = 0.5  # of the weight of a prompt's words that a fact must have
LOOKED_AT_MAX: Final = 200  # facts of one name
FACTS_MAX: Final = 24


def find_asked_facts(cache: Cache, text: str) -> tuple[TripleIds, ...]:
    """Return the facts about the concepts that the text names, or with one of them as their parent, that have enough of
    its words; the most alike first."""
    shares = weigh(find_lexemes(text), cache.rarity)
    found: dict[TripleIds, tuple[float, float]] = {}
    for name in find_words(text).tokens:
        row = cache.soas_by_token.get(name)
        if row is None or row.is_common or cache.is_muted(name, row):
            continue
        children = (edge for key in list(cache.children.get(row.id, ())) for edge in cache.urd_by_concept.get(key, ()))
        edges = [*cache.urd_by_concept.get(row.id, ()), *(edge for edge in children if edge.parent_id == row.id)]
        for edge in edges[:LOOKED_AT_MAX]:
            ids = TripleIds(edge.concept_id, edge.dim_id, edge.parent_id)
            told = find_lexemes(" ".join(cache.soas_by_id.get(key, "").replace("-", " ") for key in ids))
            share = sum(shares.get(lexeme, 0.0) for lexeme in told | find_lexemes(name))
            if share >= SHARE and not edge.is_root:
                found[ids] = share, edge.confidence
    return tuple(sorted(found, key=lambda ids: found[ids], reverse=True)[:FACTS_MAX])
