"""What a decision may touch, as JSON: its state before and after is what undoing it needs.

The surroundings of some concepts are their edges, their decided triples and their open conflicts, and the dimensions
concerned. Each part is a dict of pictures by key: edges by "concept:dimension", decided triples by
"concept:dimension:parent", dimensions and conflicts by id. In a difference, None stands for what is not there.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.db.models import Q

from memory.graph.store import picture
from memory.models import Dimension, Edge
from resolution.intake.conflict_queue import OPEN
from resolution.models import Conflict, DecidedTriple

Picture = dict[str, Any]
Surroundings = dict[str, dict[str, Picture]]
Difference = dict[str, dict[str, Picture | None]]

# What a decision changes of a row of the queue.
CONFLICT_FIELDS: Final = (
    "status",
    "existing_parent_id",
    "blocking_concept_id",
    "collision_type",
    "proposal",
    "run_id",
    "resolution",
    "attempts",
    "last_error",
    "next_attempt_at",
    "resolved_at",
)
CONFLICT_TIMES: Final = ("next_attempt_at", "resolved_at")


def take(concept_ids: Iterable[int], dim_ids: Iterable[int], conflict_ids: Iterable[int] = ()) -> Surroundings:
    """The surroundings as they are; of conflicts the open ones, and those named."""
    concepts = set(concept_ids)
    edges = Edge.objects.filter(concept_id__in=concepts)
    dimensions = Dimension.objects.filter(soas_id__in=set(dim_ids))
    triples = DecidedTriple.objects.filter(concept_id__in=concepts)
    conflicts = Conflict.objects.filter(Q(concept_id__in=concepts, status__in=OPEN) | Q(id__in=set(conflict_ids)))
    return {
        "edges": {f"{edge.concept_id}:{edge.dim_id}": picture(edge) for edge in edges},
        "dimensions": {str(row.pk): picture_of_dimension(row) for row in dimensions},
        "triples": {f"{row.concept_id}:{row.dim_id}:{row.parent_id}": picture_of_triple(row) for row in triples},
        "conflicts": {str(row.pk): picture_of_conflict(row) for row in conflicts},
    }


def difference(before: Surroundings, after: Surroundings) -> tuple[Difference, Difference]:
    """Of both, only what differs."""
    old: Difference = {}
    new: Difference = {}
    for part in before:
        keys = sorted(before[part].keys() | after[part].keys())
        changed = [key for key in keys if before[part].get(key) != after[part].get(key)]
        old[part] = {key: before[part].get(key) for key in changed}
        new[part] = {key: after[part].get(key) for key in changed}
    return old, new


def changed_slots(before: Surroundings, after: Surroundings) -> list[tuple[int, ...]]:
    """The slots that another fact holds, or none."""
    old, new = before["edges"], after["edges"]
    slots = old.keys() | new.keys()
    return sorted(ids(key) for key in slots if _holder(old.get(key)) != _holder(new.get(key)))


def ids(key: str) -> tuple[int, ...]:
    """The ids that a key is made of."""
    return tuple(map(int, key.split(":")))


def _holder(edge: Picture | None) -> int | None:
    return None if edge is None else edge["parent_id"]


def picture_of_dimension(row: Dimension) -> Picture:
    return {"is_isa": row.is_isa, "split_from_id": row.split_from_id}


def picture_of_triple(row: DecidedTriple) -> Picture:
    return {
        "concept_id": row.concept_id,
        "dim_id": row.dim_id,
        "parent_id": row.parent_id,
        "kind": row.kind,
        "moved_to_id": row.moved_to_id,
        "agents": row.agents,
        "conversation": bytes(row.conversation).hex(),
        "decision_id": row.decision_id,
        "decided_at": row.decided_at.isoformat(),
    }


def triple_of(shown: Picture) -> DecidedTriple:
    """A new row as the picture shows it."""
    read = {
        "conversation": bytes.fromhex(shown["conversation"]),
        "decided_at": datetime.fromisoformat(shown["decided_at"]),
    }
    return DecidedTriple(**(shown | read))


def picture_of_conflict(row: Conflict) -> Picture:
    shown = {name: getattr(row, name) for name in CONFLICT_FIELDS}
    return shown | {name: time.isoformat() for name in CONFLICT_TIMES if (time := shown[name]) is not None}


def conflict_fields(shown: Picture) -> dict[str, Any]:
    """The values of the row's fields as the picture shows them."""
    times = {name: datetime.fromisoformat(shown[name]) for name in CONFLICT_TIMES if shown[name] is not None}
    return shown | times
