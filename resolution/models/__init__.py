"""Conflicts, candidates, the decisions about them, and the resolver's runs."""

from resolution.models.candidates import Candidate
from resolution.models.conflicts import CollisionType, Conflict
from resolution.models.decisions import DecidedTriple, Decision, Run

__all__ = ["Candidate", "CollisionType", "Conflict", "DecidedTriple", "Decision", "Run"]
