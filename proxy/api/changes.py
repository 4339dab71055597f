"""Shared parts of the endpoints that change something in an operator's name."""

from typing import Annotated

from ninja import Field

from memory.models import Source
from proxy.access.caller import Caller
from proxy.api.endpoint import Input
from resolution.actors import Actor
from resolution.conflicts.verdict import REASON_MAX

Reason = Annotated[
    str, Field(max_length=REASON_MAX, examples=["Harry confirmed it."], description="Is kept with the decision.")
]


class ReasonIn(Input):
    reason: Reason = ""


def act_as(caller: Caller) -> Actor:
    return Actor(caller.signature, Source.OPERATOR)
