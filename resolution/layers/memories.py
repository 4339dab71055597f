"""Conflicts between memories: of one slot, or near in meaning and opposed."""

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any

from memory.models import Memory
from memory.semantic import store
from memory.semantic.domain.scope import PERSONAL, kind_of
from memory.semantic.rivals import are_rivals, find_contradiction, find_rivals
from memory.semantic.store import Change
from resolution.layers.conflicts import (
    ConflictKind,
    Member,
    MemberKind,
    close_moot,
    find_open,
    find_settled,
    open_conflict,
    settle_moot,
)
from resolution.layers.detection import detect_memory
from resolution.models import Conflict, ConflictMember

Tier = Conflict.Tier


def as_member(memory: Memory, against: tuple[str, int] | None = None) -> Member:
    return Member(MemberKind.MEMORY, memory.pk, memory.text, [(memory.agent, memory.channel)], against)


def drop_settled(memory: Memory, rivals: Sequence[Memory]) -> list[Memory]:
    """The rivals without those about which people have decided that they may stand beside it."""
    texts = {(str(MemberKind.MEMORY), rival.pk): rival.text for rival in rivals}
    settled = find_settled(as_member(memory), texts) if rivals else set()
    return [rival for rival in rivals if (MemberKind.MEMORY, rival.pk) not in settled]


def dispute_rivals(memory: Memory, by: Change) -> int | None:
    """Of a memory that has come into its places again: whatever contradicts it there by now is disputed with it. The
    caller's transaction has locked them."""
    rivals = drop_settled(memory, find_rivals(memory))
    return dispute(memory, [rival for rival in rivals if not are_in_one(memory.pk, rival.pk)], by)


def dispute(memory: Memory, rivals: Sequence[Memory], by: Change) -> int | None:
    """Looks at other layers, too; the id of the conflict with the rivals."""
    for rival in rivals:
        older, newer = sorted((rival, memory), key=lambda one: (one.said_at, one.pk))
        store.dispute(older, newer, by)
    conflict_id = open_between(memory, rivals)
    detect_memory(memory)
    return conflict_id


def open_between(memory: Memory, rivals: Sequence[Memory], tier: str = Tier.SLOT) -> int | None:
    """The id of the conflict, of the slot that they share, which the memory and its rivals belong to from now on; the
    first where these are several slots, None without rivals."""
    opened = []
    for rival in rivals:
        key, members = _key_of(memory, rival), [as_member(memory), as_member(rival)]
        slug = memory.project.slug if memory.project is not None else ""
        opened.append(
            open_conflict(ConflictKind.MEMORY_SLOT, key | {"project": slug}, members, project=slug, tier=tier)
        )
    return min(opened, default=None)


def settle_memories(ids: Collection[int]) -> None:
    """Closes the conflicts of memories that hold no more, or say something else, if the others contradict nobody."""
    settle_moot(MemberKind.MEMORY, ids)
    for conflict in Conflict.objects.filter(
        pk__in=find_open(MemberKind.MEMORY, ids), slot_kind=ConflictKind.MEMORY_SLOT
    ):
        keys = conflict.members.filter(kind=MemberKind.MEMORY).values("object_id")
        standing = Memory.objects.filter(pk__in=keys, status=Memory.Status.ACTIVE)
        if not any(contradict(one, other) for one, other in combinations(standing.order_by("pk"), 2)):
            close_moot([conflict.pk])


def contradict(one: Memory, other: Memory) -> bool:
    """True if two memories that were taken for rivals still are."""
    if one.project_id != other.project_id:
        return False
    return are_rivals(one, other) or find_contradiction(one, other) is not None


def are_in_one(one: int, other: int) -> bool:
    """True if two memories are members of one open conflict."""
    rows = ConflictMember.objects.filter(kind=MemberKind.MEMORY, conflict__status=Conflict.Status.OPEN)
    own = rows.filter(object_id=one, conflict__slot_kind=ConflictKind.MEMORY_SLOT).values("conflict")
    return rows.filter(object_id=other, conflict__in=own).exists()


def _key_of(memory: Memory, rival: Memory) -> dict[str, Any]:
    shared = [slot for slot in (memory.slot, memory.other_slot) if slot and slot in (rival.slot, rival.other_slot)]
    if not shared or kind_of(memory.category) != kind_of(rival.category):
        return {"memories": sorted((memory.pk, rival.pk))}
    owner = {"agent": memory.agent, "user": memory.person} if memory.category in PERSONAL else {}
    return {"category": kind_of(memory.category), "slot": shared[0], **owner}
