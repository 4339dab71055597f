"""The four decisions in few words, read like an operator's."""

from resolution.actors import Actor
from resolution.decisions import decide
from resolution.domain.verdicts import read_verdict
from resolution.models import Decision


def decompose(claim_id: int, actor: Actor, reason: str, *, existing_dimension: str, new_dimension: str) -> Decision:
    return _decide(
        claim_id, actor, "decompose", reason, existing_dimension=existing_dimension, new_dimension=new_dimension
    )


def update(claim_id: int, actor: Actor, reason: str) -> Decision:
    return _decide(claim_id, actor, "update", reason)


def relocate(claim_id: int, actor: Actor, reason: str, *, dimension: str, is_isa: bool | None = None) -> Decision:
    return _decide(claim_id, actor, "relocate", reason, dimension=dimension, is_isa=is_isa)


def dismiss(claim_id: int, actor: Actor, reason: str) -> Decision:
    return _decide(claim_id, actor, "dismiss", reason)


def _decide(claim_id: int, actor: Actor, decision: str, reason: str, **arguments: object) -> Decision:
    return decide(claim_id, actor, read_verdict({"decision": decision, "reason": reason, **arguments}, None))
