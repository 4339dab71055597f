"""Supersedes or disputes memories that contradict each other."""

from collections.abc import Sequence
from typing import NamedTuple

from memory.channels import is_weaker
from memory.memories import store
from memory.memories.comparing import find_rivals
from memory.memories.scope import Speaker
from memory.memories.store import Change
from memory.models import Memory
from resolution.conflicts.memories import close_moot_conflicts, dispute, drop_kept


class Settled(NamedTuple):
    """The memories that one memory superseded, those that dispute it, and the id of their conflict."""

    superseded: Sequence[Memory] = ()
    disputed: Sequence[Memory] = ()
    conflict_id: int | None = None


def settle_rivals(
    memory: Memory, by: Change, *, is_change: bool, is_new: bool = False, speaker: Speaker | None = None
) -> Settled:
    """Supersede or dispute the memory's rivals; it may itself be superseded by a later statement.

    The caller has locked the memory's places. ``is_new`` is True if nobody can have decided about it yet. ``speaker``
    is who says it now, if that is not who said it first.
    """
    speaker = speaker or Speaker(memory.agent, memory.person)
    superseded: list[Memory] = []
    disputed: list[Memory] = []
    rivals = find_rivals(memory)
    is_first = (memory.agent, memory.person) == speaker
    said_at = max(memory.said_at, by.at) if is_first else by.at  # the statement may repeat an older memory
    for rival in rivals if is_new else drop_kept(memory, rivals):
        is_own = (rival.agent, rival.person) == speaker
        if is_own and is_change and rival.said_at <= said_at and not is_weaker(memory.channel, rival.channel):
            store.supersede(rival, memory, by)
            superseded.append(rival)
        elif is_own and is_change and rival.said_at > said_at and is_first:
            store.supersede(memory, rival, by)
            superseded, disputed = [*superseded, memory], []
            break
        else:
            disputed.append(rival)
    conflict_id = dispute(memory, disputed, by)
    if superseded:
        close_moot_conflicts([gone.pk for gone in superseded])
    return Settled([gone for gone in superseded if gone != memory], disputed, conflict_id)
