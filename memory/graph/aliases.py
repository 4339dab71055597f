"""Other names of concepts: a statement under one of them is about the concept."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from memory.models import Alias
from memory.types import Triple


def find_concepts(words: Iterable[str]) -> dict[str, str]:
    """Return the concept's own name for each of the words that is an alias."""
    rows = Alias.objects.filter(soas__token__in=set(words))
    return dict(rows.values_list("soas__token", "concept__token"))


def rename(triple: Triple, names: Mapping[str, str]) -> Triple:
    """Replace some of the triple's words by other names."""
    if names.keys().isdisjoint((triple.concept, triple.parent, triple.dimension)):
        return triple
    concept, parent, dimension = (names.get(word, word) for word in (triple.concept, triple.parent, triple.dimension))
    return replace(triple, concept=concept, parent=parent, dimension=dimension)
