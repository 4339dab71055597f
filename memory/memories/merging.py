"""Adds evidence from episodes to memories, merges memories, and takes back changes. All functions run inside the
caller's transaction, which has locked the memories."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from memory.attribution.client_names import corroborate
from memory.channels import STRONGEST_FIRST, Channel
from memory.memories.store import Action, Change, Status, change
from memory.models import Memory, MemoryLineage


def support(memory: Memory, said: Mapping[int, datetime], by: Change) -> None:
    """Add episodes, each with its time, as evidence for a memory."""
    added = _join_lineage(memory, {(str(MemoryLineage.Kind.EPISODE), key) for key in said})
    if not added:
        return
    change(
        memory,
        Action.CONFIRM,
        by,
        more={"lineage": added},
        evidence_count=memory.evidence_count + len(added),
        confidence=corroborate(memory.confidence, len(added)),
        last_updated=max(memory.last_updated, *said.values()),
    )


def merge(winner: Memory, losers: Sequence[Memory], by: Change) -> None:
    """Merge memories that say the same: the winner has the evidence of all, and is as strong as the strongest."""
    rows = MemoryLineage.objects.filter(memory__in=losers).values_list("kind", "row")
    added = _join_lineage(winner, {*rows, *((str(MemoryLineage.Kind.MEMORY), loser.pk) for loser in losers)})
    every = (winner, *losers)
    change(
        winner,
        Action.MERGE,
        by,
        more={"lineage": added, "merged": sorted(loser.pk for loser in losers)},
        evidence_count=sum(memory.evidence_count for memory in every),
        channel=min((memory.channel for memory in every), key=lambda name: STRONGEST_FIRST.index(Channel(name))),
        last_updated=max(memory.last_updated for memory in every),
    )
    for loser in losers:
        change(loser, Action.MERGE, by, status=Status.MERGED_INTO, merged_into=winner, archived_at=timezone.now())


def put_back(memory: Memory, was: Mapping[str, Any], left: Mapping[str, Any], by: Change) -> bool:
    """Restore the former values (``was``) of those that are still as they were ``left``. Return False if the status
    has changed since, or the text that is to be restored."""
    if memory.status != left.get("status", memory.status) or ("text" in was and memory.text != left["text"]):
        return False
    changes = {name: value for name, value in was.items() if getattr(memory, name) == left[name]}
    if "evidence_count" in was:
        changes["evidence_count"] = max(memory.evidence_count - left["evidence_count"] + was["evidence_count"], 0)
    if "text" in changes:
        changes["embedded_at"] = None  # the vector is that of the other text
    if "status" in changes:
        holds = changes["status"] in (Status.ACTIVE, Status.CANDIDATE)
        changes["archived_at"] = None if holds else timezone.now()
    change(memory, Action.UNDO, by, **changes)
    return True


def _join_lineage(memory: Memory, rows: set[tuple[str, int]]) -> list[tuple[str, int]]:
    """Add the new rows to the lineage, and return them."""
    added = sorted(
        rows - set(memory.lineage.values_list("kind", "row")) - {(str(MemoryLineage.Kind.MEMORY), memory.pk)}
    )
    MemoryLineage.objects.bulk_create([MemoryLineage(memory=memory, kind=kind, row=key) for kind, key in added])
    return added
