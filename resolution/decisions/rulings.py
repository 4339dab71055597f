"""Remembering which triples were decided about (see DecidedTriple)."""

from collections.abc import Collection, Iterable, Mapping

from django.db.models import QuerySet
from django.utils import timezone

from memory.domain.types import TripleIds
from memory.graph.store import IMPORTED
from memory.models import Dimension, Edge, EdgeHistory
from resolution.models import Conflict, DecidedTriple


def remember(
    key: TripleIds,
    kind: DecidedTriple.Kind,
    agents: Iterable[str],
    *,
    conversation: bytes = b"",
    moved_to_id: int | None = None,
) -> None:
    """Notes what was decided about a triple that ``agents`` have said, besides those who had said it when it was
    decided about before. Where the newer wins nothing is decided for good, and nothing is noted."""
    remember_all({key: set(agents)}, kind, conversation=conversation, moved_to_id=moved_to_id)


def remember_all(
    agents: Mapping[TripleIds, set[str]],
    kind: DecidedTriple.Kind,
    *,
    conversation: bytes = b"",
    moved_to_id: int | None = None,
) -> None:
    """The same of several triples, with the agents of each, in three statements. The caller holds the locks of their
    dimensions."""
    keys = _lasting(agents)
    earlier = {_key(row): row.agents for row in _about(keys)}
    now = timezone.now()
    DecidedTriple.objects.bulk_create(
        [
            DecidedTriple(
                concept_id=key.concept_id,
                dim_id=key.dim_id,
                parent_id=key.parent_id,
                kind=kind,
                moved_to_id=moved_to_id,
                agents=sorted({*earlier.get(key, ()), *agents[key]}),
                conversation=conversation,
                decided_at=now,
            )
            for key in keys
        ],
        update_conflicts=True,
        unique_fields=["concept", "dim", "parent"],
        update_fields=["kind", "moved_to", "agents", "conversation", "decision", "decided_at"],
    )


def forget(key: TripleIds) -> None:
    """A triple that is placed again is no longer decided about."""
    DecidedTriple.objects.filter(**key._asdict()).delete()


def speakers(edge: Edge) -> set[str]:
    """The agents that stated the fact in this slot, as far as the history tells."""
    return speakers_of([edge])[_key(edge)]


def speakers_of(edges: Collection[Edge]) -> dict[TripleIds, set[str]]:
    """The same of several, by their triples. Who brought a fact with a file has not stated it."""
    agents = {_key(edge): {edge.agent} for edge in edges}
    statements = EdgeHistory.objects.filter(
        concept_id__in={edge.concept_id for edge in edges},
        dim_id__in={edge.dim_id for edge in edges},
        action__in=[EdgeHistory.Action.INSERT, EdgeHistory.Action.CONFIRM],
    ).exclude(role=IMPORTED)
    for *key, agent in statements.values_list("concept_id", "dim_id", "after__parent_id", "actor"):
        agents.get(TripleIds(*key), set()).add(agent)
    return agents


def disputants(conflict: Conflict) -> set[str]:
    """The agents that brought this conflict, now and before: whose word was decided about once is no different agent
    because another one reopened it."""
    same = Conflict.objects.filter(
        concept_id=conflict.concept_id, dim_id=conflict.dim_id, incoming_parent_id=conflict.incoming_parent_id
    )
    return set(same.values_list("agent", flat=True))


def _lasting(keys: Iterable[TripleIds]) -> list[TripleIds]:
    keys = sorted(keys)
    superseding = Dimension.objects.filter(
        soas_id__in={dim_id for _, dim_id, _ in keys}, on_collision=Dimension.OnCollision.SUPERSEDE
    ).values_list("pk", flat=True)
    passing = set(superseding)
    return [key for key in keys if key.dim_id not in passing]


def _about(keys: Collection[TripleIds]) -> QuerySet[DecidedTriple]:
    """What was decided about these triples, and about some near them."""
    concepts, dims, parents = (set(ids) for ids in zip(*keys, strict=True)) if keys else (set(), set(), set())
    return DecidedTriple.objects.filter(concept_id__in=concepts, dim_id__in=dims, parent_id__in=parents)


def _key(row: Edge | DecidedTriple) -> TripleIds:
    assert row.parent_id is not None
    return TripleIds(row.concept_id, row.dim_id, row.parent_id)
