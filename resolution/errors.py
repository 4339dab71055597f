"""What can go wrong with a decision, an undo or a fact that is put back."""


class DecisionError(Exception):
    """It cannot be decided, or undone, like this; the text says why, in whole sentences.

    DecisionError
    ├── UnknownId        there is no such conflict, decision or run
    ├── InvalidDecision  it would be impossible whatever the graph holds: a name is no token, say
    ├── Outdated         the conflict is against another fact by now
    └── CannotPutBack    a retired fact has no place any more
    """


class UnknownId(DecisionError):
    """There is no such conflict, decision or run."""


class InvalidDecision(DecisionError):
    """It would be impossible whatever the graph holds."""


class Outdated(DecisionError):
    """The graph has changed since the conflict was queued: it is against another fact now."""


class CannotPutBack(DecisionError):
    """The retired fact has no place any more."""
