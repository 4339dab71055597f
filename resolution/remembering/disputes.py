"""What becomes of memories that cannot hold beside each other."""

from collections.abc import Sequence

from memory.domain.channels import is_weaker
from memory.models import Memory
from memory.semantic import store
from memory.semantic.store import Change


def settle_rivals(memory: Memory, by: Change, *, is_change: bool) -> tuple[list[Memory], list[Memory]]:
    """Those that the memory has superseded, and those with which it is disputed. It may itself be superseded, by
    something that was said later.

    In the caller's transaction, which has locked the memory's places."""
    superseded, disputed = [], []
    for rival in store.find_rivals(memory):
        is_own = (rival.agent, rival.person) == (memory.agent, memory.person)
        if is_own and is_change and rival.said_at <= memory.said_at and not is_weaker(memory.channel, rival.channel):
            store.supersede(rival, memory, by)
            superseded.append(rival)
        elif is_own and is_change and rival.said_at > memory.said_at:
            store.supersede(memory, rival, by)
            return superseded, []
        else:
            disputed.append(rival)
    for rival in disputed:
        older, newer = sorted((rival, memory), key=lambda one: (one.said_at, one.pk))
        store.dispute(older, newer, by)
    return superseded, disputed


def open_conflict(memory: Memory, rivals: Sequence[Memory]) -> int | None:
    """The id of the conflict of their slot, to which all of them belong; None while conflicts are of facts only."""
    return None
