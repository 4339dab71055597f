"""What operators and the resolver decide about conflicts, and taking it back."""

from resolution.decisions.service import Actor, DecisionError, decide, decompose, dismiss, relocate, update

__all__ = ["Actor", "DecisionError", "decide", "decompose", "dismiss", "relocate", "update"]
