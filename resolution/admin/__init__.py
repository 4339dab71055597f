"""The graph, what is disputed in it, and what was decided, in the admin."""

from resolution.admin import concepts, conflicts, decisions, dimensions, facts, history, observations, runs, transfer

__all__ = ["concepts", "conflicts", "decisions", "dimensions", "facts", "history", "observations", "runs", "transfer"]
