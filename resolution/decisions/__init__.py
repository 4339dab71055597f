"""What operators and the resolver decide about conflicts, and taking it back."""

from resolution.actors import Actor
from resolution.decisions.claims import decide
from resolution.errors import DecisionError

__all__ = ["Actor", "DecisionError", "decide"]
