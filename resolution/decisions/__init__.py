"""Decisions of operators and the resolver about conflicts, and their undo."""

from resolution.actors import Actor
from resolution.decisions.claims import decide
from resolution.errors import DecisionError

__all__ = ["Actor", "DecisionError", "decide"]
