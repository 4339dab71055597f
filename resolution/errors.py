"""Errors of decisions, of undoing them, and of putting facts back."""


class DecisionError(Exception):
    """The decision or undo is not possible; the message says why, in whole sentences.

    DecisionError
    ├── UnknownId        no such conflict, decision or run
    ├── InvalidDecision  impossible whatever the graph holds, such as a name that is no token
    ├── Outdated         the claim is against another fact now
    └── CannotPutBack    a retired fact has no place any more
    """


class UnknownId(DecisionError):
    """There is no such conflict, decision or run."""


class InvalidDecision(DecisionError):
    """The decision would be impossible whatever the graph holds."""


class Outdated(DecisionError):
    """The graph has changed since the claim was queued: it is against another fact now."""


class CannotPutBack(DecisionError):
    """The retired fact has no place any more, has changed names, or has returned already."""
