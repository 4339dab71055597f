"""The graph as one speaker sees it: the facts that all share, and beside them those that hold for this speaker
alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from memory.cache.own_facts import NONE, Facts, Holder
from memory.cache.places import find_edge
from memory.cache.state import Cache
from memory.recall.stated import NOTHING_STATED, Stated
from memory.types import EdgeRow, TripleIds

RIVALS_MAX: Final = 3  # values of a disputed fact that are shown beside the current one


@dataclass(frozen=True, slots=True)
class SpeakersGraph:
    cache: Cache
    own: Facts = field(default_factory=dict)
    stated: Stated = NOTHING_STATED

    @classmethod
    def of(cls, cache: Cache, speaker: Holder | None, stated: Stated = NOTHING_STATED) -> "SpeakersGraph":
        """Make the graph of a speaker, with what their prompt states; None sees only what all share."""
        own = cache.own_facts.of(speaker, cache.tuning.share_unsure) if speaker is not None else NONE
        return cls(cache, own, stated)

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
        shared = self.cache.urd_by_concept.get(concept_id, ())
        own = self.own.get(concept_id)
        if own is None:
            return shared
        alone = [edge for edge in own if self._find_shared(edge) is None]
        return [*(edge for edge in shared if not edge.is_root), *alone, *(edge for edge in shared if edge.is_root)]

    def find_edge(self, ids: TripleIds) -> EdgeRow | None:
        edge = find_edge(self.cache, ids)
        if edge is not None or ids.concept_id not in self.own:
            return edge
        in_slot = [own for own in self.own[ids.concept_id] if own.dim_id == ids.dim_id]
        return next((own for own in in_slot if not own.is_additive or own.parent_id == ids.parent_id), None)

    def find_dispute(self, edge: EdgeRow) -> tuple[bool, tuple[str, ...]]:
        """Return whether the fact is disputed, and by which other values, the newest first; a retraction names none."""
        standing, instead = self.parent_of(edge), self.stated.instead.get(edge.place)
        open_claims = self.cache.pending_conflicts.get(edge.concept_id, {}).get(edge.dim_id)
        claimed = [*self.stated.rivals.get(edge.place, ()), *(open_claims or ())]
        if edge.is_additive:  # another parent that would close a cycle does not count against this one
            return standing in claimed, ()
        own = [one.parent_id for one in self.own.get(edge.concept_id, ()) if one.dim_id == edge.dim_id]
        said = [self.cache.soas_by_id.get(parent_id, "") for parent_id in own if parent_id != edge.parent_id]
        rivals = [parent for parent in dict.fromkeys(filter(None, (*said, *claimed))) if parent != standing]
        is_disputed = bool(rivals) or (instead is None and (open_claims is not None or bool(claimed)))
        return is_disputed, tuple(rivals[:RIVALS_MAX])

    def _find_shared(self, own: EdgeRow) -> EdgeRow | None:
        """Return the shared fact in the place of one that is the speaker's own."""
        return find_edge(self.cache, TripleIds(own.concept_id, own.dim_id, own.parent_id))
