"""Adds evidence from episodes to memories, merges memories, and takes back a run of the consolidation, or one merge.
All functions run inside the caller's transaction, which has locked the memories."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from memory.attribution.client_names import corroborate
from memory.channels import STRONGEST_FIRST, Channel
from memory.memories.store import Action, Change, Status, change, take_snapshot
from memory.models import Memory, MemoryHistory, MemoryLineage


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


def take_back(memory: Memory, run: int, by: Change) -> bool:
    """Take back what a run of the consolidation has changed, except for later changes. Return False if the memory's
    status has changed since, or if a person has said since what the run concluded."""
    return _put_back(memory, memory.history.filter(run=run).exclude(action=Action.UNDO).order_by("id"), by)


def separate(winner: Memory, merge: MemoryHistory, losers: Sequence[Memory], by: Change) -> list[Memory]:
    """Take back a merge that the winner's history row describes; return the losers that hold again."""
    _put_back(winner, [merge], by)
    again = []
    for loser in losers:
        row = loser.history.filter(action=Action.MERGE, after__merged_into_id=winner.pk).order_by("-id")[:1]
        if loser.merged_into_id == winner.pk and _put_back(loser, row, by):
            again.append(loser)
    return again


def _put_back(memory: Memory, rows: Iterable[MemoryHistory], by: Change) -> bool:
    """Put back the state before these rows, given oldest first."""
    was: dict[str, Any] = {}
    left: dict[str, Any] = {}
    added: list[tuple[str, int]] = []
    is_new = False
    for row in rows:
        if row.action == Action.CREATE:
            is_new, was = True, {"status": str(Status.INVALID)}  # a memory that did not exist before is invalid
        was = (row.before or {}) | was
        left |= row.after or {}
        added += (row.after or {}).get("lineage", ())
    if is_new and memory.channel != left["channel"]:  # a person has said it since
        return False
    if not put_back(memory, was, left, by):
        return False
    for kind, key in added:
        memory.lineage.filter(kind=kind, row=key).delete()
    return True


def put_back(memory: Memory, was: Mapping[str, Any], left: Mapping[str, Any], by: Change) -> bool:
    """Restore the former values (``was``) of those that are still as they were ``left``. Return False if the status
    has changed since."""
    now = take_snapshot(memory)
    if now["status"] != left.get("status", now["status"]):
        return False
    changes = {name: value for name, value in was.items() if now[name] == left[name]}
    if "evidence_count" in was:
        changes["evidence_count"] = max(now["evidence_count"] - left["evidence_count"] + was["evidence_count"], 0)
    if "text" in changes:
        changes["embedded_at"] = None  # the vector is that of the other text
    if "last_updated" in changes:
        changes["last_updated"] = datetime.fromisoformat(changes["last_updated"])
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
