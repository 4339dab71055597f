"""Snapshots of a decision's surroundings as JSON, before and after it. Their difference is all that an undo needs.

The surroundings are the edges, rulings and open conflicts of some concepts, and their dimensions. If names are merged,
they include the aliases, candidates and sentences with these names; if a conflict is about memories or project state,
they include those. Each part maps keys to snapshots. The key is "concept:dimension" for edges,
"concept:dimension:parent" for rulings and for edges in dimensions that keep all, and the row's id for everything else.
"""

from collections.abc import Iterable
from typing import Final

from django.db.models import Model, Q

from memory.graph.snapshots import EDGE_FIELDS, Snapshot, take_snapshot
from memory.memories.store import KEPT
from memory.models import Alias, Dimension, Edge, Evidence, Memory, ProjectState, Soas
from memory.types import Slot, TripleIds
from resolution.intake.open_claims import OPEN
from resolution.models import Candidate, Claim, DecidedTriple

# In a difference, None means that the row does not exist on that side.
Surroundings = dict[str, dict[str, Snapshot | None]]

# For each part, the fields of its key (an edge's key is its place), and the fields of its snapshots.
KEYS: Final = {
    "dimensions": ("pk",),
    "triples": ("concept_id", "dim_id", "parent_id"),
    "conflicts": ("pk",),
    "aliases": ("pk",),
    "candidates": ("pk",),
    "evidence": ("pk",),
    "memories": ("pk",),
    "states": ("pk",),
}
FIELDS: Final = {
    "edges": ("edge_id", *EDGE_FIELDS),
    "dimensions": ("is_isa", "question", "on_collision", "split_from_id"),
    "triples": ("concept_id", "dim_id", "parent_id", "kind", "moved_to_id", "agents", "conversation", "decision_id",
                "decided_at"),
    # The fields of a claim that a decision changes.
    "conflicts": ("status", "existing_parent_id", "blocking_concept_id", "collision_type", "proposal", "run_id",
                  "resolution", "attempts", "last_error", "next_attempt_at", "resolved_at"),
    "aliases": ("concept_id", "channel", "agent", "at"),
    "candidates": ("concept", "parent", "dimension", "channel", "confidence", "voices", "conversations", "said_count",
                   "evidence", "state", "resolved_by", "resolved_at", "last_said_at"),
    "evidence": ("concept_id",),
    # Without the text: no decision changes it, and it may be forgotten later.
    "memories": tuple(name for name in KEPT if name != "text"),
    "states": ("status", "superseded_by_id"),
}  # fmt: skip


def take_surroundings(
    concept_ids: Iterable[int], dim_ids: Iterable[int], claim_ids: Iterable[int] = ()
) -> Surroundings:
    """Take a snapshot of the surroundings: of conflicts, the open ones and those named by ``claim_ids``."""
    concepts = set(concept_ids)
    claims = Q(concept_id__in=concepts, status__in=OPEN) | Q(id__in=set(claim_ids))
    return {
        "edges": _take_all("edges", Edge.objects.filter(concept_id__in=concepts)),
        "dimensions": _take_all("dimensions", Dimension.objects.filter(soas_id__in=set(dim_ids))),
        "triples": _take_all("triples", DecidedTriple.objects.filter(concept_id__in=concepts)),
        "conflicts": _take_all("conflicts", Claim.objects.filter(claims)),
    }


def take_names(words: Iterable[Soas]) -> Surroundings:
    """Take a snapshot of what else refers to these words: aliases, candidates, sentences."""
    ids, tokens = {word.pk for word in words}, {word.token for word in words}
    naming = Q(concept__in=tokens) | Q(parent__in=tokens) | Q(dimension__in=tokens)
    return {
        "aliases": _take_all("aliases", Alias.objects.filter(Q(pk__in=ids) | Q(concept__in=ids))),
        "candidates": _take_all("candidates", Candidate.objects.filter(naming)),
        "evidence": _take_all("evidence", Evidence.objects.filter(concept__in=ids)),
    }


def take_remembered(memories: Iterable[int], states: Iterable[int]) -> Surroundings:
    return {
        "memories": _take_all("memories", Memory.objects.filter(pk__in=set(memories)).defer("lexemes")),
        "states": _take_all("states", ProjectState.objects.filter(pk__in=set(states))),
    }


def _take_all(part: str, rows: Iterable[Model]) -> dict[str, Snapshot | None]:
    return {_make_key(part, row): take_snapshot(row, FIELDS[part]) for row in rows}


def _make_key(part: str, row: Model) -> str:
    ids = row.place if isinstance(row, Edge) else (getattr(row, name) for name in KEYS[part])
    return ":".join(map(str, ids))


def find_differences(before: Surroundings, after: Surroundings) -> tuple[Surroundings, Surroundings]:
    """Return the parts of both that differ."""
    old: Surroundings = {}
    new: Surroundings = {}
    for part in before:
        keys = sorted(before[part].keys() | after[part].keys())
        changed = [key for key in keys if before[part].get(key) != after[part].get(key)]
        old[part] = {key: before[part].get(key) for key in changed}
        new[part] = {key: after[part].get(key) for key in changed}
    return old, new


def find_changed_slots(before: Surroundings, after: Surroundings) -> list[Slot]:
    """Return the slots that hold another fact than before, or none any more."""
    old, new = ({key: edge and edge["parent_id"] for key, edge in one["edges"].items()} for one in (before, after))
    return sorted({read_slot(key) for key in old.keys() | new.keys() if old.get(key) != new.get(key)})


def read_key(key: str) -> tuple[int, ...]:
    return tuple(map(int, key.split(":")))


def read_slot(key: str) -> Slot:
    concept_id, dim_id, *_ = read_key(key)
    return concept_id, dim_id


def read_triple(key: str) -> TripleIds:
    return TripleIds(*read_key(key))
