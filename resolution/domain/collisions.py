"""What a collision means, from the flavours of the two facts in one slot."""

from typing import Literal

CollisionType = Literal["isa_isa", "ispart_ispart", "misclassification"]


def classify(existing_is_isa: bool, incoming_is_isa: bool) -> CollisionType:
    """Two kinds: the dimension is too coarse. Two places: one is wrong. One of each: the wrong dimension."""
    if existing_is_isa != incoming_is_isa:
        return "misclassification"
    return "isa_isa" if existing_is_isa else "ispart_ispart"
