"""Whose words a caller gets to read: operators everybody's, others what their own voice has said. Facts are for all."""

from collections.abc import Iterable
from typing import Any

from memory.domain.voices import voice_of
from proxy.auth import Caller, may


def sees_words_of(caller: Caller, agents: Iterable[str]) -> bool:
    """Of all of them."""
    return may(caller, "operator") or {voice_of(agent) for agent in agents} <= {voice_of(caller.name)}


def hide_sentences(caller: Caller, conflicts: Iterable[dict[str, Any]]) -> None:
    """Takes the ``evidence`` that the caller may not see out of conflicts as the API tells them."""
    for conflict in conflicts:
        for member in conflict["members"]:
            if "evidence" in member and not sees_words_of(caller, [member["agent"]]):
                member["evidence"] = None
