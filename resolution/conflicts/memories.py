"""Conflicts between memories: of one slot, or close in meaning and opposed."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from memory.english.stems import stem, words_of
from memory.memories import store
from memory.memories.comparing import find_rivals
from memory.memories.scope import kind_of
from memory.memories.store import Change
from memory.models import Memory
from resolution.conflicts.detection import as_member, close_agreed, detect_memory
from resolution.conflicts.keys import memory_key
from resolution.conflicts.opening import MemberKind, close_moot_of, find_kept_pairs, find_open, open_conflict
from resolution.models import Conflict, ConflictMember

Tier = Conflict.Tier


def drop_kept(memory: Memory, rivals: Sequence[Memory]) -> list[Memory]:
    """Return the rivals, except those that people have kept beside the memory."""
    texts = {(str(MemberKind.MEMORY), rival.pk): rival.text for rival in rivals}
    settled = find_kept_pairs(as_member(memory), texts) if rivals else set()
    return [rival for rival in rivals if (MemberKind.MEMORY, rival.pk) not in settled]


def dispute_rivals(memory: Memory, by: Change) -> int | None:
    """Dispute the rivals of a memory that holds again. The caller has locked its places."""
    rivals = drop_kept(memory, find_rivals(memory))
    return dispute(memory, [rival for rival in rivals if not share_open_conflict(memory.pk, rival.pk)], by)


def dispute(memory: Memory, rivals: Sequence[Memory], by: Change) -> int | None:
    """Dispute the rivals, and compare the memory with other layers. Returns the id of the conflict with the rivals."""
    for rival in rivals:
        older, newer = sorted((rival, memory), key=lambda one: (one.said_at, one.pk))
        store.dispute(older, newer, by)
    conflict_id = open_between(memory, rivals)
    detect_memory(memory)
    return conflict_id


def open_between(memory: Memory, rivals: Sequence[Memory], tier: str = Tier.SLOT) -> int | None:
    """Add the memory and its rivals to a conflict and return its id; None without rivals."""
    slug = memory.project.slug if memory.project is not None else ""
    conflict_id = None
    for rival in rivals:
        owner, key, about = _find_slot(memory, rival, slug)
        members = [as_member(memory), as_member(rival)]
        conflict_id = open_conflict(key, about, members, owner=owner, project=slug, tier=tier)
    return conflict_id


def close_moot_conflicts(ids: Collection[int]) -> None:
    """Close the conflicts of memories that were superseded or changed, if the other members no longer contradict
    anything."""
    close_moot_of(MemberKind.MEMORY, ids)
    close_agreed(find_open(MemberKind.MEMORY, ids))


def share_open_conflict(one: int, other: int) -> bool:
    """True if both memories are members of one open conflict that is not a question about a story."""
    rows = ConflictMember.objects.filter(kind=MemberKind.MEMORY, conflict__status=Conflict.Status.OPEN)
    own = rows.filter(object_id=one, conflict__question="").values("conflict")
    return rows.filter(object_id=other, conflict__in=own).exists()


def _find_slot(memory: Memory, rival: Memory, slug: str) -> tuple[str, str, dict[str, Any]]:
    """Return the owner, the key and the words of the slot that two memories share. If they share none, the pair is its
    own slot."""
    shared = [slot for slot in (memory.slot, memory.other_slot) if slot and slot in (rival.slot, rival.other_slot)]
    project = {"project": slug} if slug else {}
    if not shared or kind_of(memory.category) != kind_of(rival.category):
        pair = sorted((memory.pk, rival.pk))
        return "", f"memories {pair[0]} {pair[1]}", {"memories": pair} | project
    stems = shared[0].split()
    words = " ".join(dict.fromkeys(word for word in words_of(memory.text) if stem(word) in stems))
    key, about = memory_key(slug, memory.category, shared[0]), {"slot": words or shared[0]} | project
    if not memory.is_personal:
        return "", key, about
    owner = json.dumps([memory.agent, memory.person], ensure_ascii=False)
    return owner, key, {"category": memory.category, **about, "agent": memory.agent, "user": memory.person}
