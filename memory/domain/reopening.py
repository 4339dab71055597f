"""When a triple that was decided about may be disputed anew."""

from collections.abc import Collection
from typing import Final

from memory.domain.recall.saliency import DAY

REST_S: Final = 7 * DAY


def is_reopened(
    agents: Collection[str],
    conversation: bytes,
    decided_at: float,
    by_agent: str,
    in_conversation: bytes,
    now: float,
) -> bool:
    """Whether a statement reopens what was decided: another agent makes it, or it is made in another conversation more
    than `REST_S` after the decision.

    ``agents`` had said it by then, in ``conversation``; ``by_agent`` says it ``in_conversation``, where empty is none
    and so never the same. Times are seconds since the epoch."""
    if by_agent not in agents:
        return True
    is_same_conversation = bool(in_conversation) and in_conversation == conversation
    return not is_same_conversation and now - decided_at > REST_S
