"""Finds memories that cannot both hold, and locks the places where they would meet. All functions run inside the
caller's transaction."""

from collections.abc import Iterable
from typing import Any
from zlib import crc32

from django.db.models import Q

from memory.db.locks import Lock, lock_until_commit
from memory.english.opposites import Opposition
from memory.memories import consolidation, slots
from memory.memories.scope import kind_of, list_kindred
from memory.memories.store import Draft, Status, comparable_with, scope_of
from memory.models import Memory


def find_rivals(memory: Memory) -> list[Memory]:
    """Return the active memories that cannot hold beside this one, the oldest first, locked."""
    names = [name for name in (memory.slot, memory.other_slot) if name]
    rows = (
        comparable_with(memory)
        .filter(
            Q(slot__in=names) | Q(other_slot__in=names),
            category__in=list_kindred(memory.category),
            status=Status.ACTIVE,
        )
        .exclude(pk=memory.pk)
    )
    return [row for row in rows.select_for_update(of=("self",)).order_by("id") if are_rivals(memory, row)]


def are_rivals(one: Memory, other: Memory) -> bool:
    """True if two memories of one owner cannot both hold, by their slots."""
    own, others = (slots.Slots(each.slot, each.other_slot) for each in (one, other))
    is_near = kind_of(one.category) == kind_of(other.category) and slots.meet(own, others)
    return is_near and slots.contradicts(one.text, other.text, one.category)


def find_contradiction(one: Memory, other: Memory) -> Opposition | None:
    """Return the sign that two memories that are near in meaning contradict each other."""
    found = [slots.Slots(each.slot, each.other_slot) for each in (one, other)]
    return consolidation.find_contradiction(one.text, other.text, one.category, found)


def draft_of(memory: Memory, **changes: Any) -> Draft:
    """Return the memory as it would be written now, with changes of its ``text``, ``category`` and ``project``."""
    text, category = changes.get("text", memory.text), changes.get("category", memory.category)
    scope = scope_of(memory)._replace(project=changes.get("project", memory.project_id))
    is_kept = (text, category) == (memory.text, memory.category)
    found = slots.Slots(memory.slot, memory.other_slot) if is_kept else slots.find_slots(text, category)
    return Draft(text, category, scope, memory.confidence, Memory.Source(memory.source), found)


def lock_places(drafts: Iterable[Draft]) -> None:
    """Keep others from writing there until the end of the transaction. Lock all at once, and before dimensions and
    rows: taking some in one order, and others in another, would deadlock."""
    lock_until_commit(Lock.MEMORY, {_number(place) for draft in drafts for place in draft.places})


def _number(place: str) -> int:
    return crc32(place.encode("utf-8", "replace")) - 2**31  # the range of Postgres's integers
