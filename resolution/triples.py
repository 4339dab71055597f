"""Remembering which triples were decided about (see DecidedTriple)."""

from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils import timezone

from memory.models import Dimension, Edge, EdgeHistory
from resolution.models import Conflict, DecidedTriple

Key = tuple[int, int, int]  # the ids of concept, dimension, parent


def remember(
    key: Key,
    kind: DecidedTriple.Kind,
    agents: Iterable[str],
    *,
    conversation: bytes = b"",
    moved_to_id: int | None = None,
) -> None:
    """Notes what was decided about a triple that ``agents`` have said. Where the newer wins nothing is decided for
    good, and nothing is noted."""
    concept_id, dim_id, parent_id = key
    if Dimension.objects.filter(soas_id=dim_id, on_collision=Dimension.OnCollision.SUPERSEDE).exists():
        return
    earlier = _of(key).values_list("agents", flat=True).first() or []
    DecidedTriple.objects.update_or_create(
        concept_id=concept_id,
        dim_id=dim_id,
        parent_id=parent_id,
        defaults={
            "kind": kind,
            "moved_to_id": moved_to_id,
            "agents": sorted({*earlier, *agents}),
            "conversation": conversation,
            "decision_id": None,
            "decided_at": timezone.now(),
        },
    )


def forget(key: Key) -> None:
    """A triple that is placed again is no longer decided about."""
    _of(key).delete()


def speakers(edge: Edge) -> set[str]:
    """The agents that stated the fact in this slot, as far as the history tells."""
    said = EdgeHistory.objects.filter(
        concept_id=edge.concept_id,
        dim_id=edge.dim_id,
        action__in=[EdgeHistory.Action.INSERT, EdgeHistory.Action.CONFIRM],
        after__parent_id=edge.parent_id,
    )
    return {edge.agent, *said.values_list("actor", flat=True)}


def disputants(conflict: Conflict) -> set[str]:
    """The agents that brought this conflict, now and before: whose word was decided about once is no different agent
    because another one reopened it."""
    same = Conflict.objects.filter(
        concept_id=conflict.concept_id, dim_id=conflict.dim_id, incoming_parent_id=conflict.incoming_parent_id
    )
    return set(same.values_list("agent", flat=True))


def _of(key: Key) -> QuerySet[DecidedTriple]:
    concept_id, dim_id, parent_id = key
    return DecidedTriple.objects.filter(concept_id=concept_id, dim_id=dim_id, parent_id=parent_id)
