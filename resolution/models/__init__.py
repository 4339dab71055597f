"""The models: conflicts, layer slots, candidates, decisions, runs, and the counts for quotas."""

from resolution.models.candidates import Candidate
from resolution.models.conflicts import Claim, CollisionType, Conflict, ConflictMember
from resolution.models.decisions import DecidedTriple, Decision, DecisionChange, Run
from resolution.models.layers import SlotClaim
from resolution.models.quotas import AgentHour

__all__ = [
    "AgentHour",
    "Candidate",
    "Claim",
    "CollisionType",
    "Conflict",
    "ConflictMember",
    "DecidedTriple",
    "Decision",
    "DecisionChange",
    "Run",
    "SlotClaim",
]  # fmt: skip
