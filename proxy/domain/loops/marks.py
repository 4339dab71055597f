"""How Festinger knows again what it has said itself: clients keep a made-up answer in their history and resend it."""

import re
from typing import Final

BREAKER: Final = "Festinger has stopped a loop: "  # what the circuit breaker's answers begin with

_MADE_UP: Final = re.compile(r'\s*+(?:\{\s*+"thoughts":\s*+\[\s*+")?' + BREAKER)


def is_made_up(text: str) -> bool:
    """Whether an assistant's text is an answer of the circuit breaker: no output of the model, and what a program says
    to it is no result."""
    return _MADE_UP.match(text) is not None
